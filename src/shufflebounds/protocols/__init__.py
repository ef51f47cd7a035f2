"""Protocols: from what n users send to the decompositions that bound it, and how often they draw."""
