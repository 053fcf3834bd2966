"""Language models, embedders and recognizers. No other room knows torch.

Open ``model_loader.py`` first: it chooses the models of one memory. ``engine`` runs a language model in this process;
``endpoints`` reaches a model on a server. This room does not know a graph or a database.
"""
