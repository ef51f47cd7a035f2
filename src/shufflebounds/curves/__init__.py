"""Curves: what one is, computed, written and read as CSV, drawn; and claims for verify.py."""
