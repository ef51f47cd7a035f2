"""Configurations: YAML files, the models of what they may hold, and the sentence for a mistake."""
