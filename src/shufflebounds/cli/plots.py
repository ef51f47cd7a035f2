"""What commands that draw need, and where it comes from."""

from __future__ import annotations

import importlib.util

from shufflebounds.cli.errors import UsageError

_PLOT_NEEDS = ("matplotlib", "pandas", "seaborn")


def require_plotting() -> None:
    """Raise `UsageError` where a library is missing, before any work."""
    missing = [name for name in _PLOT_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"--plot needs {', '.join(missing)}, which are not installed: "
            "pip install 'shufflebounds[plot]'"
        )
