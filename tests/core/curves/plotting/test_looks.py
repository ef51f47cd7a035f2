import copy
import itertools
import re
from functools import cache

import numpy as np
import pytest
import yaml
from matplotlib.colors import to_rgb
from PIL import Image
from repository import ROOT

from reproduction.configuration import checks
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.curves import curve
from shufflebounds.curves.plotting import looks as looks_module
from shufflebounds.curves.plotting.looks import (
    BOUND_LOOKS,
    INK,
    MAP_COLOR,
    MECHANISM_LOOKS,
    line_look,
    mechanism_look,
)
from shufflebounds.curves.plotting.sheets import SMALLEST_DELTA
from shufflebounds.protocols.registry import PROTOCOLS, ProtocolDescription
from shufflebounds.randomizers.registry import mechanism_names

CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
CONFIG |= {
    name: yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8"))
    for name in CONFIG["papers"]
}
LAYOUTS = [
    (paper, name)
    for paper in CONFIG["papers"]
    for name, figure in CONFIG[paper].get("figures", {}).items()
    if "table" not in figure
]
each_layout = pytest.mark.parametrize(("paper", "name"), LAYOUTS)


@cache
def papers():
    """All of them, checked: not while tests are collected, it takes seconds."""
    return checks.make_plan(CONFIG).papers


# What people with each deficiency see of linear RGB (Machado, Oliveira and Fernandes, 2009), at
# full severity.
DEFICIENCIES = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
    "none": np.eye(3),
}
TO_XYZ = [
    [0.4124, 0.3576, 0.1805],
    [0.2126, 0.7152, 0.0722],
    [0.0193, 0.1192, 0.9505],
]


def linear(color):
    """Linear RGB of a colour."""
    encoded = np.array(to_rgb(color))
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def lab(color, deficiency):
    """CIELAB of a colour as people with a deficiency see it."""
    seen = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear(color), 0.0, 1.0)
    f = np.cbrt(np.maximum(TO_XYZ @ seen / np.sum(TO_XYZ, axis=1), 1e-6))
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


def distance(first, second, deficiency):
    return np.linalg.norm(lab(first.color, deficiency) - lab(second.color, deficiency))


def contrast(color, background="#ffffff"):
    """The ratio of luminances of the Web Content Accessibility Guidelines."""
    above, below = (float(np.dot(DEFICIENCIES["grey"][0], linear(c))) for c in (background, color))
    return (above + 0.05) / (below + 0.05)


@pytest.mark.parametrize("look", [*BOUND_LOOKS.values(), *MECHANISM_LOOKS.values()])
def test_lines_and_their_names_are_legible_on_white(look):
    """Names have the colour of their line; text needs a contrast of 4.5."""
    assert contrast(look.color) >= 4.5


def test_numbers_stand_out_from_the_darkest_cell_of_a_map():
    assert contrast(INK, MAP_COLOR) >= 4.5


def test_what_has_no_look_of_its_own_is_told_apart():
    """Such as a new bound, or mechanisms of another package."""
    for names in ({"bound": "mine"}, {"bound": "blanket", "mechanism": "mine"}):
        looks = [line_look(**names, variant=variant) for variant in range(6)]
        assert len({look.color for look in looks}) >= 5
        assert len({look.marker for look in looks}) == 6
        assert not {(look.color, look.marker) for look in looks} & {
            (look.color, look.marker) for look in MECHANISM_LOOKS.values()
        }
        assert all(contrast(look.color) >= 4.5 for look in looks)
    assert line_look("mine") not in BOUND_LOOKS.values()


def test_a_new_formula_that_is_not_proven_is_dotted(monkeypatch):
    unproven = next(bound for bound in BOUNDS.values() if bound.kind is Kind.UNPROVEN)
    monkeypatch.setattr(looks_module, "BOUNDS", {**BOUNDS, "mine": unproven})
    assert all(line_look("mine", variant=variant).is_hollow for variant in range(3))


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_bounds_with_the_same_dashes_and_marker_have_distant_colours(deficiency):
    """Errors, which are drawn in colours of mechanisms, are in no figure with other bounds."""
    looks = {k: v for k, v in BOUND_LOOKS.items() if k not in ("estimate_error", "guess")}
    looks = {k: v for k, v in looks.items() if not k.startswith(("curator", "program"))}
    for first, second in itertools.combinations(looks.values(), 2):
        if (first.dashes, first.marker) == (second.dashes, second.marker):
            assert distance(first, second, deficiency) >= 11.0, (first, second)


@pytest.mark.parametrize("deficiency", sorted(DEFICIENCIES.keys() - {"grey"}))
def test_no_colour_of_a_bound_is_near_one_of_a_mechanism(deficiency):
    bounds = {look.color: look for look in BOUND_LOOKS.values()}
    families = {look.color: look for look in (*MECHANISM_LOOKS.values(), mechanism_look("mine"))}
    near = [
        pair
        for pair in itertools.product(bounds, families)
        if distance(bounds[pair[0]], families[pair[1]], deficiency) < 11.0
    ]
    assert not near
    for first, second in itertools.combinations(families.values(), 2):
        assert distance(first, second, "none") >= 22.0, (first, second)


def test_mechanisms_have_markers_that_tell_those_of_a_family_apart():
    looks = list(MECHANISM_LOOKS.values())
    assert len({(look.color, look.marker) for look in looks}) == len(looks)


def drawn_lines():
    for paper, name in LAYOUTS:
        for line in papers()[paper].figures[name].lines:
            yield papers()[paper], line


def test_a_bound_and_a_mechanism_have_one_look_in_all_figures_of_all_papers():
    looks = {}
    for paper, line in drawn_lines():
        curve = paper.curves[line.curve]
        looks.setdefault(curve.bound.name, set()).add((line.look.dashes, line.look.width))
        if not curve.bound.knows_mechanism:
            assert line.look.color == BOUND_LOOKS[curve.bound.name].color
    assert all(len(found) == 1 for found in looks.values())


@pytest.mark.parametrize("folder", ["config", "workflow/reproduction/papers"])
def test_nothing_but_the_language_names_a_colour(folder):
    for file in (ROOT / folder).rglob("*"):
        if file.suffix in (".py", ".yaml"):
            assert not re.search(r"#[0-9a-f]{6}\b", file.read_text(encoding="utf-8")), file


@each_layout
def test_lines_of_a_panel_differ_and_are_few(paper, name):
    layout = papers()[paper].figures[name]
    if layout.is_map:
        return
    for panel in (panel for row in layout.panels for panel in row):
        looks = {line.label: line.look for line in panel.lines}
        assert len(looks) <= 7  # as many as fit in a panel
        assert len(set(looks.values())) == len(looks)


def test_captions_follow_an_edit_of_the_configuration():
    content = copy.deepcopy(CONFIG)
    content["su2026"]["setting"]["delta"] = 3e-7
    assert "3 · 10⁻⁷" in checks.make_plan(content).papers["su2026"].captions["fig6"]
    for paper in CONFIG["papers"]:
        for figure in CONFIG[paper].get("figures", {}).values():
            assert "δ = 10" not in figure["caption"]


# What is numbered, such as a theorem; and numbers as texts write them.
NUMBERED = re.compile(
    r"(Theorem|Corollary|Figure|Section|Algorithm)s? \d+(\.\d+)*((, | and )\d+\.\d+)*"
)
NUMBERS = re.compile(r"(?<!\w)(?:\d{1,3}(?: \d{3})+|10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+|\d+(?:\.\d+)?)")
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
# Numbers of papers' formulas, of levels of 64 and 2048 values, and of the axis of δ.
OTHER_NUMBERS = {
    ("su2026", "algorithm7"): {1200.0},
    ("wang2024", "fig4"): {32.0},
    ("wang2024", "fig5_64"): {6.0},
    ("wang2024", "fig5_2048"): {11.0},
    # 1/(e + 1), and what the released code has in place of it and of ε₀.
    ("wang2025", "fig2"): {0.269, 0.276, 1.92, 3.85},
    ("deployment", "profile"): {SMALLEST_DELTA},
    # What a published program gives, with the setting that it was asked for.
    ("allocation", "noise"): {1.577, 1.637},
    ("allocation", "steps"): {0.8437, 0.8745},
}


def number_in(text):
    if text[2:].translate(RAISED) == text[2:]:
        return float(text.replace(" ", ""))
    return float(f"1e{text[2:].translate(RAISED)}")


def settings_in(entry):
    """Every number of a configuration, but those in texts."""
    if isinstance(entry, dict):
        texts = ("title", "caption", "source", "label")
        for key, value in entry.items():
            yield from () if key in texts else settings_in(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from settings_in(value)
    elif isinstance(entry, int | float) and not isinstance(entry, bool):
        yield float(entry)


@pytest.mark.parametrize("paper", CONFIG["papers"])
def test_titles_and_captions_hold_settings_and_no_results(paper):
    """A result that is typed there would go on to stand there when an edit makes it false.

    Results in titles are checked on the numbers.
    """
    settings = {0.0, 1.0, 2.0, *settings_in(CONFIG[paper])}
    for name, figure in CONFIG[paper].get("figures", {}).items():
        title, caption = (" ".join(figure[key].split()) for key in ("title", "caption"))
        checked = set(map(float, re.findall(r"\d+(?:\.\d+)?", " ".join(figure["holds"]))))
        allowed = settings | OTHER_NUMBERS.get((paper, name), set())
        for text, known in ((title, allowed | checked), (caption, allowed)):
            numbers = {number_in(found[0]) for found in NUMBERS.finditer(NUMBERED.sub("", text))}
            assert numbers <= known, name
            assert "%" not in text, name


def test_every_title_is_checked():
    for paper in papers().values():
        assert {*paper.holds} == {*paper.figures}
        assert all(paper.holds.values())


# How titles call some bounds.
WORDS = {"best proven bound", "stronger clone", "clone", "blanket", "lower bound", "worst dataset"}


@each_layout
def test_titles_name_only_lines_of_every_panel(paper, name):
    layout, curves = papers()[paper].figures[name], papers()[paper].curves
    title = layout.title.lower()
    for word in sorted(WORDS, key=len, reverse=True):
        if not re.search(rf"\b{word}\b", title):
            continue
        title = re.sub(rf"\b{word}\b", "", title)
        for panel in itertools.chain(*layout.panels):
            drawn = [curves[line.curve].bound.label for line in panel.lines]
            # What all others are divided by is the line at 1.
            divisors = [panel.divisor_of(line) for line in panel.lines]
            drawn += [curves[divisor].bound.label for divisor in divisors if divisor]
            drawn += [line.label for line in panel.lines]
            assert any(word in label for label in drawn), (word, drawn)


def test_titles_are_all_different():
    titles = [figure["title"] for p in CONFIG["papers"] for figure in CONFIG[p]["figures"].values()]
    assert len(set(titles)) == len(titles)


@each_layout
def test_only_what_is_not_proven_is_dotted(paper, name):
    for line in papers()[paper].figures[name].lines:
        if line.look.is_hollow:
            assert papers()[paper].curves[line.curve].bound.kind is Kind.UNPROVEN


@each_layout
def test_every_image_names_its_mechanisms_and_settings(paper, name):
    layout = papers()[paper].figures[name]
    for row in layout.panels:
        for panel in row:
            for line in panel.lines:
                curve = papers()[paper].curves[line.curve]
                for key, symbol in {"eps0": r"\varepsilon_0", "delta": r"\delta"}.items():
                    if key in curve.setting.given():
                        assert f"${symbol}$ = " in ", ".join(panel.setting)
                if not panel.subject and curve.bound.knows_mechanism:
                    if isinstance(curve.reports, ProtocolDescription):
                        # Lines name what is calibrated.
                        own = PROTOCOLS[curve.reports.type].label
                        told = f"{layout.title} {layout.source}".lower()
                        assert own in told or own in ("calibrated", "separate histograms")
                        continue
                    own = curve.reports.mechanism.randomizer(1.0).label
                    assert own in line.label or line.label == "lower bound of each" or layout.is_map


def test_captions_tell_what_a_bound_at_eps0_means():
    figures = CONFIG["su2026"]["figures"]
    for name in ("fig2", "fig3", "fig4", "fig5", "hadamard", "mixed"):
        assert "bound that comes out at ε₀ proves no amplification" in figures[name]["caption"]


@pytest.mark.parametrize(
    ("file", "paper", "figure"),
    [("fig2.png", "su2026", "fig2"), ("batch-schemes.png", "allocation", "schemes")],
)
def test_pictures_of_pages_are_figures_of_the_configuration(file, paper, figure):
    with Image.open(ROOT / "docs" / file) as picture:
        assert picture.text["Source"] == papers()[paper].figure_digest(figure)


def test_the_map_of_all_mechanisms_has_a_true_title():
    """At ε₀ = 4, OUE gains most over the stronger clone, and Duchi gains nothing."""
    paper = papers()["mechanisms"]
    ends = {
        name.experiment: curve.compute(name, paper.curves[name]).enclosures
        for name in paper.figures["all"].curves
        if name.regime == "four"
    }
    oue, clone = ends.pop("oue"), ends.pop("clones")
    assert all((oue.upper < other.upper).all() for other in ends.values())
    np.testing.assert_allclose(ends["duchi"].upper, clone.upper, rtol=1e-3)


def test_every_mechanism_that_ships_is_drawn():
    paper = papers()["mechanisms"]
    drawn = {paper.curves[name].reports.mechanism.type for name in paper.figures["all"].curves}
    # A matrix is what its file says. Gaussian noise has no ε₀ that it could share with the others,
    # and a survey has its own.
    others = {"matrix", "gaussian", "survey"}
    # These have the numbers of RAPPOR and BLH, if all buckets are drawn and h is 1.
    others |= {"cms", "hcms", "bloom_rappor", "dbitflip"}
    assert drawn == set(mechanism_names()) - others
