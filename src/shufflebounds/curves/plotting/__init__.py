"""Figures: what they show (`layout`), and how they are drawn."""
