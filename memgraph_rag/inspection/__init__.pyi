"""The names of this room that other rooms import at their first use, and the modules that define them."""

from . import document_reading as document_reading
from . import neighbourhood as neighbourhood
from .memory_map import Cartographer as Cartographer
