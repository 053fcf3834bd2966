"""Answer questions: choose a strategy, read, decide whether to answer, write the answer, cite.

Open ``answer.py`` first: its loop runs a strategy within the limits. ``refusal`` finds reasons not to answer,
``evidence`` gathers the segments that an answer may cite. ``what_holds`` answers questions of the present from one
turn, ``question_plans`` takes questions apart, and ``update_graph`` extracts relations that a question lacks. Each
question reads one snapshot of the graph. This room writes only kept questions (``keep_trace``) and
relations that a question extracted.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
