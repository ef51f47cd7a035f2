"""Girgis et al., "On the Rényi Differential Privacy of the Shuffle Model", CCS 2021: its claims.

Everything else of the paper is in the library and in config/girgis2021.yaml.
"""
