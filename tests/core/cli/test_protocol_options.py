"""Protocols on the command line, against the library."""

import csv
import json
import re

import pytest
from commands import answer, run

import shufflebounds as sb
from shufflebounds.cli.parameters import own_counts, parameters, protocols
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
    assert found["blanket"] == {"lower": expected.lower, "upper": expected.upper}
    assert "mechanism" not in found
    delta = answer("delta", "--protocol", *options, "--n", 5000, "--eps", expected.upper)
    assert delta["blanket"]["lower"] <= 1e-6
    # Who colludes sends nothing that hides anybody.
    fewer = answer(
        "epsilon", "--protocol", *options, "--n", 6000, "--colluding", 1000, "--delta", 1e-6
    )
    assert fewer["blanket"] == found["blanket"]


def test_rounds_of_several_shuffles_are_composed():
    options = ["--height", 2, "--attributes", 4, "--messages", 3, "--n", 5000, "--delta", 1e-6]
    found = answer("epsilon", "--protocol", "decision_trees", *options, "--rounds", 2)
    expected = sb.compose(
        (*shuffle.source.blankets.values(), shuffle.draws, 2 * shuffle.times)
        for shuffle in DecisionTrees(2, 4, 3).shuffles(5000)
    ).epsilon(1e-6)
    assert found["blanket"] == {"lower": expected.lower, "upper": expected.upper}
    # All others hold the victim's second value, and the histograms show what their messages were.
    assert found["lower"]["lower"] == pytest.approx(expected.upper, rel=1e-2)


# Parameters of every protocol, how what is seen is called, and a word of nothing else.
SEEN = {
    "any": (["--eps0", 1], "shuffled reports"),
    "balls_into_bins": (["--bins", 8], "shuffled messages"),
    "binary_sum": ([], "shuffled messages"),
    "cheu_zhilyaev": (["--flip", 0.25], "shuffled messages"),
    "coordinate_sums": (["--bits", "rappor", "--eps0", 1], "sums of all coordinates"),
    "decision_trees": (
        ["--height", 2, "--attributes", 2, "--messages", 2],
        "shuffled messages",
    ),
    "dump": (["--domain-size", 5], "shuffled messages"),
    "hierarchical_histogram": (["--domain-size", 8, "--eps0", 1], "shuffled reports"),
    "separate_histograms": (["--domain-size", 8, "--eps0", 1], "shuffled reports"),
}


def test_every_protocol_is_asked_what_is_seen():
    # `test_training` asks about those that count steps.
    assert set(SEEN) == {name for name in protocols() if not own_counts(name)}


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("question", [["epsilon", "--delta", 1e-3], ["delta", "--eps", 0.1]])
@pytest.mark.parametrize("rounds", [1, 2])
def test_answers_and_reports_speak_of_what_is_seen_alone(name, question, rounds, tmp_path):
    parameters, seen = SEEN[name]
    words = [
        *question,
        "--protocol",
        name,
        *parameters,
        "--n",
        2000,
        "--rounds",
        rounds,
        "--explain",
    ]
    page = tmp_path / "page.html"
    printed = run(*words, "--report", page).output
    text = page.read_text(encoding="utf-8")
    assert f"the {seen} are (epsilon, delta)-DP" in printed
    assert f"<p>Privacy of {seen}: " in text
    assert answer(*words)["seen"] == seen
    if name == "coordinate_sums":
        for wrong in ("shuffled", "shuffler", "every report", "arXiv 2504.07414"):
            assert wrong not in printed + text
        assert "docs/proofs/aggregation.md, Theorem A" in text
        assert "how many users sent a one in each coordinate" in text


def test_questions_on_mechanisms_speak_of_shuffled_reports(tmp_path):
    some = ["--mechanism", "krr", "--k", 3, "--eps0", 1, "--n", 50]
    for words in (["check", "--delta", 0.01, "--eps", 2], ["renyi", "--order", 2], ["risk"]):
        page = tmp_path / f"{words[0]}.md"
        run(*words, *some, "--report", page)
        text = page.read_text(encoding="utf-8")
        assert text.split("\n\n")[1].startswith("Privacy of shuffled reports: KRR(k=3, eps0=1.0), ")
        assert "The observer sees every shuffled report" in text
        assert answer(*words, *some)["seen"] == "shuffled reports"


def test_nothing_remains_of_messages_without_local_privacy(tmp_path):
    page = tmp_path / "page.md"
    some = ["epsilon", "--n", 50, "--delta", 0.01, "--report", page]
    run(*some, "--protocol", "dump", "--domain-size", 5)
    assert "If the shuffler fails, nothing protects a user's value." in page.read_text("utf-8")
    run(*some, "--protocol", "coordinate_sums", "--bits", "oue", "--eps0", 1)
    text = page.read_text("utf-8")
    assert "If secure aggregation fails, eps0 = 1 remains." in text


def test_answers_say_whose_epsilon_it_is():
    """At 64 nodes ε is 0.325, and the users of two nodes have 1.077 at least."""
    some = ["epsilon", "--protocol", "separate_histograms", "--domain-size", 64, "--eps0", 2]
    some += ["--n", 1000, "--delta", 1e-6]
    every = answer(*some)
    assert every["covered"] == "all users"
    assert every["lower"]["lower"] > 1.07
    best = answer(*some, "--nodes", 64)
    assert best["covered"] == "users who report on the level of 64 nodes"
    assert any("nodes = 2 has answers that cover all users" in note for note in best["notes"])
    printed = run(*some, "--nodes", 64).output
    said = "for users who report on the level of 64 nodes, not for others."
    assert said in " ".join(printed.split())


def test_every_protocol_that_is_offered_says_what_its_options_mean():
    for name in protocols():
        shown = run("epsilon", "--protocol", name, "--help").output
        assert f"Parameters of {name}:" in shown
        for parameter, one in parameters(name).items():
            assert f"--{parameter.replace('_', '-')}" in shown
            assert one.help
    assert set(PROTOCOLS) - set(protocols()) == {
        "balls_into_bins_designed",
        "calibrated",
        "cheu_zhilyaev_designed",
        "groups",
    }


def test_descriptions_of_mechanisms_are_their_own():
    listed = {
        one["name"]: one["description"] for one in json.loads(run("mechanisms", "--json").output)
    }
    assert len(set(listed.values())) == len(listed)
    assert all(one.isascii() for one in listed.values())


PROTOCOLS_WITH_EPS0 = [name for name in SEEN if "--eps0" in SEEN[name][0]]
QUESTIONS = {
    "renyi": ("--n", 2000, "--order", 3),
    "check": ("--n", 2000, "--delta", 1e-3, "--eps", 5),
    "users": ("--delta", 1e-3, "--eps", 0.5),
    "rounds": ("--n", 2000, "--delta", 1e-3, "--eps", 1),
    "risk": ("--n", 2000),
}


@pytest.mark.parametrize("name", sorted(set(SEEN) - {"coordinate_sums"}))
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_answered_for_every_protocol(name, question):
    found = answer(question, "--protocol", name, *SEEN[name][0], *QUESTIONS[question])
    assert found["seen"] == SEEN[name][1]
    if question == "check":
        assert found["verdict"] == "proven"
    if question == "users":
        # So many users meet the target, and one fewer by the lower bound does not.
        setting = ("--protocol", name, *SEEN[name][0], "--delta", 1e-3)
        enough = answer("epsilon", *setting, "--n", found["blanket"]["upper"])
        assert enough["blanket"]["upper"] <= 0.5
        if found["lower"]["lower"] > 1:
            too_few = answer("epsilon", *setting, "--n", found["lower"]["lower"] - 1)
            assert too_few["lower"]["upper"] >= 0.5


def test_users_of_sums_are_enough():
    """Each sum is composed by the library's own two rounds of a bit."""
    found = answer(
        *("users", "--protocol", "coordinate_sums", "--bits", "rappor", "--eps0", 1),
        *("--eps", 0.5, "--delta", 1e-3),
    )
    n = found["blanket"]["upper"]
    # A bit of RAPPOR is 2-RR at half of ε₀.
    blanket = sb.KRR(2, 0.5).blanket()
    assert sb.compose([(blanket, n, 2)]).epsilon(1e-3).upper <= 0.5
    assert sb.compose([(blanket, n - 2, 2)]).epsilon(1e-3).upper > 0.5


@pytest.mark.parametrize("name", sorted(set(SEEN) - {"coordinate_sums", "any"}))
def test_the_largest_eps0_of_a_protocol(name):
    options = [*SEEN[name][0]]
    target = ("--n", 2000, "--eps", 1, "--delta", 1e-6)
    if name not in PROTOCOLS_WITH_EPS0:
        result = run("eps0", "--protocol", name, *options, *target)
        assert result.exit_code == 2
        assert re.search(rf"no eps0 to choose: .* the noise of {name}\n", result.stderr)
        return
    place = options.index("--eps0")
    del options[place : place + 2]
    found = answer("eps0", "--protocol", name, *options, *target)["blanket"]
    for eps0, meets in ((found["lower"], True), (found["upper"], False)):
        asked = ("--protocol", name, *options, "--eps0", eps0, "--n", 2000, "--delta", 1e-6)
        at_end = answer("epsilon", *asked)["blanket"]
        assert at_end["upper"] <= 1.001 if meets else at_end["lower"] >= 0.999


def test_rounds_of_a_protocol_may_have_different_numbers_of_users():
    options = ["--bins", 8, "--n", 2000, "--also", "4000:2", "--delta", 1e-6]
    found = answer("epsilon", "--protocol", "balls_into_bins", *options)
    balls = BallsIntoBins(8)
    rounds = [(balls.decomposition(), balls.draws(n), times) for n, times in ((2000, 1), (4000, 2))]
    expected = sb.compose(rounds).epsilon(1e-6)
    assert found["blanket"] == {"lower": expected.lower, "upper": expected.upper}
    trees = ["--height", 2, "--attributes", 2, "--messages", 3, "--n", 2000, "--also", "3000:1"]
    found = answer("epsilon", "--protocol", "decision_trees", *trees, "--delta", 1e-6)
    rounds = [
        (*shuffle.source.blankets.values(), shuffle.draws, shuffle.times)
        for n in (2000, 3000)
        for shuffle in DecisionTrees(2, 2, 3).shuffles(n)
    ]
    expected = sb.compose(rounds).epsilon(1e-6)
    assert found["blanket"] == {"lower": expected.lower, "upper": expected.upper}
    assert found["lower"]["lower"] == pytest.approx(expected.upper, rel=1e-2)


def test_a_verdict_says_for_whom_it_holds():
    some = ["--protocol", "separate_histograms", "--domain-size", 64, "--eps0", 2, "--nodes", 64]
    printed = run("check", *some, "--n", 1000, "--delta", 1e-6, "--eps", 1).stdout
    said = "PROVEN. You can claim it for users who report on the level of 64 nodes, not for others"
    assert said in " ".join(printed.split())


def test_closed_forms_count_the_reports_of_one_shuffle():
    """Of 6000 users 1000 report on a level of 64 nodes, and only these hide each other."""
    protocol = {"type": "separate_histograms", "domain_size": 64}
    level = sb.epsilon(sb.KRR(2, 1.0).dataset_pair(), 1000, 1e-6)
    for name in ("blanket_bennett", "blanket_hoeffding", "blanket_best", "girgis_upper"):
        quantity = "renyi" if name == "girgis_upper" else "epsilon"
        target = {"order": 3.0} if quantity == "renyi" else {"delta": 1e-6}
        asked = {"quantity": quantity, "eps0": 1.0, **target}
        [found] = sb.curve(protocol, name, n=[6000], **asked).enclosures
        [alone] = sb.curve(sb.KRR(2, 1.0), name, n=[1000], quantity=quantity, **target).enclosures
        assert (found.lower, found.upper) == (alone.lower, alone.upper)
        if quantity == "epsilon":
            assert found.upper > level.lower
    sums = {"type": "coordinate_sums", "bits": "oue"}
    with pytest.raises(ValueError, match="needs a single shuffle"):
        sb.curve(sums, "girgis_upper", n=[6000], quantity="renyi", eps0=1.0, order=3.0)


def test_a_curve_of_a_protocol_has_the_numbers_of_its_answers():
    name = ("--protocol", "separate_histograms", "--domain-size", 8, "--eps0", 2)
    asked = ("--delta", 1e-6, "--start", 3000, "--stop", 6000, "--points", 2)
    rows = list(csv.DictReader(run("curve", *name, *asked).stdout.splitlines()))
    assert {row["bound"] for row in rows} == {"blanket", "lower", "stronger_clone"}
    for row in rows:
        one = answer("epsilon", *name, "--n", row["n"], "--delta", 1e-6)[row["bound"]]
        assert float(row["epsilon_upper"]) == pytest.approx(one["upper"], rel=2e-4)
