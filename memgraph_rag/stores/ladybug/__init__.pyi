"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .file import open_file as open_file
from .store import LadybugStore as LadybugStore
