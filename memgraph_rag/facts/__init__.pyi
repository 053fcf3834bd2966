"""The names of this room that other rooms import at their first use, and the modules that define them."""

from .brief import Briefs as Briefs
from .listing import list_statements as list_statements
from .remarks import write_remarks as write_remarks
from .wishes import Wishes as Wishes
