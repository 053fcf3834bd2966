"""What keeps a memory in order and moves it: archives, new embeddings, repair, late and removed layers, bulk files.

Open ``maintenance.py`` first: ``Memory.maintenance`` is its class. Each other module is one task. This room never
answers a question.
"""
