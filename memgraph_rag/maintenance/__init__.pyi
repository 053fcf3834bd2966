"""The names of this room that other rooms import at their first use, and the modules that define them."""

from . import reembed as reembed
from .file_replacement import replace_file as replace_file
from .lacking_layers import build_lacking_layers as build_lacking_layers
from .maintenance import Maintenance as Maintenance
