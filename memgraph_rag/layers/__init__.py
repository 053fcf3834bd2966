"""Optional derived parts of the graph, a module each: text in, rows out."""
