"""Local randomizers: mechanisms by kind, what composes them, and the registry."""
