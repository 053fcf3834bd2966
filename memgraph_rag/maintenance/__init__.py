"""Maintenance tasks: archives, new embeddings, repair, building and removing layers later, files for bulk import.

Open ``maintenance.py`` first: ``Memory.maintenance`` is an object of its class. Each other module is one task. This
room never answers a question.
"""
