"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .client import Endpoint as Endpoint
from .model import EndpointModel as EndpointModel
from .pen_and_eye import PenAndEye as PenAndEye
