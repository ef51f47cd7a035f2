"""What config.yaml and the files of the papers may hold, as pydantic models.

The fields say what their keys mean, which `schema` shows to editors. Validators refuse what one
file alone shows to be wrong; a ValueError of theirs begins with the place of the mistake within
their model. `checks` finds the mistakes that depend on the library or on the code of a paper.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, TypeVar

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from reproduction.configuration import deployment_schema
from reproduction.configuration.deployment_schema import number_schema
from reproduction.configuration.sentences import quote, suggestion
from shufflebounds.bounds.base import QUANTITIES
from shufflebounds.bounds.registry import BOUNDS, present_name
from shufflebounds.core import validation
from shufflebounds.core.number import Number
from shufflebounds.core.setting import (
    MAX_POINTS,
    NAMES,
    OVER_N,
    SPACINGS,
    Axis,
    OverN,
    parse_axis,
)
from shufflebounds.curves.files import write_text

# Names of entries end up in paths and in names of rules.
NAME_PATTERN = "^[A-Za-z][A-Za-z0-9_-]{0,63}$"
# What a figure can draw of ε.
TRANSFORMS = ("none", "expm1", "log2_ratio", "log2_gain")
# The schema language that editors are told.
DIALECT = "https://json-schema.org/draft/2020-12/schema"
GRID_SCHEMA = {
    "type": "object",
    "properties": {
        "start": {"type": "number"},
        "stop": {"type": "number"},
        "points": {"type": "integer", "minimum": 1, "maximum": MAX_POINTS},
        "spacing": {"enum": list(SPACINGS)},
    },
    "required": ["start", "stop", "points"],
    "additionalProperties": False,
}
AXIS_SCHEMA = {
    "type": "object",
    "propertyNames": {"enum": list(NAMES)},
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": {
        "anyOf": [{"type": "array", "minItems": 1, "items": {"type": "number"}}, GRID_SCHEMA]
    },
}

DISTANCE = replace(
    validation.K_JOINT,
    name="distance",
    meaning="in how many coordinates of a joint composition the inputs differ; if left out, the "
    "bound covers every number. Only for `blanket`",
)

T = TypeVar("T")


def require_known(place: str, value: object, allowed: Collection[str]) -> None:
    """Raise ValueError unless a value, or each of a list at the place, is an allowed name."""
    if isinstance(value, tuple):
        for i, entry in enumerate(value):
            require_known(f"{place}[{i}]", entry, allowed)
    elif not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"{place} is {quote(value)}{suggestion(value, allowed)}; "
            f"it must be one of {', '.join(allowed) or 'none'}"
        )


def check_keys(content: object, known: Collection[str]) -> None:
    """Raise ValueError for the first key of a mapping that is unknown or has no value."""
    for key, value in content.items() if isinstance(content, Mapping) else ():
        if key not in known:
            raise ValueError(
                f"{key} is not a known key{suggestion(key, known)}; "
                f"the keys here are {', '.join(known)}"
            )
        if value is None:
            raise ValueError(f"{key} is empty; give it a value or leave it out")


def _check_distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{value!r} is listed twice; the entries must be distinct")
    return values


def _check_order(limits: tuple[float, float]) -> tuple[float, float]:
    if limits[0] >= limits[1]:
        raise ValueError(f"the smaller one of two limits comes first, got {list(limits)}")
    return limits


def _parse_delta(value: Any) -> float | OverN:
    if isinstance(value, Mapping) and set(value) == {"over_n"}:
        return OverN(value["over_n"])
    try:
        return validation.delta(value)
    except ValueError as error:
        raise ValueError(f"{error}; {{over_n: c}} stands for c/n") from None


@dataclass(frozen=True)
class Given:
    """The annotation of a key with one of the library's numbers, of which it says ``more``."""

    number: Number[Any]
    more: str = ""

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.number.check)

    def __get_pydantic_json_schema__(self, *_: Any) -> JsonSchemaValue:
        schema = number_schema(self.number) | {"description": self.number.sentence + self.more}
        return {key: value for key, value in schema.items() if key != "default"}


class GivenDelta(Given):
    """The annotation of a key that holds δ, or ``{over_n: c}`` for c/n."""

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_parse_delta)

    def __get_pydantic_json_schema__(self, *arguments: Any) -> JsonSchemaValue:
        share = {
            "type": "object",
            "properties": {"over_n": number_schema(OVER_N)},
            "required": ["over_n"],
            "additionalProperties": False,
        }
        number = super().__get_pydantic_json_schema__(*arguments)
        return {"description": number.pop("description"), "anyOf": [number, share]}


Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Text = Annotated[str, MinLen(1), MaxLen(200)]
Caption = Annotated[str, MinLen(1), MaxLen(1000)]
Sequence = Annotated[tuple[T, ...], Strict(False), MinLen(1)]
Listed = Annotated[tuple[T, ...], Strict(False), MinLen(1), AfterValidator(_check_distinct)]
Chosen = Annotated[tuple[T, ...], Strict(False), AfterValidator(_check_distinct)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Users = Annotated[int, Given(validation.N)]
Eps0 = Annotated[float, Given(validation.EPS0)]
Eps = Annotated[float, Given(validation.EPS)]
Delta = Annotated[Any, GivenDelta(validation.DELTA, " {over_n: c} stands for c/n.")]
Limits = Annotated[tuple[Finite, Finite], Strict(False), AfterValidator(_check_order)]
X = Annotated[Axis, PlainValidator(parse_axis), WithJsonSchema(AXIS_SCHEMA)]
if TYPE_CHECKING:
    BoundName: TypeAlias = str
    QuantityName: TypeAlias = str
    Transform: TypeAlias = str
else:
    # Type checkers want the names of a Literal written out.
    BoundName = Annotated[Literal[tuple(BOUNDS)], BeforeValidator(present_name)]
    QuantityName = Literal[tuple(QUANTITIES)]
    Transform = Literal[TRANSFORMS]


class Entry(BaseModel):
    """A mapping of a configuration: unknown keys and keys without a value are mistakes."""

    # Entries are built as parts of the two whole files, not each for itself.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, content: Any) -> Any:
        check_keys(content, cls.model_fields)
        return content


class NumericsEntry(Entry):
    """How divergences are computed."""

    rtol: Annotated[float, Given(validation.RTOL)] = 1e-4


class SettingEntry(Entry):
    """What the curves of an experiment have in common; what is left out comes from further up."""

    n: Users | None = None
    eps0: Eps0 | None = None
    delta: Delta | None = None
    eps: Eps | None = None
    rounds: Annotated[int | None, Given(validation.ROUNDS)] = None
    order: Annotated[float | None, Given(validation.ORDER)] = None
    target: Annotated[float | None, Given(validation.TARGET)] = None
    messages: Annotated[int | None, Given(validation.MESSAGES)] = None
    noise_multiplier: Annotated[
        float | None,
        Given(
            validation.NOISE_MULTIPLIER,
            " There, n counts the steps of an epoch, and rounds the epochs.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the settings that are not left out, by name."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}


class RegimeEntry(SettingEntry):
    """A named setting; figures have a column of panels for each."""

    label: Text | None = Field(
        default=None, description="What figures say of the regime before its values, such as low."
    )


class CurveEntry(Entry):
    """One bound, and what a user sends."""

    bound: BoundName = Field(description="A name that `shufflebounds bounds` lists.")
    quantity: QuantityName = Field(default="epsilon", description="What is computed.")
    k_joint: Annotated[int, Given(validation.K_JOINT)] = 1
    distance: Annotated[int | None, Given(DISTANCE)] = None

    @model_validator(mode="after")
    def _check_quantity(self) -> Self:
        allowed = BOUNDS[self.bound].quantities
        if self.quantity not in allowed:
            raise ValueError(
                f"quantity is {self.quantity!r}; for the bound {self.bound} it must be one of "
                f"{', '.join(allowed)}"
            )
        return self


class ExperimentEntry(Entry):
    """Which curves of which mechanism are computed in which regimes."""

    mechanism: str = Field(description="A name from `mechanisms`.")
    regimes: Listed[str] = Field(description="Names from `regimes`.")
    curves: Listed[str] = Field(description="Names from `curves`.")
    setting: SettingEntry = Field(
        default=SettingEntry(),
        description="What differs from the paper's `setting`; a regime's own values count before "
        "these.",
    )
    x: X | None = Field(
        default=None, description="The axis, if it is not the paper's: one name and its values."
    )


class LineEntry(Entry):
    """A curve of any experiment; how it looks follows from its bound and its mechanism."""

    experiment: str = Field(description="A name from `experiments`.")
    curve: str = Field(description="A name from `curves`.")
    label: Text | None = Field(
        default=None,
        description="What the figure calls it; if left out, the bound, and what tells it from the "
        "other lines.",
    )
    view: Literal["axes", "ratio"] | None = Field(
        default=None,
        description="Which view of the figure shows it, that of the curves or that of the ratios; "
        "both if left out.",
    )


class ReferenceEntry(Entry):
    """A curve that others are divided by."""

    experiment: str | None = Field(
        default=None,
        description="A name from `experiments`; if left out, each curve is divided by that of its "
        "own experiment.",
    )
    curve: str = Field(description="A name from `curves`.")
    label: Text | None = Field(
        default=None, description="How the axis calls it; if left out, like the legend."
    )
    limits: Limits | None = Field(
        default=None,
        description="Ends of the y axis; what lies beyond is cut off. If left out, all curves are "
        "seen whole.",
    )
    curves: Listed[str] | None = Field(
        default=None,
        description="Names from `curves`: what is divided, if that is not what the figure shows "
        "above.",
    )
    alone: bool = Field(
        default=False, description="Whether the figure shows nothing but the ratios."
    )


class FigureEntry(Entry):
    """A column of panels for each experiment and a row for each regime; or one row of lines, with a
    column for each regime; or, with `table`, what a table holds.
    """

    title: Text = Field(
        description="What the figure shows, as a sentence; it stands above the panels."
    )
    source: Text | None = Field(
        default=None,
        description="Which figure of the paper it is, in a small line above the title; none if "
        "left out.",
    )
    caption: Caption = Field(
        description="What stands below the figure. {delta}, {n}, {eps0} and other settings in "
        "braces stand for their values."
    )
    holds: Listed[Text] = Field(
        default=(),
        description="What the title says, as conditions on the curves or on the columns of the "
        "table, such as `best < blanket where n >= 1000`. They are checked when the figure is "
        "drawn, and a title that is not true says so.",
    )
    regimes: Listed[str] | None = Field(default=None, description="Names from `regimes`.")
    experiments: Listed[str] | None = Field(
        default=None,
        description="Names from `experiments`: a column of panels each, with the curves of "
        "`curves`.",
    )
    curves: Listed[str] | None = Field(
        default=None, description="Names from `curves`, which every experiment has."
    )
    lines: Sequence[LineEntry] | None = Field(
        default=None, description="Curves of any experiments, in place of experiments and curves."
    )
    ratio: ReferenceEntry | None = Field(
        default=None,
        description="Below each row of panels another one in which curves are divided by this one.",
    )
    is_map: bool = Field(
        default=False,
        description="Whether the ratios are drawn as a map, with a row for each line.",
    )
    transform: Transform | None = Field(
        default=None,
        description="What is drawn of ε: `expm1` is e^ε − 1, `log2_ratio` is log₂(ε₀/ε), "
        "`log2_gain` the same with the target ε of a protocol's authors for ε₀, `none` is ε "
        "itself.",
    )
    goal: float | None = Field(
        default=None,
        description="A value that a horizontal line marks in the panels of curves, such as the ε "
        "to be met.",
    )
    table: str | None = Field(
        default=None, description="A name from `tables`, of a kind that can be drawn."
    )

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        """Refuse all but a grid, lines or a table, each with the keys that go with it."""
        grid = [key for key in ("experiments", "curves") if getattr(self, key) is not None]
        others = [key for key in ("lines", "table") if getattr(self, key) is not None]
        if (len(grid), len(others)) not in ((2, 0), (0, 1)):
            raise ValueError(
                "it must have either experiments and curves, or lines, or a table, got "
                f"{', '.join([*grid, *others]) or 'none of them'}"
            )
        if self.table is None and self.regimes is None:
            raise ValueError("regimes is missing")
        if self.is_map and self.ratio is None:
            raise ValueError("ratio is missing; a map shows what is divided by a curve")
        for key in ("regimes", "ratio", "transform", "goal"):
            if self.table is not None and getattr(self, key) is not None:
                raise ValueError(f"{key} is only for figures of curves, and this is one of a table")
        return self

    @model_validator(mode="after")
    def _check_ratio(self) -> Self:
        """Each of several experiments has its own divisor."""
        if self.is_grid and self.ratio is not None and self.ratio.experiment is not None:
            raise ValueError(
                "ratio.experiment must be left out where a figure has several experiments"
            )
        return self

    @property
    def is_grid(self) -> bool:
        """Whether columns are experiments and rows regimes."""
        return len(self.experiments or ()) > 1

    @property
    def ratio_curves(self) -> tuple[str, ...]:
        """Names of the curves that the ratios show, if those are not the curves shown above."""
        return (self.ratio.curves or ()) if self.ratio else ()

    def drawn_curves(self) -> Iterator[tuple[str, str]]:
        """Yield experiment and curve of all that the figure draws or divides by."""
        for line in self.lines or ():
            yield line.experiment, line.curve
        for experiment in self.experiments or ():
            for curve in (*(self.curves or ()), *self.ratio_curves):
                yield experiment, curve
        if self.ratio is not None:
            own = self.ratio.experiment
            shown = [*(self.experiments or ()), *(line.experiment for line in self.lines or ())]
            for experiment in dict.fromkeys(shown) if own is None else [own]:
                yield experiment, self.ratio.curve


class StyleEntry(Entry):
    """The looks of the figures; no curve depends on them."""

    transform: Transform = Field(
        default="none", description="What figures draw of ε unless they say otherwise."
    )
    column_width: Annotated[Finite, Ge(1.0), Le(20.0)] = Field(
        default=3.5, description="Width in inches of figures with a single column of panels."
    )
    page_width: Annotated[Finite, Ge(1.0), Le(20.0)] = Field(
        default=7.16, description="Width in inches of figures with panels side by side."
    )
    fonts: Listed[Text] | None = Field(
        default=None, description="Installed fonts of the figures, before the usual ones."
    )
    experiments: dict[str, Text] = Field(
        default={},
        description="How figures call the experiments; if left out, like their mechanisms.",
    )
    curves: dict[str, Text] = Field(
        default={}, description="How figures call the curves; if left out, like their bounds."
    )


class PaperEntry(Entry):
    """What one paper has: mechanisms, experiments, figures, tables and claims.

    A paper whose figures are all of tables needs no experiments.
    """

    title: Text = Field(description="Authors and title, as the report shows them.")
    setting: SettingEntry = Field(
        default=SettingEntry(), description="What all experiments have in common."
    )
    x: X = Field(
        default_factory=lambda: Axis("n", (1,)),
        description="The axis of all experiments: the name of a setting, and its values.",
    )
    regimes: Annotated[dict[Name, RegimeEntry], MinLen(1)] = Field(
        default={}, description="Settings by name."
    )
    mechanisms: Annotated[dict[Name, dict[str, Any]], MinLen(1)] = Field(
        default={},
        description="Local randomizers by name: `type` is a mechanism, whose parameters except ε₀ "
        "are the other keys, or `joint` (parts), `parallel` (parts), `subsample` (mechanism, "
        "rate) or `cohort` (mechanism, size). Or protocols, whose parameters except settings are "
        "the other keys.",
    )
    curves: Annotated[dict[Name, CurveEntry], MinLen(1)] = Field(
        default={}, description="Bounds by name."
    )
    experiments: Annotated[dict[Name, ExperimentEntry], MinLen(1)] = Field(
        default={}, description="Which curves of which mechanism are computed in which regimes."
    )
    figures: dict[Name, FigureEntry] = Field(default={}, description="Figures by name.")
    tables: dict[Name, dict[str, Any]] = Field(
        default={},
        description="Tables by name: `kind` is one of the paper's, whose parameters are the other "
        "keys.",
    )
    claims: dict[str, Chosen[str]] = Field(
        default={},
        description="Figures whose curves are to show what the paper claims, by claim; [] for a "
        "claim that is computed without curves.",
    )
    style: StyleEntry = Field(default=StyleEntry(), description="The looks of the figures.")

    @model_validator(mode="after")
    def _check_experiments(self) -> Self:
        """Experiments need all of their keys; only a paper with tables needs no experiments."""
        given = self.model_fields_set
        for key in ("x", "regimes", "mechanisms", "curves", "experiments"):
            if key not in given and ("experiments" in given or not self.tables):
                raise ValueError(f"{key} is missing")
        for name, experiment in self.experiments.items():
            for key, allowed in (
                ("mechanism", self.mechanisms),
                ("regimes", self.regimes),
                ("curves", self.curves),
            ):
                require_known(f"experiments.{name}.{key}", getattr(experiment, key), allowed)
        return self

    @model_validator(mode="after")
    def _check_figures(self) -> Self:
        """Figures draw what is computed, of one quantity along one axis."""
        for name, figure in self.figures.items():
            place = f"figures.{name}"
            if figure.table is not None:
                require_known(f"{place}.table", figure.table, self.tables)
                continue
            require_known(f"{place}.regimes", figure.regimes, self.regimes)
            for experiment, curve in figure.drawn_curves():
                require_known(f"{place}: experiment", experiment, self.experiments)
                require_known(f"{place}: curve", curve, self.curves)
                self._require_computed(place, figure.regimes, experiment, curve)
            self._check_axes(place, figure)
        return self

    def _require_computed(
        self, place: str, regimes: tuple[str, ...] | None, experiment: str, curve: str
    ) -> None:
        computed = self.experiments[experiment]
        wanted = [("curve", curve, computed.curves)]
        wanted += [("regime", regime, computed.regimes) for regime in regimes or ()]
        for what, name, names in wanted:
            if name not in names:
                raise ValueError(
                    f"{place} draws {what} {name}, which experiments.{experiment} does not "
                    f"compute; it computes {', '.join(names)}"
                )

    def _check_axes(self, place: str, figure: FigureEntry) -> None:
        drawn = list(figure.drawn_curves())
        quantities = {self.curves[curve].quantity for _, curve in drawn}
        axes = {(self.experiments[experiment].x or self.x).name for experiment, _ in drawn}
        for what, names in (("quantities", quantities), ("axes", axes)):
            if len(names) > 1:
                raise ValueError(
                    f"{place} draws curves of several {what}: {', '.join(sorted(names))}"
                )
        transform = figure.transform or self.style.transform
        if transform != "none" and quantities == {"delta"}:
            raise ValueError(
                f"{place}.transform is {transform!r}; for curves of delta it must be none"
            )

    @model_validator(mode="after")
    def _check_style(self) -> Self:
        """A style like that of an entry is misspelt; others may be left from former entries."""
        for key in ("experiments", "curves"):
            known = getattr(self, key)
            for name in getattr(self.style, key):
                if name not in known and (hint := suggestion(name, known)):
                    raise ValueError(
                        f"style.{key}.{name} is the style of nothing{hint}; "
                        f"{key} are {', '.join(known)}"
                    )
        return self


class RootEntry(Entry):
    """config.yaml: which papers are reproduced, and how precisely."""

    papers: Listed[Name] = Field(
        description="Which papers: each has its own file, config/<paper>.yaml."
    )
    numerics: NumericsEntry = Field(
        default=NumericsEntry(), description="Precision of all divergences."
    )
    formats: Listed[Literal["pdf", "png", "svg"]] = Field(
        default=("pdf", "png"), description="The files of every figure."
    )


class _EditorSchema(GenerateJsonSchema):
    """A schema without null, which no key may be, and without titles, which repeat the names."""

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default") is None or isinstance(made["default"], dict):
            made.pop("default", None)
        return made

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        made = super().dict_schema(schema)
        return made | {"additionalProperties": False} if "patternProperties" in made else made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema(model: type[BaseModel]) -> str:
    """Return the JSON schema of a model's file, as the text of a file."""
    return _text(model.model_json_schema(schema_generator=_EditorSchema))


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps({"$schema": DIALECT, **schema}, indent=2, ensure_ascii=False) + "\n"


# The files of the schemas, which ``make schemas`` writes into the folder docs.
SCHEMAS: Mapping[str, Callable[[], str]] = {
    "config.schema.json": partial(schema, RootEntry),
    "paper.schema.json": partial(schema, PaperEntry),
    "deployment.schema.json": lambda: _text(deployment_schema.schema()),
}


def main() -> None:
    """Write the schemas, and the tables of keys, into the folder that the command line names."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m reproduction.configuration.models FOLDER")
    for name, text in SCHEMAS.items():
        write_text(text(), Path(sys.argv[1]) / name)
    page = Path(sys.argv[1]) / "deployments.md"
    if page.exists():
        write_text(deployment_schema.with_tables(page.read_text(encoding="utf-8")), page)


if __name__ == "__main__":
    main()
