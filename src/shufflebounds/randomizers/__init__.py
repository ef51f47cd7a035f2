"""Local randomizers, one mechanism a module; the module's name is the mechanism's name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass

from shufflebounds import validation
from shufflebounds.randomizers.base import Randomizer

# Modules that hold what mechanisms share, or a randomizer that no name describes.
_OTHERS = {"base", "matching", "matrix"}


def mechanism_names() -> list[str]:
    """Names of the mechanisms of this package, such as ``krr``, sorted."""
    return sorted({module.name for module in pkgutil.iter_modules(__path__)} - _OTHERS)


def mechanism(name: str) -> type[Randomizer]:
    """The class of a mechanism by its module's name; ValueError for an unknown one."""
    validation.choice("mechanism", name, mechanism_names())
    module = importlib.import_module(f"{__name__}.{name}")
    found = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Randomizer)
        and member.__module__ == module.__name__
    ]
    if len(found) != 1 or not is_dataclass(found[0]):
        raise ValueError(
            f"{module.__file__} must define one class that is a dataclass derived from Randomizer, "
            f"got {[member.__name__ for member in found]}"
        )
    if missing := sorted(found[0].__abstractmethods__):
        raise ValueError(f"{module.__file__} must define {', '.join(missing)}, which are missing")
    return found[0]
