"""What single values of a configuration may be: names, texts, lists, and numbers within limits.

Annotated types for models; the sentence for a value that is none of it is made in `sentences`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    Strict,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from shufflebounds import validation
from shufflebounds.bounds.base import QUANTITIES
from shufflebounds.experiments.sent import MAX_JOINT
from shufflebounds.setting import NAMES, OverN

# Names end up in paths.
_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
Name = Annotated[str, StringConstraints(pattern=rf"^{_NAME}\z")]
NAME_RULE = "a letter, then at most 63 letters, digits, _ or -"
Text = Annotated[str, MinLen(1), MaxLen(200)]
Caption = Annotated[str, MinLen(1), MaxLen(1000)]


def is_name(value: object) -> bool:
    """Whether something may be a name."""
    return isinstance(value, str) and re.fullmatch(_NAME, value) is not None


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise PydanticCustomError(
                "sentence",
                "{place} lists {twice} twice; its entries must be distinct",
                {"twice": repr(value)},
            )
    return values


def _delta(value: Any) -> float | OverN:
    """A number, or a mapping with the one key over_n."""
    if isinstance(value, Mapping) and set(value) == {"over_n"}:
        return OverN(value["over_n"])
    return validation.delta(value)


T = TypeVar("T")
# A list of distinct entries that is not empty.
Listed = Annotated[tuple[T, ...], Strict(False), MinLen(1), AfterValidator(_distinct)]
TRANSFORMS = ("none", "expm1", "log2_ratio", "log2_gain")

if TYPE_CHECKING:
    QuantityName: TypeAlias = str
    Transform: TypeAlias = str
else:
    # Names that stand elsewhere; type checkers want them written out.
    QuantityName = Literal[tuple(QUANTITIES)]
    Transform = Literal[TRANSFORMS]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Eps0 = Annotated[Finite, Gt(0), Le(validation.MAX_EPS0)]
Eps = Annotated[Finite, Ge(0), Le(validation.MAX_EPS0)]
Users = Annotated[int, Ge(1), Le(validation.MAX_USERS)]
Rounds = Annotated[int, Ge(1), Le(validation.MAX_ROUNDS)]
Order = Annotated[Finite, Gt(1), Le(validation.MAX_ORDER)]
Delta = Annotated[
    Any,
    PlainValidator(_delta),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": validation.MIN_DELTA, "exclusiveMaximum": 1},
                {
                    "type": "object",
                    "properties": {"over_n": {"type": "number", "exclusiveMinimum": 0}},
                    "required": ["over_n"],
                    "additionalProperties": False,
                },
            ],
            "x-allowed": f"a number >= {validation.MIN_DELTA:g} and < 1, "
            "or {over_n: c} for δ = c/n with c > 0",
        }
    ),
]
Values = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "minItems": 1, "items": {"type": "number"}},
                {
                    "type": "object",
                    "properties": {
                        "start": {"type": "number"},
                        "stop": {"type": "number"},
                        "points": {"type": "integer", "minimum": 1},
                        "spacing": {"enum": ["geometric", "linear"]},
                    },
                    "required": ["start", "stop", "points"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
X = Annotated[
    dict[str, Values],
    Field(
        json_schema_extra={
            "x-allowed": f"one of {', '.join(NAMES)} and its values, such as {{n: [100, 1000]}}"
        }
    ),
]
JointSize = Annotated[int, Ge(1), Le(MAX_JOINT)]
Colour = Annotated[str, StringConstraints(pattern=r"^#[0-9A-Fa-f]{6}\z")]


def _ends(values: tuple[float, ...]) -> tuple[float, ...]:
    if len(values) != 2 or values[0] >= values[1]:
        raise PydanticCustomError(
            "sentence",
            "{place} is {found}; it must be a list of two numbers, the smaller one first",
            {"found": str(list(values))},
        )
    return values


# Ends of an axis.
Limits = Annotated[tuple[Finite, ...], Strict(False), AfterValidator(_ends)]
