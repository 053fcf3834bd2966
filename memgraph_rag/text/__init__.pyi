"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .folders import Folder as Folder
