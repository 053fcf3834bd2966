"""Files of models: where weights come from, what is available here, and the journal of finished model work.

Open ``catalogue.py`` first: it finds the folder for a name. This room never runs a model.
"""
