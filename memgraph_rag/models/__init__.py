"""Language models, embedders and recognizers: the only room that knows torch.

Open ``model_loader.py`` first: it chooses the models of one memory. ``engine`` runs a language model in this process;
``endpoints`` reaches one on a server. This room never knows a graph or a database.
"""
