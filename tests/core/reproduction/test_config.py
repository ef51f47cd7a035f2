"""Mistakes in configurations: each is told in one sentence with the file, the place, the value and
what is allowed.

Every case edits the text of a good configuration, as a user would.
"""

import json
from collections.abc import Iterator

import pytest
from small_paper import PAPER, content, edited, mistake, our_own, refusal, table

from reproduction.configuration import checks
from reproduction.configuration.models import PaperEntry, RootEntry, schema
from reproduction.configuration.sentences import ConfigError
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core import validation
from shufflebounds.core.setting import Axis, Grid, Setting
from shufflebounds.curves.plotting.layout import Print
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry
from shufflebounds.protocols.registry import ReportDescription
from shufflebounds.randomizers.description import Mechanism


@pytest.mark.parametrize("made", [content(), our_own()], ids=["small", "ours"])
def test_good_configurations_pass(made):
    assert list(checks.make_plan(made).papers) == made["papers"]


# What a text is replaced with, and below it what is said; of the paper's file if none is named.
MISTAKES = """\
- \\n  rtol: -> \\n  r_tol:
    config.yaml: numerics: r_tol is not a known key (did you mean rtol?); the keys here are rtol
- \\n  rtol: 1.0e-3 -> \\n  rtol:
    config.yaml: numerics: rtol is empty; give it a value or leave it out
- eps0: 0.5 -> eps0: -1
    regimes.low.eps0 must be a finite number with 0 < eps0 <= 300, got -1
- delta: 1.0e-6 -> delta: 1
    setting.delta must be a finite number with 1e-300 <= delta < 1, got 1; {over_n: c} stands for
    c/n
- delta: 1.0e-6 -> delta: 1e-6
    setting.delta must be a finite number with 1e-300 <= delta < 1, got '1e-6'; {over_n: c} stands
    for c/n (YAML reads 1e-6 as text; write 1.0e-06)
- {type: krr, k: 10} -> {type: kr, k: 10}
    mechanisms.krr10.type is 'kr' (did you mean krr?); it must be one of <types>
- {type: krr, k: 10} -> {k: 10}
    mechanisms.krr10.type is missing
-     regimes: [low]\\n ->
    figures.fig: regimes is missing
- joint2: {bound: blanket, k_joint: 2} -> 2-joint: {bound: blanket, k_joint: 2}
    curves.2-joint is not a valid name; it must be a letter, then at most 63 letters, digits, _ or -
- regimes: [low], curves: [bennett, clone, upper]} \
-> regimes: [slow], curves: [bennett, clone, upper]}
    experiments.blh.regimes[0] is 'slow' (did you mean low?); it must be one of low, large
- curves: [bennett, clone, upper]} -> curves: []}
    experiments.blh.curves is []; it must be a list or mapping that is not empty
-     curves: [bennett, clone, upper]\\n ->     curves: [lower]\\n
    figures.fig draws curve lower, which experiments.blh does not compute; it computes bennett,
    clone, upper
- clone: clone -> colne: clone
    style.curves.colne is the style of nothing (did you mean clone?); curves are bennett, clone,
    upper, lower, joint2
- papers: [su2026] -> papers: [su2026, su2026]
    config.yaml: papers: 'su2026' is listed twice; the entries must be distinct
- papers: [su2026]\\n -> papers: [su2026]\\nsu2025: {}\\n
    config.yaml: su2025 is not a known key; the keys here are papers, numerics, formats
- title: A small paper\\n ->
    title is missing
- setting: {delta: 1.0e-6}\\n ->
    experiments.krr10: curve bennett in regime low: delta is missing; it must be in regimes.low,
    experiments.krr10.setting or setting
- {delta: 1.0e-6} -> {delta: {over_n: 1000.0}}
    experiments.krr10: curve bennett in regime low: delta must be a finite number with 1e-300 <=
    delta < 1, got 10.0, which is 1000.0/n at n = 100
- {delta: 1.0e-6} -> [0.1]
    setting is [0.1]; it must be a mapping
- x: {n: {start: 100, stop: 1000, points: 3}} -> x:
    x is empty; give it a value or leave it out
- bennett: {bound: blanket_bennett} -> bennett: {bound: erlingsson, quantity: delta}
    curves.bennett: quantity is 'delta'; for the bound erlingsson it must be one of epsilon
"""


@pytest.mark.parametrize(("edit", "sentence"), table(MISTAKES))
def test_a_mistake_is_told_in_one_sentence(edit, sentence):
    old, _, new = edit.replace("\\n", "\n").partition(" ->")
    lists = {"types": registry.sent_types(), "bounds": BOUNDS, "keys": PaperEntry.model_fields}
    for name, listed in lists.items():
        sentence = sentence.replace(f"<{name}>", ", ".join(listed))
    named = sentence.startswith("config")
    assert refusal(edited(old, new.removeprefix(" "))) == (
        sentence if named else f"config/{PAPER}.yaml: {sentence}"
    )


def test_the_first_mistake_is_told_where_there_are_several():
    made = content()
    made["numerics"]["rtol"] = "none"
    made[PAPER]["setting"]["delta"] = 2
    assert mistake(made, "config.yaml").startswith("numerics.rtol must be a finite number")
    made["numerics"]["rtol"] = 1e-3
    made[PAPER]["x"] = {}
    assert mistake(made).startswith("setting.delta must be a finite number")


@pytest.mark.parametrize(
    ("papers", "sentence"),
    [
        ("su2026", "papers is 'su2026'; it must be a list that is not empty"),
        (
            ["../x"],
            "papers[0] is '../x'; it must be a letter, then at most 63 letters, digits, _ or -",
        ),
    ],
)
def test_papers_are_a_list_of_names(papers, sentence):
    assert refusal({"papers": papers}) == f"config.yaml: {sentence}"


def test_a_missing_file_is_told():
    assert refusal({"papers": ["gap"]}) == (
        "config/gap.yaml is missing or empty, but papers names gap"
    )


@pytest.mark.parametrize("paper", [[], "text", 5, True])
def test_a_file_without_keys_is_told(paper):
    assert mistake(content() | {PAPER: paper}) == f"the file is {paper!r}; it must be a mapping"


def test_what_the_command_line_changed_is_told_with_the_mistake():
    """Snakemake takes every value within --config for text."""
    made = content()
    made["numerics"]["rtol"] = "1e-3"
    with pytest.raises(ConfigError) as caught:
        checks.make_plan(made, " with the command line")
    assert str(caught.value) == (
        "config.yaml with the command line: numerics.rtol must be a finite number with 1e-09 "
        "<= rtol <= 0.1, got '1e-3' (YAML reads 1e-3 as text; write 0.001); --config gives texts "
        "only, so use --configfile"
    )


def fragments(schema: dict, path: str = "") -> Iterator[tuple[str, dict]]:
    """Every key that a schema speaks of, with what it says of it."""
    for name, inner in schema.get("$defs", {}).items():
        yield from fragments(inner, name)
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner


@pytest.mark.parametrize("model", [RootEntry, PaperEntry])
def test_the_models_describe_every_key(model):
    found = dict(fragments(json.loads(schema(model))))
    assert len(found) > 3
    assert [path for path, inner in found.items() if "description" not in inner] == []


def test_the_models_allow_what_the_library_allows():
    schema = PaperEntry.model_json_schema()["$defs"]["SettingEntry"]["properties"]
    limits = {
        "n": {"minimum": 1, "maximum": validation.MAX_USERS},
        "eps0": {"exclusiveMinimum": 0, "maximum": validation.MAX_EPS0},
        "delta": {"minimum": validation.MIN_DELTA, "exclusiveMaximum": 1},
    }
    for name, wanted in limits.items():
        found = schema[name]
        while "anyOf" in found:
            found = found["anyOf"][0]
        assert {key: found[key] for key in wanted} == wanted
    rtol = RootEntry.model_json_schema()["$defs"]["NumericsEntry"]["properties"]["rtol"]
    for end in (rtol["minimum"], rtol["maximum"]):
        assert validation.rtol(end) == end
        with pytest.raises(ValueError, match="rtol"):
            validation.rtol(end * (0.99 if end < 1e-3 else 1.01))


def test_every_curve_is_planned_once_and_gets_its_own_specification():
    paper = checks.make_plan(content()).papers[PAPER]
    assert list(paper.curves) == [
        *(
            CurveName("krr10", "low", curve)
            for curve in ("bennett", "clone", "upper", "lower", "joint2")
        ),
        *(CurveName("blh", "low", curve) for curve in ("bennett", "clone", "upper")),
    ]
    found = paper.curves[CurveName("krr10", "low", "joint2")]
    assert found == Specification(
        bound=BOUNDS["blanket"],
        reports=ReportDescription(Mechanism("krr", (("k", 10),)), k_joint=2),
        setting=Setting(eps0=0.5, delta=1e-6),
        axis=Axis("n", Grid(100, 1000, 3)),
        numerics=Numerics(1e-3),
    )
    assert found.plain() == {
        "quantity": "epsilon",
        "bound": "blanket",
        "mechanism": {"type": "krr", "k": 10},
        "k_joint": 2,
        "eps0": 0.5,
        "delta": 1e-6,
        "x": {"n": {"start": 100, "stop": 1000, "points": 3}},
        "rtol": 1e-3,
    }


def test_closed_forms_do_not_depend_on_the_width():
    made = content()
    name = CurveName("blh", "low", "bennett")
    before = checks.make_plan(made).papers[PAPER].curves[name]
    made["numerics"] = {"rtol": 1e-2}
    after = checks.make_plan(made).papers[PAPER].curves[name]
    assert "rtol" not in before.plain()
    assert before.digest == after.digest


def test_settings_come_from_the_nearest():
    """The paper's own count least, then the experiment's, then the regime's."""
    made = content()
    paper = made[PAPER]
    paper["experiments"]["blh"] |= {"setting": {"delta": 1e-8, "eps0": 9.0}, "x": {"n": [5, 7]}}
    paper["regimes"]["large"]["delta"] = 1e-9
    paper["experiments"]["blh"]["regimes"] = ["low", "large"]
    curves = checks.make_plan(made).papers[PAPER].curves
    deltas = {
        (name.experiment, name.regime): (one.setting.delta, one.setting.eps0, one.axis.values)
        for name, one in curves.items()
    }
    assert deltas == {
        ("krr10", "low"): (1e-6, 0.5, (100, 316, 1000)),
        ("blh", "low"): (1e-8, 0.5, (5, 7)),
        ("blh", "large"): (1e-9, 2.0, (5, 7)),
    }


def test_the_style_of_what_was_taken_out_may_stay():
    made = edited(
        "experiments: {krr10: 10-RR, blh: BLH}", "experiments: {krr10: 10-RR, blh: BLH, oue: OUE}"
    )
    checks.make_plan(made)


def test_one_paper_is_planned_alike_alone():
    made = our_own()
    assert checks.make_plan(made, only="gap").papers == {
        "gap": checks.make_plan(made).papers["gap"]
    }


def test_only_a_paper_with_tables_needs_no_experiments():
    tables = {"title": "Tables", "tables": {"noise": {"kind": "allocations"}}}
    assert PaperEntry.model_validate(tables).experiments == {}
    with pytest.raises(ValueError, match="x is missing"):
        PaperEntry.model_validate({"title": "Nothing"})
    experiment = {"mechanism": "krr", "regimes": ["low"], "curves": ["blanket"]}
    entry = tables | {"x": {"n": [10]}, "experiments": {"krr": experiment}}
    with pytest.raises(ValueError, match="regimes is missing"):
        PaperEntry.model_validate(entry)


def test_widths_and_fonts_of_figures_redraw_them_alone():
    usual, other = content(), content()
    style = {"column_width": 4.0, "fonts": ["DejaVu Serif"]}
    other[PAPER]["style"] = {**other[PAPER].get("style", {}), **style}
    before, after = (checks.make_plan(x).papers[PAPER] for x in (usual, other))
    assert after.style == Print(4.0, 7.16, ("DejaVu Serif",))
    assert before.curves == after.curves
    assert all(before.figure_digest(x) != after.figure_digest(x) for x in before.figures)
    assert before.figure_digest("fig") == before.figures["fig"].digest
