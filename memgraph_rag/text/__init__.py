"""Text and where it stands: loading, splitting, citations. Knows no model and no database."""
