import itertools
from functools import cache

import numpy as np
import pytest
import yaml
from matplotlib.colors import to_rgb
from repository import ROOT

from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.protocols.registry import PROTOCOLS, Messages
from shufflebounds.randomizers.registry import mechanism_names
from shufflebounds.reproduce.configuration import checks

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
    return checks.checked(CONFIG).papers


def lightness(color):
    """Relative luminance, 0 (black) to 1, of what a greyscale printer makes of a colour."""
    return float(np.dot(to_rgb(color), [0.299, 0.587, 0.114]))


@each_layout
def test_lines_drawn_together_differ_in_greyscale(paper, name):
    looks = {line.label: line for line in papers()[paper].figures[name].lines}
    for one, other in itertools.combinations(looks.values(), 2):
        if (one.style, one.marker) == (other.style, other.marker):
            thin, thick = sorted([one, other], key=lambda look: look.width)
            assert thick.width > 2 * thin.width
            assert lightness(thick.color) - lightness(thin.color) > 0.4
    assert max(lightness(look.color) for look in looks.values()) < 0.8


@pytest.mark.parametrize("paper", CONFIG["papers"])
def test_kinds_of_curves_have_their_kinds_of_lines(paper):
    for curve, look in CONFIG[paper].get("style", {}).get("curves", {}).items():
        entry = CONFIG[paper]["curves"][curve]
        if entry.get("k_joint", 1) > 1:
            expected = "dashdot"
        else:
            expected = "solid" if entry["bound"] in ("upper", "lower") else "dashed"
        unproven = BOUNDS[entry["bound"]].kind is Kind.UNPROVEN
        # What is not proven is drawn dotted in any case.
        assert look["line"] == expected or (unproven and look["line"] == "dotted")


@each_layout
def test_only_what_is_not_proven_is_dotted(paper, name):
    for line in papers()[paper].figures[name].lines:
        if line.style == "dotted":
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
                        assert f"${symbol}$ = " in panel.setting
                if not panel.subject and curve.bound.knows_mechanism:
                    if isinstance(curve.reports, Messages):
                        # Lines name what is calibrated.
                        own = PROTOCOLS[curve.reports.type].label
                        assert own in layout.title.lower() or own == "calibrated"
                        continue
                    own = curve.reports.mechanism.randomizer(1.0).label
                    assert own in line.label or line.label == "lower bound of each"


def test_captions_tell_what_a_bound_at_eps0_means():
    figures = CONFIG["su2026"]["figures"]
    for name in ("fig2", "fig3", "fig4", "fig5", "hadamard", "mixed"):
        assert "bound that comes out at ε₀ proves no amplification" in figures[name]["caption"]


def test_every_mechanism_that_ships_is_drawn():
    paper = papers()["mechanisms"]
    drawn = {paper.curves[name].reports.mechanism.type for name in paper.figures["all"].curves}
    # A matrix is what its file says.
    assert drawn == set(mechanism_names()) - {"matrix"}
