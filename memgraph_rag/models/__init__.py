"""Language model and embedder: the only room that knows torch."""
