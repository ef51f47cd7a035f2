"""What figures say of their lines and panels, from the configuration."""

import copy
import re
from dataclasses import dataclass
from textwrap import dedent

import pytest
import yaml
from repository import ROOT

import shufflebounds as sb
from reproduction.configuration import checks
from reproduction.configuration.sentences import ConfigError
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.randomizers import registry


def config(**changes):
    paper = {
        "title": "A paper",
        "setting": {"delta": 1e-6},
        "x": {"n": [1000, 2000]},
        "regimes": {"low": {"eps0": 0.1, "label": "low"}, "large": {"eps0": 4.0}},
        "mechanisms": {
            "krr": {"type": "krr", "k": 10},
            "blh": {"type": "blh"},
            "both": {
                "type": "joint",
                "parts": [{"mechanism": "krr"}, {"mechanism": "blh"}],
            },
        },
        "curves": {
            "clone": {"bound": "clone"},
            "upper": {"bound": "blanket"},
            "lower": {"bound": "lower"},
            "joint": {"bound": "blanket", "k_joint": 4},
            "joint_lower": {"bound": "lower", "k_joint": 4},
            "near": {"bound": "blanket", "k_joint": 4, "distance": 1},
        },
        "experiments": {
            name: {
                "mechanism": name,
                "regimes": ["low", "large"],
                "curves": ["clone", "upper", "lower", "joint", "joint_lower", "near"],
            }
            for name in ("krr", "blh")
        },
    }
    return {"papers": ["su2026"], "su2026": copy.deepcopy(paper | changes)}


def layout(figure, **changes):
    figure = {"title": "A figure", "caption": "Its caption.", "regimes": ["low"], **figure}
    content = config(**changes)
    content["su2026"]["figures"] = {"fig": figure}
    return checks.make_plan(content).papers["su2026"].figures["fig"]


def lines(*pairs, **look):
    return {"lines": [{"experiment": name, "curve": curve, **look} for name, curve in pairs]}


def labels(figure, **changes):
    return [line.label for line in layout(figure, **changes).lines]


def grid(*curves, experiments=("krr",)):
    return {"experiments": list(experiments), "curves": list(curves)}


def test_single_reports_are_told_from_joint_ones_where_both_are_drawn():
    shown = "clone", "upper", "lower", "joint"
    assert labels(grid(*shown)) == [
        "clone",
        "blanket, single report",
        "lower bound, single report",
        "blanket, 4-joint",
    ]
    assert labels(grid("upper", "lower")) == ["blanket", "lower bound"]


def test_mechanisms_of_other_packages_are_told_apart(monkeypatch):
    """They have no looks of their own. Neither do new bounds."""
    monkeypatch.setattr(registry, "_registered", {})
    mechanisms = {"krr": {"type": "krr", "k": 10}, "blh": {"type": "blh"}}
    for name in ("one", "two"):
        own = dataclass(frozen=True)(type(name, (sb.RAPPOR,), {"__annotations__": {}}))
        registry.register(name, own)
        mechanisms[name] = {"type": name}
    parts = {"mechanisms": mechanisms, "curves": {"upper": {"bound": "blanket"}}}
    parts["experiments"] = {
        name: {"mechanism": name, "regimes": ["low"], "curves": ["upper"]} for name in mechanisms
    }
    names = ("one", "krr", "two", "blh")
    drawn = layout(lines(*((name, "upper") for name in names)), **parts)
    looks = [line.look for line in drawn.lines]
    assert len({look.color for look in looks}) == 4
    assert looks[0].marker != looks[2].marker
    assert looks[1] == line_look("blanket", "krr")


@pytest.mark.parametrize("order", [("upper", "best"), ("best", "upper")])
def test_two_bounds_of_one_mechanism_are_told_apart_by_more_than_a_width(order):
    parts = {"curves": {"upper": {"bound": "blanket"}, "best": {"bound": "best"}}}
    parts["experiments"] = {
        name: {"mechanism": name, "regimes": ["low"], "curves": list(order)}
        for name in ("krr", "blh")
    }
    figure = lines(*(("krr", name) for name in order), ("blh", "upper"))
    shown = [*layout(figure, **parts).lines]
    assert [line.label.partition(":")[0] for line in shown] == ["10-RR", "10-RR", "BLH"]
    looks = {(line.look.color, line.look.dashes, line.look.marker) for line in shown}
    assert len(looks) == 3
    assert shown[0].look == line_look(parts["curves"][order[0]]["bound"], "krr")


def test_the_worked_example_of_the_documentation_adds_a_curve():
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    example = page.partition("### Example: add a curve to a figure\n")[2]
    curve, oue, ratio = re.findall(r"```yaml\n(.*?)\n +```", example, re.DOTALL)[:3]
    text = (ROOT / "config" / "su2026.yaml").read_text(encoding="utf-8")
    text = text.replace("\ncurves:\n", f"\n{dedent(curve)}\n", 1)
    for name in ("oue", "laplace"):
        [line] = re.findall(rf"^  {name}: {{<<: \*all, .*$", text, re.MULTILINE)
        text = text.replace(line, f"  {oue.strip().replace('oue', name)}")
    above, figure, below = text.partition("  fig3:\n")
    text = above + figure + below.replace("    ratio: *nearest", f"    {ratio.strip()}", 1)
    content = {"papers": ["su2026"], "su2026": yaml.safe_load(text)}
    drawn = checks.make_plan(content).papers["su2026"].figures["fig3"]
    assert sum(name.curve == "best" for name in drawn.curves) == 4


def test_panels_name_the_mechanism_and_how_many_reports_all_lines_are_of():
    mixed = layout(grid("upper", "joint", experiments=["krr", "blh"]))
    assert [panel.subject for panel in mixed.panels[0]] == ["10-RR", "BLH"]
    joint = layout(lines(("krr", "joint")) | {"regimes": ["low", "large"]})
    assert [panel.subject for panel in joint.panels[0]] == ["4-joint of 10-RR"] * 2


def test_lines_of_several_mechanisms_name_them_unless_the_bound_ignores_them():
    figure = lines(("krr", "clone"), ("krr", "upper"), ("blh", "upper"))
    assert labels(figure) == ["clone", "10-RR: blanket", "BLH: blanket"]
    assert layout(figure).panels[0][0].subject == ""


@pytest.mark.parametrize(("share", "text"), [(0.01, "0.01"), (1, "1")])
def test_a_delta_that_depends_on_n_is_told_as_such(share, text):
    found = layout(grid("upper"), setting={"delta": {"over_n": share}})
    delta = rf"$\delta$ = ${text}/n$"
    assert found.panels[0][0].setting == (r"low $\varepsilon_0$ = 0.1", delta)


def test_lines_tell_the_settings_that_they_do_not_share():
    known = config()["su2026"]["experiments"]
    stricter = {**known["krr"], "setting": {"delta": 1e-8}}
    figure = lines(("krr", "upper"), ("strict", "upper"))
    found = layout(figure, experiments={**known, "strict": stricter})
    assert [line.label for line in found.lines] == [
        r"blanket, $\delta$ = $10^{-6}$",
        r"blanket, $\delta$ = $10^{-8}$",
    ]
    assert found.panels[0][0].subject == "10-RR"
    assert found.panels[0][0].setting == (r"low $\varepsilon_0$ = 0.1",)


def test_ratios_are_called_like_the_line_that_others_are_divided_by():
    figure = lines(("krr", "upper"), ("blh", "upper")) | {"regimes": ["low", "large"]}
    found = layout(figure | {"ratio": {"experiment": "blh", "curve": "upper"}})
    divisors = [str(panel.divisor) for panel in found.panels[1]]
    assert divisors == ["blh/low/upper", "blh/large/upper"]
    assert (found.divisor, found.limits) == ("BLH: blanket", None)
    worded = lines(("krr", "upper"), label="mine")
    reference = {"experiment": "krr", "curve": "upper"}
    assert layout(worded | {"ratio": reference}).divisor == "mine"
    reference |= {"label": "ours", "limits": [0.5, 2]}
    found = layout(worded | {"ratio": reference})
    assert (found.divisor, found.limits) == ("ours", (0.5, 2.0))
    reference = {"experiment": "blh", "curve": "lower"}
    assert layout(worded | {"ratio": reference}).divisor == "BLH: lower bound"


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ([1], r"\[1\] is missing"),
        ([1, 2, 3], r" is \[1, 2, 3\]; it must be a list of at most 2 entries"),
        ([2, 1], r": the smaller one of two limits comes first, got \[2.0, 1.0\]"),
    ],
)
def test_limits_are_two_ends(limits, words):
    ratio = {"experiment": "krr", "curve": "upper", "limits": limits}
    with pytest.raises(ConfigError, match=f"figures.fig.ratio.limits{words}$"):
        layout(lines(("krr", "upper")) | {"ratio": ratio})
