"""Facts about users: read from turns, used to order search results and to remark on segments.

Read ``statements.py`` first: it reads a clause by plain English forms. ``layer`` stores what it reads as annotations.
``fact_search`` is the search of a memory; ``fact_index`` keeps the facts of a namespace in memory and decides which
hold; ``told`` finds the turn that says what holds in everyday words, by ``likeness`` or by a judge; ``holding`` orders
results by both; ``wishes`` finds instructions; ``remarks`` tells the reading model which statements no longer hold. The
package never opens a language model: the caller gives the judge.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
