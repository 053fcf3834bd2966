"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .known_strategies import DEFAULT as DEFAULT
from .known_strategies import find_strategy as find_strategy
from .known_strategies import follows_paper as follows_paper
from .known_strategies import get_ablations as get_ablations
from .known_strategies import list_known_strategies as list_known_strategies
from .known_strategies import list_required_layers as list_required_layers
