"""What config.yaml and the files of the papers may hold.

The models say what each key means, which editors show (`schema` makes a JSON schema of each), and
what it may be. Names that must exist and parameters that the library must accept are checked in
`checks`.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    StringConstraints,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from shufflebounds.bounds.base import QUANTITIES
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core import validation
from shufflebounds.core.setting import NAMES, Axis, OverN, parse_axis
from shufflebounds.curves.files import write_text

# What single values of a configuration may be: names, texts, lists, and numbers within limits.
#
# Annotated types for models; the sentence for a value that is none of it is made in `sentences`.

# Names end up in paths.
_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
Name = Annotated[str, StringConstraints(pattern=rf"^{_NAME}\z")]
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


def _axis(x: Any) -> Axis:
    """A mapping of a name to its values."""
    if not isinstance(x, Mapping):
        raise PydanticCustomError("no_mapping", "is no mapping")
    try:
        return parse_axis(x)
    except ValueError as error:
        raise PydanticCustomError("axis", "{sentence}", {"sentence": str(error)}) from None


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
_VALUES = {
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
X = Annotated[
    Axis,
    PlainValidator(_axis),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": _VALUES,
            "x-allowed": f"one of {', '.join(NAMES)} and its values, such as {{n: [100, 1000]}}",
        }
    ),
]
JointSize = Annotated[int, Ge(1), Le(validation.MAX_JOINT)]


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


class _Model(BaseModel):
    # Built as parts of the two whole models, not each for itself.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _is_not_empty(cls, value: Any) -> Any:
        """A key without a value is a slip; what may be left out is left out whole."""
        if value is None:
            raise PydanticCustomError("empty", "is empty")
        return value


class NumericsEntry(_Model):
    """How divergences are computed."""

    rtol: Annotated[Finite, Ge(1e-9), Le(0.1)] = 1e-4
    """Relative width of the enclosures."""


class SettingEntry(_Model):
    """What the curves of an experiment have in common; what is left out comes from further up."""

    n: Users | None = None
    """Number of users."""
    eps0: Eps0 | None = None
    """ε₀ of all that a user sends, a natural logarithm."""
    delta: Delta | None = None
    """δ: a number, or {over_n: c} for c/n."""
    eps: Eps | None = None
    """ε of curves of δ, a natural logarithm."""
    rounds: Rounds | None = None
    """How many shuffles of the same users, one after the other; one if left out."""
    order: Order | None = None
    """Order of a Rényi divergence."""
    target: Eps0 | None = None
    """ε that a protocol's authors chose its parameters for, a natural logarithm."""
    messages: Users | None = None
    """How many messages a user sends, in protocols where that is not a parameter."""

    def given(self) -> dict[str, Any]:
        """What is not left out, by name."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}


class RegimeEntry(SettingEntry):
    """A named setting; figures have a column of panels for each."""

    label: Text | None = None
    """What figures say of the regime before its values, such as low."""


class CurveEntry(_Model):
    """One bound, and what a user sends."""

    bound: str
    """A name that `shufflebounds bounds` lists."""
    quantity: QuantityName = "epsilon"
    """What is computed."""
    k_joint: JointSize = 1
    """How many independent reports, each at ε₀/k (a matrix: its own), a user sends together."""
    distance: JointSize | None = None
    """In how many coordinates of a joint composition the inputs differ; if left out, the bound
    covers every number. Only for `upper`."""


class ExperimentEntry(_Model):
    """Which curves of which mechanism are computed in which regimes."""

    mechanism: str
    """A name from `mechanisms`."""
    regimes: Listed[str]
    """Names from `regimes`."""
    curves: Listed[str]
    """Names from `curves`."""
    setting: SettingEntry = SettingEntry()
    """What differs from the paper's `setting`; a regime's own values count before these."""
    x: X | None = None
    """The axis, if it is not the paper's: one name and its values."""


class LineEntry(_Model):
    """A curve of any experiment; how it looks follows from its bound and its mechanism."""

    experiment: str
    """A name from `experiments`."""
    curve: str
    """A name from `curves`."""
    label: Text | None = None
    """What the figure calls it; if left out, the bound, and what tells it from the other lines."""
    view: Literal["axes", "ratio"] | None = None
    """Which view of the figure shows it, that of the curves or that of the ratios; both if left
    out."""


class ReferenceEntry(_Model):
    """A curve that others are divided by."""

    experiment: str | None = None
    """A name from `experiments`; left out only in a grid of several, where it is each row's own."""
    curve: str
    """A name from `curves`."""
    label: Text | None = None
    """How the axis calls it; if left out, like the legend."""
    limits: Limits | None = None
    """Ends of the y axis; what lies beyond is cut off. If left out, all curves are seen whole."""
    curves: Listed[str] | None = None
    """Names from `curves`: what is divided, if that is not what the figure shows above."""
    alone: bool = False
    """Whether the figure shows nothing but the ratios."""


class FigureEntry(_Model):
    """A column of panels for each experiment and a row for each regime; or one row of lines, with a
    column for each regime; or, with `table`, what a table holds.
    """

    title: Text
    """What the figure shows, as a sentence; it stands above the panels."""
    source: Text | None = None
    """Which figure of the paper it is, in a small line above the title; none if left out."""
    caption: Caption
    """What stands below the figure. {delta}, {n}, {eps0} and other settings in braces stand for
    their values."""
    regimes: Listed[str] | None = None
    """Names from `regimes`."""
    experiments: Listed[str] | None = None
    """Names from `experiments`: a column of panels each, with the curves of `curves`."""
    curves: Listed[str] | None = None
    """Names from `curves`, which every experiment has."""
    lines: Annotated[tuple[LineEntry, ...], Strict(False), MinLen(1)] | None = None
    """Curves of any experiments, in place of experiments and curves."""
    ratio: ReferenceEntry | None = None
    """Below each row of panels another one in which curves are divided by this one."""
    is_map: bool = False
    """Whether the ratios are drawn as a map, with a row for each line."""
    transform: Transform | None = None
    """What is drawn of ε: `expm1` is e^ε − 1, `log2_ratio` is log₂(ε₀/ε), `log2_gain` the same with
    the target ε of a protocol's authors for ε₀, `none` is ε itself."""
    goal: float | None = None
    """A value that a horizontal line marks in the panels of curves, such as the ε to be met."""
    table: str | None = None
    """A name from `tables`, of a kind that can be drawn."""


class StyleEntry(_Model):
    """The looks of the figures; no curve depends on them."""

    transform: Transform = "none"
    """What figures draw of ε unless they say otherwise."""
    experiments: dict[str, Text] = {}
    """How figures call the experiments; if left out, like their mechanisms."""
    curves: dict[str, Text] = {}
    """How figures call the curves; if left out, like their bounds."""


class PaperEntry(_Model):
    """What one paper has: mechanisms, experiments, figures, tables and claims."""

    title: Text
    """Authors and title, as the report shows them."""
    setting: SettingEntry = SettingEntry()
    """What all experiments have in common."""
    x: X
    """The axis of all experiments: the name of a setting, and its values."""
    regimes: Annotated[dict[Name, RegimeEntry], MinLen(1)]
    """Settings by name."""
    mechanisms: Annotated[dict[Name, dict[str, Any]], MinLen(1)]
    """Local randomizers by name: `type` is a mechanism, whose parameters except ε₀ are the other
    keys, or `joint` (parts), `parallel` (parts) or `subsample` (mechanism, rate). Or protocols,
    whose parameters except settings are the other keys."""
    curves: Annotated[dict[Name, CurveEntry], MinLen(1)]
    """Bounds by name."""
    experiments: Annotated[dict[Name, ExperimentEntry], MinLen(1)]
    """Which curves of which mechanism are computed in which regimes."""
    figures: dict[Name, FigureEntry] = {}
    """Figures by name."""
    tables: dict[Name, dict[str, Any]] = {}
    """Tables by name: `kind` is one of the paper's, whose parameters are the other keys."""
    claims: dict[str, Listed[str]] = {}
    """Figures whose curves are to show what the paper claims, by claim."""
    style: StyleEntry = StyleEntry()
    """The looks of the figures."""


class RootEntry(_Model):
    """config.yaml: which papers are reproduced, and how precisely."""

    papers: Listed[Name]
    """Which papers: each has its own file, config/<paper>.yaml."""
    numerics: NumericsEntry = NumericsEntry()
    """Precision of all divergences."""
    formats: Listed[Literal["pdf", "png", "svg"]] = ("pdf", "png")
    """The files of every figure."""


# Their JSON schemas, for editors; ``make schemas`` writes them into the folder docs.

MODELS: dict[str, type[BaseModel]] = {
    "config.schema.json": RootEntry,
    "paper.schema.json": PaperEntry,
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(model: type[BaseModel]) -> str:
    """The schema of a model's file."""
    whole = model.model_json_schema()
    for name, part in {**whole.get("$defs", {}), model.__name__: whole}.items():
        for field, text in _meanings(globals()[name]).items():
            said = {**part["properties"][field], "description": text}
            part["properties"][field] = dict(sorted(said.items()))
    fragment = _for_editors(whole)
    definitions = fragment.get("$defs", {})
    # What depends on the library, and the models leave to `checks`.
    if "CurveEntry" in definitions:
        definitions["CurveEntry"]["properties"]["bound"]["enum"] = list(BOUNDS)
    for entry in (fragment, definitions.get("ExperimentEntry", {})):
        if "x" in entry.get("properties", {}):
            entry["properties"]["x"] |= {
                "propertyNames": {"enum": list(NAMES)},
                "minProperties": 1,
                "maxProperties": 1,
            }
    return json.dumps({"$schema": _DIALECT, **fragment}, indent=2, ensure_ascii=False) + "\n"


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """The strings below the fields of a model, which cost every other run a tenth of a second."""
    found: dict[str, str] = {}
    for one in [base for base in reversed(model.__mro__) if issubclass(base, _Model)]:
        [entry] = ast.parse(inspect.getsource(one)).body
        assert isinstance(entry, ast.ClassDef)
        for field, below in pairwise(entry.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                    found[name] = inspect.cleandoc(text)
    return found


def _for_editors(fragment: Any) -> Any:
    """A fragment in JavaScript's regular expressions, and without null: no key may be empty."""
    if isinstance(fragment, str):
        return fragment.replace(r"\z", "$")
    if isinstance(fragment, list):
        return [_for_editors(one) for one in fragment if one != {"type": "null"}]
    if not isinstance(fragment, dict):
        return fragment
    kept = {_for_editors(k): _for_editors(v) for k, v in fragment.items() if not _is_ours(k, v)}
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    if len(kept.get("anyOf", ())) == 1:
        kept = kept.pop("anyOf")[0] | kept
    return kept


def _is_ours(key: str, value: Any) -> bool:
    """Whether a key of a schema says nothing to an editor; a property may be called title."""
    return (
        key == "x-allowed"
        or (key == "title" and isinstance(value, str))
        or (key == "default" and (value is None or isinstance(value, dict)))
    )


def main() -> None:
    """Write the schemas into the folder that the command line names."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m reproduction.configuration.models FOLDER")
    for name, model in MODELS.items():
        write_text(schema(model), Path(sys.argv[1]) / name)


if __name__ == "__main__":
    main()
