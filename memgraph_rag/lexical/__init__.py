"""Words: names, dates, terms, and how near two spellings are. The package knows no model, no graph and no database."""
