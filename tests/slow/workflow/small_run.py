"""A small run with results of every kind but claims, for the tests of faults and stale results."""

import shutil
from pathlib import Path

from test_pipeline import CONFIG, Checkout

FIGURE = """
  fig8: {title: L, caption: A distribution., table: fig8}
"""
TABLES = """
tables:
  fig8: {kind: amplification_variable, mechanism: krr10, eps0: 1.0, eps: 0.1}
  hierarchy: {kind: hierarchy, mechanisms: [krr10], eps0: [0.5], n: [100], delta: 1.0e-6}
"""


def make_checkout(path: Path) -> Checkout:
    checkout = Checkout.make(path)
    checkout.edit("config.yaml", "[su2026, other]", "[su2026]\nformats: [png]")
    # Five curves do.
    checkout.edit(
        CONFIG, "curves: [bennett, clone, upper, lower, joint2]", "curves: [clone, upper, joint2]"
    )
    file = path / CONFIG
    text = file.read_text(encoding="utf-8").replace("[bennett, clone, upper]", "[clone, upper]")
    text = text.replace("\nfigures:\n", f"\nfigures:{FIGURE}")
    file.write_text(text + TABLES, encoding="utf-8")
    return checkout


def copy(checkout: Checkout, path: Path, *left_out: str) -> Checkout:
    """All of a checkout, but for some names, with the times of its files."""
    shutil.copytree(checkout.path, path, ignore=shutil.ignore_patterns(*left_out))
    return Checkout(path)


def results(checkout: Checkout) -> dict[str, bytes]:
    """The content of every result but logs and run times, by path."""
    return {
        path.relative_to(checkout.path).as_posix(): path.read_bytes()
        for folder in ("results", "figures")
        for path in (checkout.path / folder).rglob("[!.]*")
        if path.is_file() and not {"logs", "benchmarks"} & set(path.parts)
    }
