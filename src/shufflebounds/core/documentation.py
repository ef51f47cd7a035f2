"""Parts of docstrings that several public classes share, each written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)

# The meaning of a parameter, for classes that take it in the same way.
PARAMETERS = {
    "eps0": "Local privacy ε₀ (natural log), 0 < ε₀ ≤ 300.",
    "domain_size": "Number of values, at least 2; None stands for the limit of many.",
}
PARAMETERS_HEADING = "Parameters\n----------\n"
RAISES = "Raises\n------\nValueError\n    For an argument outside these ranges.\n\n"


def shares_documentation(*names: str) -> Callable[[Class], Class]:
    """Return a decorator that adds the first parameters and the section on errors to a docstring.

    ``names`` are keys of `PARAMETERS`. The docstring has a section Notes or Examples, and may have
    a section on further parameters before it.
    """
    entries = "".join(f"{name}\n    {PARAMETERS[name]}\n" for name in names)

    def complete(class_: Class) -> Class:
        if class_.__doc__ is not None:  # as it is under `python -OO`
            text = inspect.cleandoc(class_.__doc__)
            description, later_sections = re.split(
                r"^(?=(?:Notes|Examples)$)", text, maxsplit=1, flags=re.MULTILINE
            )
            summary, _, parameters = description.partition(PARAMETERS_HEADING)
            parameters = f"{PARAMETERS_HEADING}{entries}{parameters or chr(10)}"
            class_.__doc__ = f"{summary}{parameters}{RAISES}{later_sections}\n"
        return class_

    return complete
