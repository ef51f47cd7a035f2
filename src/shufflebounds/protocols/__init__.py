"""Protocols: from what n users send to decompositions, and how often they draw from them."""
