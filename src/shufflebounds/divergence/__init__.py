"""Engines: the hockey-stick divergence of a decomposition at ε and n."""
