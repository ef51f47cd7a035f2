"""A small run with results of every kind but claims, for the tests of faults and stale results."""

import shutil
from pathlib import Path

from test_pipeline import Checkout

MORE = """
distributions:
  fig8: {caption: A distribution., title: L, mechanism: krr10, eps0: 1.0, eps: 0.1}
hierarchy: {mechanisms: [krr10], eps0: [0.5], n: [100]}
"""


def make_checkout(path: Path) -> Checkout:
    checkout = Checkout.make(path)
    config = path / "config.yaml"
    # Five curves do.
    few = config.read_text(encoding="utf-8").replace("[bennett, clone, upper", "[clone, upper")
    few = few.replace("curves: [clone, upper, lower, joint2]", "curves: [clone, upper, joint2]")
    config.write_text(few + MORE, encoding="utf-8")
    return checkout


def copy(checkout: Checkout, path: Path, *left_out: str) -> Checkout:
    """All of a checkout, but for some names, with the times of its files."""
    shutil.copytree(checkout.path, path, ignore=shutil.ignore_patterns(*left_out))
    return Checkout(path)


def results(checkout: Checkout) -> dict[str, bytes]:
    """The content of every result but logs and run times, by path."""
    folders = ("results/curves", "results/distributions", "results/tables", "figures")
    return {
        path.relative_to(checkout.path).as_posix(): path.read_bytes()
        for folder in folders
        for path in (checkout.path / folder).rglob("[!.]*")
        if path.is_file()
    }
