"""Experiments: what a curve is, how it is configured, computed and stored."""
