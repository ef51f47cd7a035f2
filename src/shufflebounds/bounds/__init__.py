"""Bounds: what each is stands in one place, and `registry` lists them."""
