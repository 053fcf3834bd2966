"""Words: names, dates, terms and how near two spellings are. Knows no model, no graph and no database."""
