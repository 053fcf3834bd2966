"""Model files: where weights come from, which models are available here, and the journal of finished model work.

Open ``catalogue.py`` first: it finds the folder for a model's name. This room never runs a model.
"""
