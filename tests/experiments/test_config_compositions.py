"""Mistakes in the compositions, figures, tables and claims of a configuration."""

import copy
import itertools
from pathlib import Path

import pytest
import yaml
from test_config import TINY, mistake

import config_check
import matrix
import schema_check
from shufflebounds.claims import CURVE_CLAIMS

ROOT = Path(__file__).parents[1]


def config(**sections: dict) -> dict:
    """The small configuration with entries added to its sections."""
    made = yaml.safe_load(TINY)
    for section, entries in sections.items():
        made[section] = made.get(section, {}) | entries
    return made


MIX = {
    "type": "parallel",
    "parts": [{"mechanism": "krr10", "weight": 0.25}, {"mechanism": "blh", "weight": 0.75}],
}
PAIR = {"type": "joint", "parts": [{"mechanism": "krr10"}, {"mechanism": "mix"}]}
SOME = {"type": "subsample", "mechanism": "pair", "rate": 0.5}
LINE = {
    "experiment": "krr10",
    "curve": "upper",
    "label": "a",
    "color": "#000000",
    "line": "solid",
}
FIGURE = {"caption": "One.", "regimes": ["low"], "lines": [LINE]}
CDF = {"caption": "L.", "title": "L", "mechanism": "krr10", "eps0": 1.0, "eps": 0.1}
TABLES = {"eps0": [1.0, 4.0], "eps": 0.5, "k": 10, "domain_size": 4}
HIERARCHY = {"mechanisms": ["krr10"], "eps0": [1.0], "n": [100]}
GOOD = {
    "mechanisms": {"mix": MIX, "pair": PAIR, "some": SOME},
    "experiments": {"some": {"mechanism": "some", "regimes": ["low"], "curves": ["upper"]}},
    "figures": {"one": FIGURE},
    "distributions": {"cdf": CDF},
    "tables": TABLES,
    "hierarchy": HIERARCHY,
    "claims": {"improvement": ["fig"], "joint": ["fig", "one"]},
}


def changed(path: list, value: object) -> dict:
    """The good configuration with one entry replaced, or removed where the value is ``...``."""
    made = config(**copy.deepcopy(GOOD))
    *way, last = path
    inner = made
    for step in way:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return made


def test_the_good_configuration_passes():
    config_check.check(config(**GOOD))


MECHANISMS = "it must be one of krr10, blh, mix, pair, some"


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        # Compositions.
        (
            ["mechanisms", "mix", "parts", 1, "mechanism"],
            "bhl",
            f"mechanisms.mix.parts[1].mechanism is 'bhl' (did you mean blh?); {MECHANISMS}",
        ),
        (
            ["mechanisms", "some", "mechanism"],
            "none",
            f"mechanisms.some.mechanism is 'none'; {MECHANISMS}",
        ),
        (
            ["mechanisms", "some", "mechanism"],
            ...,
            "mechanisms.some.mechanism is missing; subsample needs: mechanism, rate",
        ),
        (
            ["mechanisms", "some", "rate"],
            1.5,
            "mechanisms.some.rate must be a finite number with 0 <= rate <= 1, got 1.5",
        ),
        (
            ["mechanisms", "some", "rate"],
            "half",
            "mechanisms.some.rate must be a finite number with 0 <= rate <= 1, got 'half'",
        ),
        (
            ["mechanisms", "some", "rate"],
            ...,
            "mechanisms.some.rate is missing; subsample needs: mechanism, rate",
        ),
        (
            ["mechanisms", "some", "weight"],
            0.5,
            "mechanisms.some.weight is no parameter of subsample; "
            "its parameters are: mechanism, rate",
        ),
        (
            ["mechanisms", "mix", "parts", 0, "weight"],
            0.5,
            "mechanisms.mix: weights must sum to 1, got 1.25",
        ),
        (
            ["mechanisms", "mix", "parts", 0, "weight"],
            -0.25,
            "mechanisms.mix.parts[0].weight is -0.25; it must be a number >= 0 and <= 1",
        ),
        (
            ["mechanisms", "mix", "parts", 0, "weight"],
            ...,
            "mechanisms.mix.parts[0].weight is missing; a part of parallel needs: "
            "mechanism, weight",
        ),
        (
            ["mechanisms", "mix", "parts", 0, "rate"],
            0.5,
            "mechanisms.mix.parts[0].rate is no known key; the keys here are "
            "mechanism, weight, share",
        ),
        (
            ["mechanisms", "mix", "parts", 0, "share"],
            0.5,
            None,
        ),
        (
            ["mechanisms", "pair", "parts", 0, "share"],
            0.75,
            "mechanisms.pair.parts[1].share is missing; the parts of a joint must have shares that "
            "sum to 1, or none of them a share (which makes them equal)",
        ),
        (
            ["mechanisms", "pair", "parts"],
            [{"mechanism": "krr10", "share": 0.1}, {"mechanism": "mix", "share": 0.2}],
            "mechanisms.pair.parts must have shares that sum to 1, got 0.3",
        ),
        (
            ["mechanisms", "pair", "parts", 0, "weight"],
            0.75,
            "mechanisms.pair.parts[0].weight is no parameter of a part of joint; "
            "its parameters are: mechanism, share",
        ),
        (
            ["mechanisms", "pair", "parts"],
            [],
            "mechanisms.pair.parts is []; it must be a list that is not empty",
        ),
        (
            ["mechanisms", "pair", "parts"],
            ...,
            "mechanisms.pair.parts is missing; joint needs: parts",
        ),
        (
            ["mechanisms", "pair", "parts", 0],
            "krr10",
            "mechanisms.pair.parts[0] is 'krr10'; it must be a mapping",
        ),
        (
            ["mechanisms", "mix", "parts", 0, "mechanism"],
            "some",
            "mechanisms.mix contains itself (mix > some > pair > mix); a composition must not",
        ),
        # Joints that are too much.
        (
            ["curves", "upper", "k_joint"],
            101,
            "curves.upper.k_joint is 101; it must be an integer >= 1 and <= 100",
        ),
        (
            ["mechanisms", "mix", "parts", 1, "mechanism"],
            "laplace",
            "experiments.some: curve upper in regime low: a joint of 4 reports with up to "
            "1200 components each is too large for memory; at most 25000000 pairs of components "
            "are allowed",
        ),
        (
            ["curves", "upper", "distance"],
            3,
            "experiments.krr10: curve upper in regime low: distance must be left out but for the "
            "upper bound of a joint composition, got 3",
        ),
        (
            ["curves", "joint2", "distance"],
            3,
            "experiments.krr10: curve joint2 in regime low: distance must be an integer <= 2, "
            "got 3",
        ),
        (
            ["curves", "clone", "distance"],
            1,
            "experiments.krr10: curve clone in regime low: distance must be left out but for the "
            "upper bound of a joint composition, got 1",
        ),
        # Figures.
        (
            ["figures", "one", "lines"],
            ...,
            "figures.one must have either experiments and curves, or lines, got neither",
        ),
        (
            ["figures", "one", "curves"],
            ["upper"],
            "figures.one must have either experiments and curves, or lines, got curves, lines",
        ),
        (
            ["figures", "one", "lines", 0, "curve"],
            "uper",
            "figures.one.lines[0].curve is 'uper' (did you mean upper?); it must be one of "
            "bennett, clone, upper, lower, joint2",
        ),
        (
            ["figures", "one", "lines", 0, "experiment"],
            "oue",
            "figures.one.lines[0].experiment is 'oue'; it must be one of krr10, blh, some",
        ),
        (
            ["figures", "one", "lines", 0, "experiment"],
            "some",
            None,
        ),
        (
            ["figures", "one", "lines", 0],
            LINE | {"experiment": "some", "curve": "clone"},
            "figures.one.lines[0].curve is 'clone', which experiments.some does not compute; "
            "it must be one of upper",
        ),
        (
            ["figures", "one", "regimes"],
            ["large"],
            "figures.one.regimes[0] is 'large', which experiments.krr10 does not compute; "
            "it must be one of low",
        ),
        (
            ["figures", "one", "lines", 0, "color"],
            "red",
            "figures.one.lines[0].color is 'red'; it must be an RGB colour like \"#0072b2\"",
        ),
        (
            ["figures", "one", "lines"],
            [LINE, LINE | {"color": "#0000ff"}],
            "figures.one.lines[1] looks unlike another line with the label 'a'; "
            "lines with the same label must look alike",
        ),
        # Distributions, tables, claims.
        (
            ["distributions", "fig"],
            CDF,
            "distributions.fig has the name of a figure; names of figures must be distinct",
        ),
        (
            ["distributions", "cdf", "mechanism"],
            "krr",
            f"distributions.cdf.mechanism is 'krr' (did you mean krr10?); {MECHANISMS}",
        ),
        (
            ["tables", "eps"],
            1.0,
            "tables.eps is 1.0; it must be a number < 1.0, the least of tables.eps0",
        ),
        (
            ["hierarchy", "mechanisms", 0],
            "oue",
            f"hierarchy.mechanisms[0] is 'oue'; {MECHANISMS}",
        ),
        (
            ["hierarchy", "n", 0],
            0,
            "hierarchy.n[0] is 0; it must be an integer >= 1 and <= 1000000000000000",
        ),
        (
            ["claims", "improvment"],
            ["fig"],
            "claims.improvment is no known key (did you mean improvement?); the keys here are "
            "improvement, improvement_peak, outperforms, tightness, clone_vs_bennett, joint, "
            "parallel, rappor_domain, hamming, subsampling",
        ),
        (
            ["claims", "joint", 1],
            "fig9",
            "claims.joint[1] is 'fig9' (did you mean fig?); it must be one of fig, one",
        ),
    ],
)
def test_a_mistake_is_told_in_one_sentence(path, value, sentence):
    made = changed(path, value)
    if value == "laplace":
        made["mechanisms"]["laplace"] = {"type": "laplace", "cells": 200}
        made["curves"]["upper"]["k_joint"] = 4
    if sentence is None:
        config_check.check(made)
    else:
        assert mistake(made) == sentence


def test_names_of_parts_are_replaced_by_what_they_stand_for():
    krr, blh = {"type": "krr", "k": 10}, {"type": "blh"}
    mix = {
        "type": "parallel",
        "parts": [{"mechanism": krr, "weight": 0.25}, {"mechanism": blh, "weight": 0.75}],
    }
    assert matrix.description(config(**GOOD), "some") == {
        "type": "subsample",
        "mechanism": {"type": "joint", "parts": [{"mechanism": krr}, {"mechanism": mix}]},
        "rate": 0.5,
    }


def test_the_schema_knows_every_claim():
    schema = yaml.safe_load(schema_check.SCHEMA.read_text(encoding="utf-8"))["properties"]
    assert list(schema["claims"]["properties"]) == list(CURVE_CLAIMS)


def test_only_what_is_asked_for_is_made():
    assert matrix.tables(config()) == []
    assert matrix.tables(config(**GOOD)) == ["table1", "table2", "table3", "hierarchy"]
    assert matrix.claim_curves(config()) == {}
    assert matrix.table_spec(config(**GOOD), "table3") == {"eps0": [1.0, 4.0]}


def test_what_repetition_makes_too_large_is_refused_at_once():
    """Written out, the last of them would hold a million parts."""
    names = ["krr10", *(f"mix{level}" for level in range(20))]
    mixes = {
        name: {"type": "parallel", "parts": [{"mechanism": part, "weight": 0.5}] * 2}
        for part, name in itertools.pairwise(names)
    }
    assert mistake(config(mechanisms=mixes)) == (
        "mechanisms.mix8 is made of 1022 mechanisms, counting repetitions; it must be at most 999"
    )
