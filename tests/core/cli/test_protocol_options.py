"""Protocols on the command line, against the library."""

import json

import pytest
from commands import answer, run

import shufflebounds as sb
from shufflebounds.cli import deployment
from shufflebounds.protocols.histograms import DecisionTrees
from shufflebounds.protocols.messages import BallsIntoBins, CheuZhilyaev, Dump
from shufflebounds.protocols.registry import PROTOCOLS


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        (["cheu_zhilyaev", "--flip", 0.25], CheuZhilyaev(0.25)),
        (["Balls-Into-Bins", "--bins", 8, "--blankets", 2], BallsIntoBins(8, blankets=2)),
        (["dump", "--domain-size", 5, "--flip", 0.2], Dump(5, 0.2)),
    ],
)
def test_answers_are_those_of_the_decomposition(options, protocol):
    found = answer("epsilon", "--protocol", *options, "--n", 5000, "--delta", 1e-6)
    expected = sb.epsilon(protocol.decomposition(), protocol.draws(5000), 1e-6)
    assert found["upper"] == {"lower": expected.lower, "upper": expected.upper}
    assert "mechanism" not in found
    delta = answer("delta", "--protocol", *options, "--n", 5000, "--eps", expected.upper)
    assert delta["upper"]["lower"] <= 1e-6
    # Who colludes sends nothing that hides anybody.
    fewer = answer(
        "epsilon", "--protocol", *options, "--n", 6000, "--colluding", 1000, "--delta", 1e-6
    )
    assert fewer["upper"] == found["upper"]


def test_rounds_of_several_shuffles_are_composed():
    options = ["--height", 2, "--attributes", 4, "--messages", 3, "--n", 5000, "--delta", 1e-6]
    found = answer("epsilon", "--protocol", "decision_trees", *options, "--rounds", 2)
    parts = DecisionTrees(2, 4, 3).parts(5000)
    expected = sb.compose(
        (part.protocol.decomposition(), part.protocol.draws(part.n), 2 * part.times)
        for part in parts
    ).epsilon(1e-6)
    assert found["upper"] == {"lower": expected.lower, "upper": expected.upper}
    assert "lower" not in found
    assert any("no lower bound" in note for note in found["notes"])


def test_every_protocol_that_is_offered_says_what_its_options_mean():
    shown = run("epsilon", "--help").output
    for name in deployment.protocols():
        assert name in shown
        for parameter, one in deployment.parameters(name).items():
            assert f"--{parameter.replace('_', '-')}" in shown
            assert one.help
    assert set(PROTOCOLS) - set(deployment.protocols()) == {
        "balls_into_bins_designed",
        "calibrated",
        "cheu_zhilyaev_designed",
    }


def test_descriptions_of_mechanisms_are_their_own():
    listed = {
        one["name"]: one["description"] for one in json.loads(run("mechanisms", "--json").output)
    }
    assert len(set(listed.values())) == len(listed)
    assert all(one.isascii() for one in listed.values())
