"""What shuffling gives: certified (ε, δ) bounds for shuffled local randomizers."""

from importlib import import_module
from typing import TYPE_CHECKING

from shufflebounds._version import __version__ as __version__

if TYPE_CHECKING:
    from shufflebounds.api import *  # noqa: F403


def __getattr__(name: str) -> object:
    """A public name, all of which are loaded with the first: a command starts without them."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    api = import_module("shufflebounds.api")
    globals().update({one: getattr(api, one) for one in api.__all__})
    globals()["__all__"] = [*api.__all__, "__version__"]
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("shufflebounds.api").__all__})
