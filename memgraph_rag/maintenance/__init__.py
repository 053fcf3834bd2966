"""Maintenance tasks: archives, new embeddings, repair, building and removing layers later, files for bulk import.

Open ``maintenance.py`` first: ``Memory.maintenance`` is an object of its class. Each other module is one task. This
room never answers a question.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
