"""What a first-time user of the command line reads: refusals, notes, lines and reports."""

import csv
import html
import json
import math
import re
import shlex
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from commands import answer, run, succeed
from scipy.special import ndtr

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli import scenario
from shufflebounds.cli.scenario import Scenario
from shufflebounds.core.enclosure import WorkError
from shufflebounds.core.setting import Axis, Grid
from shufflebounds.curves.plotting import sheets
from shufflebounds.curves.plotting.looks import DOTTED
from shufflebounds.curves.storage import CurveName
from shufflebounds.profiles.profile import Ends, Interval, Profile
from shufflebounds.protocols.any_mechanism import AnyMechanism
from shufflebounds.protocols.registry import ProtocolDescription
from shufflebounds.questions import searches
from shufflebounds.questions.searches import (
    Target,
    eps0_question,
    rounds_question,
    users_question,
)
from shufflebounds.subjects.reports import Reports

KRR = ("--mechanism", "krr", "--k", 4)
POINTS = ("--delta", 1e-6, "--points", 2, "--start", 1000, "--stop", 4000)
SUMS = ("--protocol", "coordinate_sums", "--bits", "rappor", "--eps0", 4)


NAMES = ("blanket", "lower", "best")
FRESH = {"mechanism": {"type": "krr", "k": 4}, "answers": "fresh"}
DEPLOYMENT = {
    "users": 2000,
    "days": 2,
    "groups": {
        "old": {"share": 0.4, "eps0": {"browser": 2}},
        "new": {"share": 0.6, "eps0": {"browser": 1}},
    },
    "reports": {"browser": {**FRESH, "eps0": 0.5}},
}


def words(text):
    return " ".join(text.split())


def printed(*asked):
    return words(succeed(*asked).stdout)


@dataclass(frozen=True, eq=False)
class Formula(Profile):
    """A curve whose ε at δ = 10⁻⁶ is known; it falls exponentially."""

    eps: float
    end = math.inf

    def at(self, rows):
        return self

    def delta_ends(self, query):
        deltas = 1e-6 * np.exp(1.0 - query.at / self.eps)
        return Ends.of(deltas, deltas, "")

    def root_ends(self, query):
        roots = self.eps * (1.0 - np.log(query.at / 1e-6))
        return Ends.of(roots, roots, "")

    def estimates(self, eps):
        return np.log(self.deltas(eps, 0.0).lower)

    def guesses(self, delta):
        return self.roots(delta, 0.0).lower


def falling(c):
    """Return a bound whose ε at δ = 10⁻⁶ is c·(e^ε₀ − 1)·rounds/√n."""

    def make(subject, counts, aim, *, rtol=None):
        (n,) = counts
        profile = Formula(c * math.expm1(subject.eps0) * aim.rounds / math.sqrt(n))
        return Interval(profile, profile)

    return make


def searched(question, bounds):
    """Return the answers of the blanket, the lower and the best bound to an inverse question."""
    blanket, lower = (question.search(falling(bounds[name])) for name in ("blanket", "lower"))
    best = question.closer(blanket, lower, falling(bounds["best"]))
    found = {"blanket": blanket, "lower": lower, "best": best}
    return {name: question.enclosure(search) for name, search in found.items()}


@pytest.mark.parametrize("best", [5.05, 5.5])
def test_searches_by_the_best_bound_end_between_the_others(best):
    """Where formulas for ε meet the target is known exactly."""
    subject, scale, target = AnyMechanism(1.0), math.expm1(1.0), Target(0.1, 1e-6)
    bounds = dict(zip(NAMES, (10, 5, best), strict=True))
    users = searched(users_question(subject, target, 2), bounds)
    exact = {name: (20 * c * scale) ** 2 for name, c in bounds.items()}
    for name in ("blanket", "lower"):
        assert users[name].lower - 1 <= exact[name] <= users[name].upper
    assert exact["best"] <= users["best"].upper <= 1.01 * exact["best"]
    assert users["best"].lower == users["lower"].lower
    rounds = searched(rounds_question(subject, target, 10**8), bounds)
    most = {name: 1e3 / (c * scale) for name, c in bounds.items()}
    assert rounds["blanket"].lower == int(most["blanket"])
    assert 0.99 * most["best"] - 1 <= rounds["best"].lower <= most["best"]
    assert rounds["best"].upper == rounds["lower"].upper == int(most["lower"])
    eps0s = searched(eps0_question(AnyMechanism, target, 10**6, 2, 1e-4), bounds)
    largest = {name: math.log1p(50.0 / c) for name, c in bounds.items()}
    assert eps0s["best"].lower <= largest["best"] * (1 + 1e-12)
    assert eps0s["best"].lower == pytest.approx(largest["best"], rel=1e-3)
    assert eps0s["best"].upper == eps0s["lower"].upper


def test_a_search_that_is_stopped_keeps_both_ends(monkeypatch):
    """The work ends while pairs of datasets are asked: what they have shown so far counts."""
    subject, places = Reports(sb.KRR(3, 1.0)), []

    def stopped(asked, counts, aim, *, rtol=None):
        """ε falls like n^−0.6, not like the root, so that the first guesses are poor."""
        if len(places) == 3:
            raise WorkError("it would cost too much work")
        places.extend(counts)
        profile = Formula(35.0 * aim.rounds / counts[0] ** 0.6)
        return Interval(profile, profile)

    monkeypatch.setattr(searches, "BLANKETS", falling(10))
    monkeypatch.setattr(searches, "LOWER", stopped)
    with pytest.raises(WorkError) as stop:
        users_question(subject, Target(0.1, 1e-6), 2).answer()
    most, least = (200 * math.expm1(1.0)) ** 2, 700 ** (1 / 0.6)
    ends, missed = stop.value.enclosure, [n for n in places if n < least]
    assert missed
    assert max(missed) <= ends.lower <= least + 1
    assert most <= ends.upper <= most * 1.001


def test_one_round_of_sums_is_proven_although_its_blanket_is_not():
    asked = (*SUMS, "--n", 160, "--eps", 0.5, "--delta", 1e-2)
    found = answer("rounds", *asked)
    assert found["blanket"]["lower"] == 0
    assert found["best"]["lower"] == 1
    # The bits of RAPPOR are randomized response of two values at half of ε₀, two of them.
    assert sb.compose([(sb.KRR(2, 2.0), 160, 2)]).epsilon(1e-2).upper <= 0.5


def test_the_risk_of_sums_is_that_of_the_best_bound(monkeypatch):
    for name in ("USUAL_DENSITY", "ALL_DATASETS_DENSITY"):
        monkeypatch.setattr(sys.modules["shufflebounds.cli.risk"], name, 4.0)
    found = answer("risk", *SUMS, "--n", 2000)["advantage"]
    bits = sb.compose([(sb.KRR(2, 2.0), 2000, 2)]).delta(0.0)
    assert bits.lower <= found["best"]["upper"] <= 1.02 * bits.upper
    assert found["best"]["upper"] < 0.9 * found["blanket"]["upper"]


@pytest.mark.parametrize(
    ("protocol", "remains"),
    [
        ("coordinate_sums --bits rappor --eps0 2", "secure aggregation fails, eps0 = 2 remains."),
        (
            "coordinate_sums --bits rappor --eps0 2 --rounds 3",
            "secure aggregation fails, eps0 = 2 per round, 6 over all 3 rounds.",
        ),
        ("separate_histograms --domain-size 4 --eps0 2", "the shuffler fails, eps0 = 2 remains."),
        ("dump --domain-size 4", "the shuffler fails, nothing protects a user's value."),
    ],
)
def test_protocols_say_what_remains(protocol, remains, tmp_path):
    page = tmp_path / "page.md"
    asked = (*shlex.split(protocol), "--n", 500, "--delta", 1e-2)
    assert f"If {remains}" in printed("epsilon", "--protocol", *asked, "--report", page)
    assert f"If {remains}" in page.read_text("utf-8")


def test_a_bound_says_itself_that_it_looks_at_shuffles(monkeypatch):
    """A bound of another package needs no entry in the command line."""
    closed_form = replace(BOUNDS["blanket_best"], name="mine")
    sums = Scenario(
        mechanism=ProtocolDescription("coordinate_sums", (("bits", "oue"),)), eps0=1.0, n=100
    )
    for is_of_shuffles in (False, True):
        mine = replace(closed_form, is_of_shuffles=is_of_shuffles)
        monkeypatch.setattr(scenario, "BOUNDS", {**BOUNDS, "mine": mine})
        assert ("mine" in sums.bounds(["mine"])) == is_of_shuffles


@pytest.mark.parametrize(
    "asked",
    [
        "users --mechanism any --eps0 300 --eps 1 --delta 1e-6",
        "users --mechanism krr --k 2 --eps0 300 --eps 1 --delta 1e-300",
    ],
)
def test_extreme_questions_give_no_warning(asked, recwarn):
    assert succeed(*shlex.split(asked)).stderr == ""
    assert not [x for x in recwarn if issubclass(x.category, RuntimeWarning)]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("users --mechanism krr --k 4 --eps0 1 --eps 1 --delta 1e-6", "1 user is enough."),
        ("rounds --mechanism krr --k 4 --eps0 1 --n 1 --eps 1 --delta 1e-6", "run 1 round."),
        (
            "delta --mechanism krr --k 4 --eps0 1 --n 900 --eps 0.2 --also 800:1",
            "n = 900 users, 1 round, and 1 round of 800 users,",
        ),
    ],
)
def test_one_is_singular(asked, sentence):
    text = printed(*shlex.split(asked))
    assert sentence in text
    assert not re.search(r"\b1 (users|rounds|days|reports)\b", text)


def test_objects_count_in_the_singular():
    curve = sb.curve(sb.KRR(4, 1.0), "blanket", n=[100], delta=1e-6)
    assert repr(curve).endswith("at 1 value of n)")
    content = {"users": 1, "days": 1, "reports": {"a": {**FRESH, "eps0": 1.0}}}
    assert repr(sb.Deployment(content)) == "<Deployment: a on 1 day>"


def test_a_mechanism_with_its_own_noise_is_compared():
    for asked in (
        (*KRR, "--versus", "gaussian sigma=3"),
        ("--mechanism", "gaussian", "--sigma", 3, "--versus", "krr k=4"),
    ):
        result = succeed("curve", *asked, "--eps0", 2, *POINTS)
        rows = list(csv.DictReader(result.stdout.splitlines()))
        assert {row["mechanism"]: row["eps0"] for row in rows} == {
            "krr(k=4)": "2.0",
            "gaussian(sigma=3.0)": "",
        }
        for row in rows:
            mechanism = sb.KRR(4, 2.0) if row["eps0"] else sb.Gaussian(3.0)
            expected = sb.epsilon(mechanism, int(row["n"]), 1e-6)
            assert float(row["epsilon_upper"]) == pytest.approx(expected.upper, rel=2e-3)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            "--mechanism gaussian --sigma 3 --eps0 2",
            "--eps0 must be left out: --sigma sets the noise of gaussian",
        ),
        ("--mechanism krr --k 4", "Missing option '--eps0', which KRR(k=4) needs."),
        (
            "--mechanism gaussian --sigma 3 --versus 'krr k=4'",
            "Missing option '--eps0', which KRR(k=4) needs.",
        ),
        (
            "--mechanism krr --k 4 --x eps0 --n 1000 --versus 'gaussian sigma=3'",
            "--x must not be eps0: --sigma sets the noise of gaussian",
        ),
        (
            "--mechanism gaussian --sigma 3 --bound stronger_clone",
            "--bound stronger_clone needs an eps0, and Gaussian, sigma = 3 (no eps0) has none",
        ),
    ],
)
def test_curves_say_which_mechanism_has_no_eps0(asked, sentence):
    result = run("curve", *shlex.split(asked), "--delta", 1e-6, "--points", 2)
    assert (result.exit_code, result.stderr) == (2, f"Error: {sentence}\n")


def test_the_noise_of_a_mechanism_without_eps0_has_a_name():
    asked = ("eps0", "--n", 1000, "--eps", 1, "--delta", 1e-6)
    result = run(*asked, "--mechanism", "gaussian", "--sigma", 3)
    assert (
        result.stderr == "Error: There is no eps0 to choose: --sigma sets the noise of gaussian\n"
    )
    result = run(*asked, "--protocol", "binary_sum")
    assert "--coin, --blankets set the noise of binary_sum" in result.stderr


def test_the_curve_of_any_mechanism_is_the_stronger_clone(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    from shufflebounds.cli.curve import _computed_curves

    asked = Scenario(mechanism=ProtocolDescription("any", ()), eps0=2.0)
    axis = Axis("n", Grid(1000, 2000, 2, "geometric"))
    computed = _computed_curves(asked, axis, "epsilon", (), 1e-4, {"delta": 1e-6}, "any")
    labels = [curve.specification.bound.label for curve in computed]
    assert labels == ["stronger clone", "lower bound"]


def made(*named, bound="blanket"):
    """Curves of mechanisms, called by these names."""
    return [
        replace(
            sb.curve(mechanism, bound, n=[1000, 4000], delta=1e-6),
            name=CurveName(name, "command line", bound),
        )
        for name, mechanism in named
    ]


def test_lines_of_one_mechanism_are_told_apart_without_colours():
    named = [(f"KRR(k={k})", sb.KRR(k, 2.0)) for k in (4, 16, 64)]
    [[view]] = sheets.of_computed(made(*named, ("BLH", sb.BLH(2.0))), "").rows
    looks = [line.look for line, _ in view.lines]
    assert len({look.dashes for look in looks[:3]}) == 3
    # One family has one colour.
    assert len({look.color for look in looks}) == 2
    assert all(look.dashes != DOTTED for look in looks)  # which are those of unproven bounds
    # As in the figures of papers.
    assert [line.label for line, _ in view.lines] == ["4-RR", "16-RR", "64-RR", "BLH"]
    assert view.title[0] == "blanket"


def test_lines_of_several_bounds_keep_the_dashes_of_these():
    named = [("KRR(k=4)", sb.KRR(4, 2.0)), ("KRR(k=64)", sb.KRR(64, 2.0))]
    both = [*made(*named), *made(*named, bound="clone")]
    [[view]] = sheets.of_computed(both, "").rows
    dashes = [line.look.dashes for line, _ in view.lines]
    assert (dashes[0], dashes[2]) == (dashes[1], dashes[3])
    colors = [line.look.color for line, _ in view.lines]
    assert colors[0] == colors[2]


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_the_command_that_verifies_a_report_writes_nothing(tmp_path, monkeypatch, suffix):
    """It prints the object that the report has, although claims were written."""
    monkeypatch.chdir(tmp_path)
    page = f"page{suffix}"
    asked = ("epsilon", *KRR, "--eps0", 1, "--n", 1000, "--delta=1e-6")
    succeed(*asked, "--claim=claim.json", "--explain", "--report", page)
    text = html.unescape((tmp_path / page).read_text("utf-8")).replace("</code> <code>", " ")
    [command] = re.findall(r"shufflebounds epsilon --mechanism.* --json(?=[\n<])", text)
    assert command == f"shufflebounds {shlex.join(map(str, asked))} --json"
    for file in tmp_path.iterdir():
        file.unlink()
    stdout = succeed(*shlex.split(command)[1:]).stdout
    assert not [*tmp_path.iterdir()]
    assert stdout.strip() in text


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_a_report_states_no_checksum_of_numbers_that_depend_on_the_processor(tmp_path, suffix):
    page = tmp_path / f"page{suffix}"
    succeed("epsilon", *KRR, "--eps0", 1, "--n", 1000, "--delta=1e-6", "--report", page)
    text = page.read_text("utf-8")
    assert not re.search("sha-?256|[0-9a-f]{32}", text.casefold())
    assert "must overlap with the one below" in text


def test_the_command_that_verifies_a_deployment_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text(json.dumps(DEPLOYMENT))
    asked = ("account", "d.json", "--delta", "1e-6", "--budget", "5")
    files = ("--claim", "c.json", "--running", "r.prom", "--format", "prometheus")
    succeed(*asked, *files, "--report", "page.md")
    command = f"shufflebounds {shlex.join(asked)} --json"
    assert f"\n{command}\n" in (tmp_path / "page.md").read_text("utf-8")


def account(content, tmp_path, *options):
    """Return the arguments of a question about a deployment."""
    file = tmp_path / "d.json"
    file.write_text(json.dumps(content))
    return ("account", file, "--delta", 1e-6, *options)


def test_each_group_has_a_line_and_the_table_names_its_own(tmp_path):
    asked = account(DEPLOYMENT, tmp_path)
    found = answer(*asked)
    assert found["reports_of_group"] == "old"
    text = succeed(*asked, "--report", tmp_path / "page.md").stdout
    page = (tmp_path / "page.md").read_text("utf-8")
    for name, share in (("old", 0.4), ("new", 0.6)):
        upper = sb.core.enclosure.outward(found["groups"][name]["upper"], up=True)
        assert f"\n  {name}, share {share}: epsilon = {upper}\n" in text
        assert f"\n- {name}, share {share}: epsilon = {upper}\n" in page
    assert "\n  group old " in text
    assert "Groups (that of old is in the table, and its epsilon holds for everybody):" in text


def test_the_eps0_that_holds_is_explained(tmp_path):
    text = printed(*account(DEPLOYMENT, tmp_path, "--explain"))
    assert "browser: krr(k=4) at eps0 = 2.0 in group old, 1.0 in group new, fresh, 1 a day." in text
    assert "0.5" not in text.partition("browser: krr")[2]
    alone = {**DEPLOYMENT, "groups": {"some": {"share": 0.4, "eps0": {"browser": 2}}}}
    assert "krr(k=4) at eps0 = 2.0, fresh" in printed(*account(alone, tmp_path, "--explain"))


def test_a_deployment_of_gaussian_reports_says_what_remains(tmp_path):
    """Three days at σ = 4 are one report at σ = 4/√3, and the ε₀ of other answers is added."""
    mechanism = {"type": "gaussian", "sigma": 4.0, "cells": 30}
    reports = {"speed": {"mechanism": mechanism, "answers": "fresh"}}
    content = {"users": 2000, "days": 3, "reports": reports}
    for pure, more in ((0.0, {}), (1.5, {"browser": {**FRESH, "eps0": 0.5}})):
        asked = account({**content, "reports": {**reports, **more}}, tmp_path)
        pattern = r"If the shuffler fails, epsilon = ([0-9.]+) at delta = 1e-06 remains\."
        [shown] = re.findall(pattern, printed(*asked))
        tau = math.sqrt(3.0) / 4.0
        for x, sign in ((float(shown) - pure, -1), (0.998 * float(shown) - pure, 1)):
            exact = ndtr(tau / 2 - x / tau) - math.exp(x) * ndtr(-tau / 2 - x / tau)
            assert sign * exact > sign * 1e-6
        found = answer(*asked)
        assert found["without_shuffler"] is None
        assert found["without_shuffler_at_delta"] <= float(shown)
    clamped = {"speed": {**reports["speed"], "mechanism": {**mechanism, "clamp": 2.0}}}
    text = printed(*account({**content, "reports": clamped}, tmp_path))
    assert "remains, with delta = 0." in text


def test_a_budget_that_memoized_answers_leave_open_says_why(tmp_path):
    memoized = {**FRESH, "eps0": 1.0, "answers": "memoized", "same_users": False}
    content = {"users": 2000, "days": 3, "reports": {"browser": memoized}}
    reason = "Lower ends count browser once, since what changing users reveal depends on who"
    open_ = words(run(*account(content, tmp_path, "--budget", 0.5)).stdout)
    assert "NOT SHOWN to be within the budget" in open_
    assert reason in open_
    within = account(content, tmp_path, "--budget", 1)
    assert reason not in printed(*within)
    assert any(note.startswith(reason) for note in answer(*within)["notes"])
    same = {"users": 2000, "days": 3, "reports": {"browser": {**memoized, "same_users": True}}}
    assert reason not in printed(*account(same, tmp_path, "--explain"))


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "d.json",
            '{\n  "users": 10,\n  "days": 1,\n}',
            r"d.json: line \d: it is not valid JSON \(.*\): it must be one object such as ",
        ),
        ("d.json", "reports:\n  a: 1\n", r"d.json: line 1: it is not valid JSON \(.*without comme"),
        ("d.json", "", r"d.json: line 1: it is not valid JSON"),
        ("d.yaml", "users: 3\n  days: 1\n", r"d.yaml: line 2: it is not valid YAML: mapping val"),
        ("d.yaml", b"\xff\xfe", r"d.yaml: the file must be text in UTF-8$"),
        ("d.json", b"\xff\xfe", r"d.json: the file must be text in UTF-8$"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(name, text, sentence, tmp_path):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run("account", file, "--delta", 1e-6)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert re.search(sentence, result.stderr.strip())


def test_a_file_with_a_mark_of_its_encoding_is_read(tmp_path):
    for name, mark in (("d.json", "\ufeff"), ("d.yaml", "\ufeff")):
        (tmp_path / name).write_text(mark + json.dumps(DEPLOYMENT), "utf-8")
        succeed("account", tmp_path / name, "--delta", 1e-6)


def test_the_file_that_is_wrong_is_named(tmp_path):
    (tmp_path / "days.csv").write_text("date,n\n2026-01-01,2000\n2026-01-02,3\n")
    content = {"colluding": 100, "reports": DEPLOYMENT["reports"]}
    asked = account(content, tmp_path, "--days", tmp_path / "days.csv")
    result = run(*asked)
    assert f"{tmp_path / 'days.csv'}: n must be larger on day 2026-01-02: of 3 users" in (
        result.stderr
    )
    assert "d.json" not in result.stderr
    assert f"{tmp_path / 'd.json'}: users must be left out" in (
        run(*account({**content, "users": 5}, tmp_path, *asked[4:])).stderr
    )
    alone = {**content, "users": 3, "days": 1}
    assert f"{tmp_path / 'd.json'}: n must be larger" in run(*account(alone, tmp_path)).stderr


def test_noise_names_the_option_on_epsilon():
    asked = ("noise", "--steps", 10, "--delta", 1e-6)
    assert "--eps must be an epsilon above 0" in run(*asked, "--eps", 0).stderr
    assert "Not even a noise multiplier of 1000 is known" in run(*asked, "--eps", 1e-9).stdout


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("account d.yaml days.csv --delta 0.1", "every option has a name, such as --days"),
        ("users --n 5", "No such option '--n'; that is what this command finds; "),
        ("eps0 --eps0 5", "No such option '--eps0'; that is what this command finds; "),
        (
            "noise --n 5 --eps 1 --delta 1e-6",
            "--n must be left out: random_allocation has --steps",
        ),
        ("noise --step 5", "did you mean --steps?"),
        (
            "check --mechanism krr --k 4 --n 9 --delta 0.1 --eps 1",
            "Missing option '--eps0', which KRR(k=4) needs.",
        ),
        ("curve --mechanism krr --k 4 --versus any", "any is not a mechanism; see --bound stro"),
        ("curve --mechanism krr --k 4 --versus 'krr k=2 eps0=1'", "it follows from --eps0"),
    ],
)
def test_refusals_say_what_to_do(asked, sentence):
    result = run(*shlex.split(asked))
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize(
    ("reports", "sentence"),
    [
        ({"a": {**FRESH, "mechanism": "krr"}}, "reports.a.mechanism: it must be like {type: krr, "),
        ([FRESH], "; write a name and a colon in place of each dash"),
    ],
)
def test_descriptions_of_reports_are_refused_with_a_form(reports, sentence, tmp_path):
    result = run(*account({"users": 9, "days": 1, "reports": reports}, tmp_path))
    assert sentence in result.stderr


def test_combinations_of_parts_are_listed():
    assert "Combinations (one --part per component): joint, parallel" in printed("mechanisms")
