"""Parts of docstrings that several public classes share, each written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)

# What a parameter means, for classes that take it in the same way.
PARAMETERS = {
    "eps0": "Local privacy ε₀ (natural log), 0 < ε₀ ≤ 300.",
    "domain_size": "Number of values, at least 2; None stands for the limit of many.",
}
PARAMETERS_HEADING = "Parameters\n----------\n"
RAISES = "Raises\n------\nValueError\n    For an argument outside these ranges.\n\n"


def shares_documentation(*names: str) -> Callable[[Class], Class]:
    """Complete the docstring of a class by its first parameters and the section on errors.

    ``names`` are keys of `PARAMETERS`. The docstring has a section Notes, and may have one on
    further parameters before it.
    """
    entries = "".join(f"{name}\n    {PARAMETERS[name]}\n" for name in names)

    def complete(class_: Class) -> Class:
        if class_.__doc__ is not None:  # as it is under `python -OO`
            before, notes, after = inspect.cleandoc(class_.__doc__).partition("Notes\n-----\n")
            summary, _, more = before.partition(PARAMETERS_HEADING)
            parameters = f"{PARAMETERS_HEADING}{entries}{more or chr(10)}"
            class_.__doc__ = f"{summary}{parameters}{RAISES}{notes}{after}\n"
        return class_

    return complete
