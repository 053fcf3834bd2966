"""Loading, splitting and citing texts. The package knows no model and no database."""
