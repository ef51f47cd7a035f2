"""Reproductions of papers, as the workflow calls them: curves, figures, tables, claims."""
