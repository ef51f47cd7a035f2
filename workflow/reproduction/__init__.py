"""The reproduction: what the papers claim, and how a run computes, draws and judges it."""
