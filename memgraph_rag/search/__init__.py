"""Finding segments without a language model: a graph reader in, evidence out."""
