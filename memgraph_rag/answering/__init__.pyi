"""The names of this room that other rooms import at their first use, and the modules that define them."""

from . import saved_questions as saved_questions
from .answer import Reading as Reading
from .snapshot import GraphSnapshot as GraphSnapshot
from .strategy_choice import choose_strategy as choose_strategy
from .update_graph import Learning as Learning
