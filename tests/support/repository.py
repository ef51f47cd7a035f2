"""Where the repository is, whatever folder a test is in."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
