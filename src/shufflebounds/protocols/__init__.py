"""Multi-message shuffle protocols, one a module, as decompositions and draws."""
