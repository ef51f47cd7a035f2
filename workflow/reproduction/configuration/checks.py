"""Is this configuration right? If not, one sentence: the file, the key, the value, what is allowed.

The models say what each value may be. What they cannot say is checked here: names that must exist,
parameters that the library must accept, and combinations that make no sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reproduction import plan
from reproduction.configuration.loading import (
    COMMAND_LINE_HINT,
    ConfigError,
    one_line,
    sentences,
    shown,
    suggestion,
)
from reproduction.configuration.models import (
    FigureEntry,
    PaperEntry,
    RootEntry,
    is_name,
)
from reproduction.papers.base import research
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import Setting
from shufflebounds.curves.plotting.texts import plain
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry
from shufflebounds.protocols.base import InfeasibleError
from shufflebounds.randomizers import description
from shufflebounds.randomizers.registry import COMPOSITIONS

# Keys of config.yaml, and rules of the workflow, where each paper has a rule of its own.
RULES = (
    *("all", "claims", "curve", "everything", "figure", "figures", "gallery", "judgement"),
    *("page", "proofs", "table", "tables", "verify"),
)
_TAKEN = (*RootEntry.model_fields, *RULES)
Entry = TypeVar("Entry", bound=BaseModel)


def checked(content: Mapping[str, Any], source: str = "config.yaml") -> plan.Plan:
    """The plan of config.yaml with every paper's file under the paper's name.

    `source` tells what config.yaml was merged with. Raises ConfigError for the first mistake.
    """
    root = _validated(RootEntry, _of_no_paper(content, source), source)
    numerics = plan.numerics_of(root)
    papers = {
        name: _paper(name, content[name], numerics, paper_source(name, source))
        for name in root.papers
    }
    return plan.Plan(papers, root.formats)


def trusted(content: Mapping[str, Any], *papers: str) -> plan.Plan:
    """The same for a configuration that has been checked; only some papers, if they are named."""
    root = RootEntry.model_validate(_of_no_paper(content, ""))
    numerics = plan.numerics_of(root)
    made = {}
    for name in papers or root.papers:
        entry = PaperEntry.model_validate(content[name])
        made[name] = plan.paper(name, entry, numerics, dict(plan.specifications(entry, numerics)))
    return plan.Plan(made, root.formats)


def paper_source(name: str, source: str = "config.yaml") -> str:
    """What a paper's mistakes are said to be in."""
    if "config.yaml" not in source:  # that of a module, which comes whole
        return f"{source}, {name}"
    return source.replace("config.yaml", f"config/{name}.yaml", 1)


def _of_no_paper(content: Mapping[str, Any], source: str) -> dict[str, Any]:
    papers = content.get("papers")
    names = papers if isinstance(papers, list | tuple) else []
    for i, name in enumerate(names):
        if isinstance(name, str) and name in _TAKEN:
            raise ConfigError(
                f"{source}: papers[{i}] is {name!r}, which names something else; a paper must be "
                f"called none of {', '.join(_TAKEN)}"
            )
        if is_name(name) and name not in content:
            raise ConfigError(
                f"{source}: papers names {name}, but there is no file config/{name}.yaml"
            )
    return {key: value for key, value in content.items() if key not in names}


def _validated(model: type[Entry], content: Mapping[str, Any], source: str) -> Entry:
    """The model of a file; ConfigError for the first mistake."""
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        raise ConfigError(one_line(source, next(sentences(error, model, content)))) from None


def _paper(name: str, content: object, numerics: Numerics, source: str) -> plan.Paper:
    """The plan of a paper's file, checked throughout; ConfigError for the first mistake."""
    if not isinstance(content, Mapping):
        sentence = "the file must be a mapping that is not empty"
        if isinstance(content, str) and "--config" in source.split():
            sentence += f", got {shown(content)}{COMMAND_LINE_HINT}"
        raise ConfigError(one_line(source, sentence))
    entry = _validated(PaperEntry, content, source)
    try:
        _refuse(
            _name_faults(entry),
            _curve_faults(entry),
            mechanism_faults(entry),
            _experiment_faults(entry),
        )
        curves = dict(plan.specifications(entry, numerics))
        _require_computable(curves)
        _refuse(
            _table_faults(name, entry),
            figure_faults(name, entry),
            _claim_faults(name, entry),
            style_faults(entry),
            _text_faults(content),
        )
        return plan.paper(name, entry, numerics, curves)
    except ValueError as error:
        raise ConfigError(one_line(source, str(error))) from None


def _refuse(*checks: Iterator[str]) -> None:
    """ValueError for the first fault. Lazily: each check relies on the ones before."""
    for sentence in chain(*checks):
        raise ValueError(sentence)


def unknown(place: str, value: object, allowed: Collection[str]) -> Iterator[str]:
    """A sentence if the value at `place`, or one of a list there, is not allowed."""
    if isinstance(value, tuple):
        for i, one in enumerate(value):
            yield from unknown(f"{place}[{i}]", one, allowed)
    elif not isinstance(value, str) or value not in allowed:
        yield (
            f"{place} is {shown(value)}{suggestion(value, allowed)}; "
            f"it must be one of {', '.join(allowed) or 'none'}"
        )


# Checks of the figures of a paper and their style: what they draw, and how.


def figure_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the figures of a paper."""
    for name, figure in entry.figures.items():
        place = f"figures.{name}"
        yield from _shown_faults(place, figure)
        if figure.table is not None:
            yield from unknown(f"{place}.table", figure.table, entry.tables)
            if not research(paper).tables[entry.tables[figure.table]["kind"]].is_drawn:
                yield f"{place}.table is {figure.table!r}, a table of a kind that cannot be drawn"
            continue
        regimes = figure.regimes or ()
        yield from unknown(f"{place}.regimes", regimes, entry.regimes)
        quantities, xs = set(), set()
        for key, experiment, curve in _drawn(figure):
            yield from unknown(f"{place}.{key('experiment')}", experiment, entry.experiments)
            yield from unknown(f"{place}.{key('curve')}", curve, entry.curves)
            computed = entry.experiments[experiment]
            wanted = [(key("curve"), "curves", curve)]
            wanted += [(f"regimes[{i}]", "regimes", r) for i, r in enumerate(regimes)]
            for where, kind, value in wanted:
                if value not in getattr(computed, kind):
                    yield (
                        f"{place}.{where} is {value!r}, which experiments.{experiment} does "
                        f"not compute; it must be one of {', '.join(getattr(computed, kind))}"
                    )
            quantities.add(entry.curves[curve].quantity)
            xs.add((computed.x or entry.x).name)
        for what, found in (("quantities", quantities), ("axes", xs)):
            if len(found) > 1:
                yield f"{place} draws curves of several {what}: {', '.join(sorted(found))}"
        transform = figure.transform or entry.style.transform
        if transform != "none" and quantities == {"delta"}:
            yield f"{place}.transform is {transform!r}; for curves of delta it must be none"
        if figure.ratio is not None:
            yield from _ratio_faults(place, figure)


def _shown_faults(place: str, figure: FigureEntry) -> Iterator[str]:
    """A figure shows a grid, lines, or a table, and only one of them."""
    grid = [key for key in ("experiments", "curves") if getattr(figure, key) is not None]
    others = [key for key in ("lines", "table") if getattr(figure, key) is not None]
    if (len(grid), len(others)) not in ((2, 0), (0, 1)):
        has = ", ".join([*grid, *others]) or "none of them"
        yield f"{place} must have either experiments and curves, or lines, or a table, got {has}"
    if figure.table is None and figure.regimes is None:
        yield f"{place}.regimes is missing; it must be a list that is not empty"
    if figure.is_map and figure.ratio is None:
        yield f"{place}.ratio is missing; a map shows what is divided by a curve"
    for key in ("regimes", "ratio", "transform", "goal"):
        if figure.table is not None and getattr(figure, key) is not None:
            yield f"{place}.{key} is only valid for a figure of curves, and this is one of a table"


def _ratio_faults(place: str, figure: FigureEntry) -> Iterator[str]:
    """Each of several experiments has its own divisor."""
    is_grid = len(figure.experiments or ()) > 1
    if figure.ratio is not None and is_grid != (figure.ratio.experiment is None):
        what = "left out" if is_grid else "given"
        where = "several experiments" if is_grid else "a single experiment"
        yield f"{place}.ratio.experiment must be {what} where a figure has {where}"


def _drawn(figure: FigureEntry) -> Iterator[tuple[Callable[[str], str], str, str]]:
    """Experiment and curve of every line, and where either stands in the figure's entry."""
    for i, line in enumerate(figure.lines or ()):
        yield partial("lines[{}].{}".format, i), line.experiment, line.curve
    for i, experiment in enumerate(figure.experiments or ()):
        for key, curves in (("curves", figure.curves), ("ratio.curves", _divided(figure))):
            for j, curve in enumerate(curves or ()):
                place = {"experiment": f"experiments[{i}]", "curve": f"{key}[{j}]"}
                yield place.__getitem__, experiment, curve
    if figure.ratio is not None:
        of = figure.ratio.experiment
        for experiment in figure.experiments or () if of is None else [of]:
            yield "ratio.{}".format, experiment, figure.ratio.curve


def _divided(figure: FigureEntry) -> tuple[str, ...]:
    """What the ratios of a figure are of, where that is not all that it shows."""
    return (figure.ratio.curves or ()) if figure.ratio else ()


def style_faults(entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the style of a paper."""
    for key in ("experiments", "curves"):
        style, known = getattr(entry.style, key), getattr(entry, key)
        for name in style:
            # What has no name like it may be left from an entry that was taken out.
            if name not in known and (hint := suggestion(name, known)):
                yield (
                    f"style.{key}.{name} is the style of nothing{hint}; "
                    f"{key} are {', '.join(known)}"
                )


# Checks of the mechanisms of a paper: their parameters, and what they are composed of.

# In one composition, however deep.
_MOST_MECHANISMS = 1000


def mechanism_faults(entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the mechanisms of a paper."""
    mechanisms = entry.mechanisms
    for name, mechanism in mechanisms.items():
        place = f"mechanisms.{name}"
        if "type" not in mechanism:
            yield f"{place}.type is missing; it must be text"
        yield from unknown(f"{place}.type", mechanism["type"], registry.types())
        for key, part in _named_parts(mechanism):
            yield from unknown(f"{place}.{key}", part, mechanisms)
    sizes: dict[str, int] = {}
    for name in mechanisms:
        if (size := _size(mechanisms, name, (), sizes)) > _MOST_MECHANISMS:
            yield (
                f"mechanisms.{name} is made of {size - 1} mechanisms, counting repetitions; "
                f"it must be at most {_MOST_MECHANISMS - 1}"
            )
    # A mistake of a part is told where it is, not where the part is used.
    for name in sorted(mechanisms, key=lambda name: mechanisms[name]["type"] in COMPOSITIONS):
        written_out = plan.written_out(entry, name)
        levels = [regime.eps0 for regime in entry.regimes.values() if regime.eps0 is not None]
        try:
            parsed = registry.parse(written_out)
            # Those of protocols may depend on more, and are checked where curves use them.
            for eps0 in (levels or [1.0]) if parsed.needs == ("eps0",) else []:
                parsed.protocol(Setting(eps0=eps0))
        except ValueError as error:
            yield _about(f"mechanisms.{name}", written_out, error)
            continue
        for key, value in written_out.items():
            # Which protocols would take for granted that they can be told apart.
            if written_out["type"] in registry.PROTOCOLS and isinstance(value, Mapping | list):
                yield f"mechanisms.{name}.{key} is {shown(value)}; it must be a number or text"
        for file in parsed.files:
            if set("{}") & set(file):
                yield (
                    f"mechanisms.{name}.file is {file!r}; it must have no braces, which Snakemake "
                    "takes for a wildcard"
                )


def _named_parts(mechanism: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names that a composition refers to, with their places in it."""
    if mechanism["type"] in COMPOSITIONS:
        if "mechanism" in mechanism:
            yield "mechanism", mechanism["mechanism"]
        parts = mechanism.get("parts")
        for i, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, Mapping) and "mechanism" in part:
                yield f"parts[{i}].mechanism", part["mechanism"]


def _size(
    mechanisms: Mapping[str, Mapping[str, Any]],
    name: str,
    path: tuple[str, ...],
    known: dict[str, int],
) -> int:
    """How many mechanisms `name` makes, itself included, without writing them out.

    Raises ValueError where it leads back to itself, or to a part on the `path` to it.
    """
    if name in path:
        circle = " > ".join([*path[path.index(name) :], name])
        raise ValueError(f"mechanisms.{name} contains itself ({circle}); a composition must not")
    if name not in known:
        parts = (part for _, part in _named_parts(mechanisms[name]))
        known[name] = 1 + sum(_size(mechanisms, part, (*path, name), known) for part in parts)
    return known[name]


def _about(place: str, described: Mapping[str, Any], error: ValueError) -> str:
    """A sentence of the library with its place in the file before it."""
    subject = str(error).partition(" ")[0]
    sentence = str(error)
    of_it = subject.partition("[")[0] in described or " is not a parameter " in sentence
    return f"{place}{'.' if of_it or ' is missing' in sentence else ': '}{sentence}"


def _name_faults(entry: PaperEntry) -> Iterator[str]:
    for section in ("experiments", "regimes", "curves", "figures", "tables"):
        spellings: dict[str, str] = {}
        for name in getattr(entry, section):
            other = spellings.setdefault(name.lower(), name)
            if other != name:
                yield (
                    f"{section}: {other} and {name} differ in case alone; on many disks they would "
                    "be the same file"
                )


def _curve_faults(entry: PaperEntry) -> Iterator[str]:
    for name, curve in entry.curves.items():
        place = f"curves.{name}"
        yield from unknown(f"{place}.bound", curve.bound, BOUNDS)
        allowed = BOUNDS[curve.bound].quantities
        if curve.quantity not in allowed:
            yield (
                f"{place}.quantity is {curve.quantity!r}; for the bound {curve.bound} it must be "
                f"one of {', '.join(allowed)}"
            )


def _experiment_faults(entry: PaperEntry) -> Iterator[str]:
    for name, experiment in entry.experiments.items():
        place = f"experiments.{name}"
        yield from unknown(f"{place}.mechanism", experiment.mechanism, entry.mechanisms)
        yield from unknown(f"{place}.regimes", experiment.regimes, entry.regimes)
        yield from unknown(f"{place}.curves", experiment.curves, entry.curves)


def _require_computable(curves: Mapping[CurveName, Specification]) -> None:
    # What is computed for the mechanism covers bounds that look at its eps0 alone.
    ordered = sorted(curves, key=lambda name: not curves[name].bound.knows_mechanism)
    tried: dict[object, InfeasibleError | None] = {}
    seen: set[object] = set()
    for name in ordered:
        wanted = curves[name]
        # What decides whether it can be computed; most curves share it with others.
        key = wanted.reports, wanted.setting, wanted.axis, wanted.distance
        if key not in seen:
            seen.add(key)
            try:
                wanted.check(tried)
            except ValueError as error:
                raise ValueError(plan.place(name, error)) from None


def _table_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    kinds = research(paper).tables
    for name, given in entry.tables.items():
        place = f"tables.{name}"
        if "kind" not in given:
            yield f"{place}.kind is missing; it must be one of {', '.join(kinds) or 'none'}"
        yield from unknown(f"{place}.kind", given["kind"], kinds)
        kind = kinds[given["kind"]]
        content = {key: value for key, value in given.items() if key != "kind"}
        try:
            parameters = plan.table_kind(paper, given)
        except ValidationError as error:
            yield from sentences(error, kind, content, place)
            continue
        for key in ("mechanism", "mechanisms"):
            yield from unknown(f"{place}.{key}", getattr(parameters, key, ()), entry.mechanisms)
        for mechanism in parameters.named():
            yield from _unbuilt(place, entry, mechanism, content.get("eps0", 1.0))


def _unbuilt(place: str, entry: PaperEntry, mechanism: str, given: Any) -> Iterator[str]:
    parsed = description.parse(plan.written_out(entry, mechanism))
    for eps0 in given if isinstance(given, list) else [given]:
        try:
            parsed.randomizer(eps0)
        except ValueError as error:
            yield f"{place}: mechanism {mechanism} at eps0 = {eps0}: {error}"


def _claim_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    known = research(paper).claims
    for claim, figures in entry.claims.items():
        if claim not in known:
            yield (
                f"claims.{claim} is not a claim of this paper{suggestion(claim, known)}; "
                f"its claims are {', '.join(known) or 'none'}"
            )
        drawn = [name for name, figure in entry.figures.items() if figure.table is None]
        yield from unknown(f"claims.{claim}", figures, drawn)


# Texts that people read: can figures and the report show them?
#
# A text that cannot be drawn must be found before the curves are computed, and no text may become a
# part of the report's own page.

# Characters that figures can show for sure, among those of our own texts.
_COMMON = frozenset("ε₀δγωβλ∞→×·−–—…≤≥⌈⌉⌊⌋′⁰²³⁴⁵⁶⁸⁹⁻äöüéõÄÖÜÕ“”‘’")
# What a browser takes for a tag, wherever in the report's page the text ends up.
_TAG = re.compile(r"<[A-Za-z/!?]")


def _text_faults(content: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the texts of a paper's configuration."""
    for place, key, text in _texts(content):
        if not text.isprintable():
            yield f"{place} is {text!r}; it must be a single line of printable characters"
        if tag := _TAG.search(text):
            yield f"{place} holds {tag[0]!r}, which begins an HTML tag; put a blank after the <"
        if key != "caption" and place != "title":
            yield from _formula_faults(place, text)
        if key in ("title", "source") and set("{}") & set(plain(text)):
            yield (
                f"{place} is {text!r}; outside formulas it must have no braces, which the report "
                "of Snakemake takes for a wildcard"
            )
        in_legend = place.startswith("style.curves.") or (
            key == "label" and not place.startswith("regimes.") and ".ratio." not in place
        )
        if in_legend and text.startswith("_"):
            yield f"{place} is {text!r}; it must not begin with _, which hides it from the legend"


def _texts(node: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Every text that people read: where it stands, its key, and itself."""
    if isinstance(node, list):
        for i, one in enumerate(node):
            yield from _texts(one, f"{place}[{i}]")
    for key, value in node.items() if isinstance(node, Mapping) else ():
        here = f"{place}.{key}".lstrip(".")
        named = place in ("style.experiments", "style.curves")
        if key in ("title", "source", "caption", "label") or named:
            yield here, key, value
        else:
            yield from _texts(value, here)


@cache
def _has_glyph(character: str) -> bool:
    """Whether figures can show a character: DejaVu Sans, which Matplotlib brings along."""
    if character.isascii() or character in _COMMON:
        return True
    # Only here, since it takes a second to load.
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    font = FT2Font(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    return bool(font.get_char_index(ord(character)))


def _formula_faults(place: str, text: str) -> Iterator[str]:
    if not text.isascii() and (absent := [c for c in text if not _has_glyph(c)]):
        yield f"{place} is {text!r}; the font of the figures has no character {absent[0]!r}"
    signs = text.count("$") - text.count(r"\$")
    if signs % 2:
        yield rf"{place} is {text!r}, with a $ too few or too many; for the sign itself write \$"
    elif signs:
        # Only here, since it takes a second to load.
        from matplotlib.mathtext import MathTextParser

        try:
            MathTextParser("path").parse(text)
        except (ValueError, RecursionError):
            yield f"{place} is {text!r}, with a formula that Matplotlib cannot draw"
