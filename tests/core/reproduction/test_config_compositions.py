"""Mistakes in the compositions, figures, tables and claims of a configuration."""

import pytest
import yaml
from small_paper import GOOD, PAPER, added, content, mistake, table

from reproduction import plan
from reproduction.configuration import checks
from reproduction.configuration.models import PaperEntry
from reproduction.papers.base import research
from shufflebounds.protocols import registry


def changed(path: list, value: object) -> dict:
    """The good configuration with one entry replaced, or removed where the value is ``...``."""
    made = added(**GOOD)
    *way, last = path
    inner = made[PAPER]
    for step in way:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return made


def test_the_good_configuration_passes():
    checks.make_plan(added(**GOOD))


# The place of an entry and its new value, and below it what is said of that.
MISTAKES = """\
- mechanisms mix parts 1 mechanism = bhl
    mechanisms.mix: mechanism is 'bhl' (did you mean blh?); it must be one of krr10, blh, mix, pair,
    some
- mechanisms mix parts 0 share = 0.5
    passes
- mechanisms mix parts 0 mechanism = some
    mechanisms.mix: it contains itself (mix > some > pair > mix); a composition must not
- mechanisms mix parts 1 mechanism = laplace
    experiments.some: curve upper in regime low: a joint of 4 reports with up to 1201 components
    each is too large for memory; at most 25000000 pairs of components are allowed
- figures one lines = (removed)
    figures.one: it must have either experiments and curves, or lines, or a table, got none of them
- figures one curves = [upper]
    figures.one: it must have either experiments and curves, or lines, or a table, got curves, lines
- figures one lines 0 experiment = some
    passes
- figures one lines 0 = {experiment: some, curve: clone, label: a}
    figures.one draws curve clone, which experiments.some does not compute; it computes upper
- figures one lines = [{experiment: krr10, curve: upper, label: a}, \
{experiment: krr10, curve: clone, label: a}]
    figures.one: lines with the label 'a' must look alike: give lines of several bounds or
    mechanisms labels of their own
- figures one lines 0 color = '#0072b2'
    figures.one.lines[0]: color is not a known key; the keys here are experiment, curve, label, view
- figures one caption = At {detla}.
    figures.one: {detla} stands for nothing; it must be one of eps0, delta
- tables law mechanism = krr
    tables.law.mechanism is 'krr' (did you mean krr10?); it must be one of krr10, blh, mix, pair,
    some
- tables gparv eps = 1.0
    tables.gparv.eps is 1.0; it must be a number < 1.0, the least of its eps0
- tables gparv kind = (removed)
    tables.gparv.kind is missing; it must be one of gparv, finite_domains, large_domains, hierarchy,
    methods, amplification_variable, algorithm_seven, post_processing
- tables hierarchy delta = {over_n: 1000}
    tables.hierarchy: delta must be a finite number with 1e-300 <= delta < 1, got 10.0, which is
    1000/n at n = 100
- figures cdf table = gparv
    figures.cdf.table is 'gparv', a table of a kind that cannot be drawn
- figures cdf regimes = [low]
    figures.cdf: regimes is only for figures of curves, and this is one of a table
- figures one ratio = {curve: lower}
    passes
- figures one holds = [upper <]
    figures.one: 'upper <' is not a condition such as 'best < blanket'
- figures one holds = [upper]
    figures.one: 'upper' is not a condition; it must compare names and numbers by <, <=, >, >=, ==
    or !=, joined by 'and', with + - * / and lower, upper, first, last, smallest, largest, rises,
    falls
- figures one holds = [uper < 1]
    figures.one: holds: 'uper < 1': curve is 'uper' (did you mean upper?); it must be one of
    krr10.upper, upper
- figures one ratio = {experiment: some, curve: lower}
    figures.one draws curve lower, which experiments.some does not compute; it computes upper
- claims improvment = [fig]
    claims.improvment is not a claim of this paper (did you mean improvement?); its claims
    are improvement, improvement_peak, outperforms, tightness, strictly_tighter,
    clone_vs_bennett, clone_vs_generic, joint_vs_generic, joint, k_fold, parallel,
    rappor_domain, hamming, joint_variance, laplace_interval, subsampling, worst_dataset,
    gparv_range, five_values, fft_cost, joint_apart, loss_variable, clones_doubled,
    lower_support, lower_parallel, lower_domain, limit_rate, uniform_others, four_point_clone,
    dependent_counts, algorithm_step, algorithm_error
- claims joint 1 = cdf
    claims.joint[1] is 'cdf'; it must be one of fig, one
- claims joint = []
    passes
- figures one lines 0 label = (removed)
    passes
- mechanisms krr10 = {type: calibrated, mechanism: krr, values: [4]}
    mechanisms.krr10: values is [4]; it must be a number or text
- mechanisms mix parts 0 mechanism = null
    mechanisms.mix: mechanism is empty; it must be one of krr10, blh, mix, pair, some
"""


@pytest.mark.parametrize(("edit", "sentence"), table(MISTAKES))
def test_a_mistake_is_told_in_one_sentence(edit, sentence):
    place, _, value = edit.partition(" = ")
    path = [int(step) if step.isdigit() else step for step in place.split()]
    made = changed(path, ... if value == "(removed)" else yaml.safe_load(value))
    if value == "laplace":
        made[PAPER]["mechanisms"]["laplace"] = {"type": "laplace", "cells": 200}
        made[PAPER]["curves"]["upper"]["k_joint"] = 4
    if sentence == "passes":
        checks.make_plan(made)
    else:
        assert mistake(made) == sentence.replace("<types>", ", ".join(registry.sent_types()))


def test_names_of_parts_are_replaced_by_what_they_stand_for():
    krr, blh = {"type": "krr", "k": 10}, {"type": "blh"}
    mix = {
        "type": "parallel",
        "parts": [{"mechanism": krr, "weight": 0.25}, {"mechanism": blh, "weight": 0.75}],
    }
    entry = PaperEntry.model_validate(added(**GOOD)[PAPER])
    assert plan.expand_mechanism(entry.mechanisms, "some") == {
        "type": "subsample",
        "mechanism": {"type": "joint", "parts": [{"mechanism": krr}, {"mechanism": mix}]},
        "rate": 0.5,
    }


def test_only_what_is_asked_for_is_made():
    small = checks.make_plan(content()).papers[PAPER]
    assert not small.tables
    assert not small.claims
    good = checks.make_plan(added(**GOOD)).papers[PAPER]
    assert {name: type(table.kind) for name, table in good.tables.items()} == {
        name: research(PAPER).tables[given["kind"]] for name, given in GOOD["tables"].items()
    }
    assert good.tables["large"].kind.eps0 == (1.0, 4.0)
    assert good.figures["cdf"] == "law"
    assert good.claims["joint"] == tuple(
        dict.fromkeys([*good.figures["fig"].curves, *good.figures["one"].curves])
    )


@pytest.mark.parametrize(
    ("path", "value", "changed_tables"),
    [
        (["tables", "large", "eps0"], [1.0, 2.0], {"large"}),
        (["tables", "hierarchy", "delta"], 1e-8, {"hierarchy"}),
        (["tables", "hierarchy", "delta"], {"over_n": 0.01}, {"hierarchy"}),
        (["mechanisms", "krr10", "k"], 16, {"hierarchy", "law"}),
        (["mechanisms", "blh"], {"type": "oue"}, set()),
        (["setting", "delta"], 1e-8, set()),
        (["style", "transform"], "expm1", set()),
    ],
)
def test_the_digest_of_a_table_changes_with_its_content_alone(path, value, changed_tables):
    before, after = (
        checks.make_plan(made).papers[PAPER].tables
        for made in (added(**GOOD), changed(path, value))
    )
    other = {name for name in before if before[name].digest != after[name].digest}
    assert other == changed_tables


def test_numerics_change_the_digests_of_tables_that_use_them():
    made = added(**GOOD)
    made["numerics"]["rtol"] = 1e-2
    before, after = (checks.make_plan(one).papers[PAPER].tables for one in (added(**GOOD), made))
    assert {n for n in before if before[n].digest != after[n].digest} == {"hierarchy"}
