"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .connection import connect as connect
from .server import read_credentials as read_credentials
from .store import Neo4jStore as Neo4jStore
