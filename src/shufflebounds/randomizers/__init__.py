"""Local randomizers: one mechanism a module, what composes them, and the registry."""
