"""Who reports: shares that drop out, mechanisms of which only ε₀ is known, rounds that differ."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from commands import answer, run, run_in_terminal

import shufflebounds as sb
from shufflebounds.cli.scenario import honest_users, registered_users
from shufflebounds.curves import curve as curves
from shufflebounds.curves.plotting import looks, sheets
from shufflebounds.curves.storage import CurveName

KRR = ("--mechanism", "krr", "--k", 4, "--eps0", 2)
DELTA = ("--delta", 1e-6)


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.3, 0.7, 1 / 3, 1e-9, 0.999])
@pytest.mark.parametrize("n", [1001, 10**6, 10**15])
def test_dropouts_are_counted_before_colluding_users(dropout, n):
    reporting = math.floor(n * (1 - Fraction(str(dropout))))
    assert honest_users(n, 0, dropout) == reporting
    colluding = reporting // 2
    assert honest_users(n, colluding, dropout) == reporting - colluding
    fewest = registered_users(reporting - colluding, colluding, dropout)
    assert honest_users(fewest, colluding, dropout) >= reporting - colluding
    if fewest > 1 and (fewest - 1) * (1 - Fraction(str(dropout))) >= colluding + 1:
        assert honest_users(fewest - 1, colluding, dropout) < reporting - colluding


def test_a_tenth_of_a_million_is_a_tenth():
    """The float 0.1 is larger than a tenth, and of 10^6 users it would leave 899 999."""
    assert honest_users(10**6, 0, 0.1) == 900_000


def test_answers_are_for_those_who_report():
    asked = (*KRR, *DELTA, "--dropout", 0.25, "--colluding", 500)
    found = answer("epsilon", *asked, "--n", 10_000)
    assert found["n_honest"] == 7000
    assert found["blanket"] == answer("epsilon", *KRR, *DELTA, "--n", 7000)["blanket"]
    assert "n = 10000 users (25 % of them drop out, 500 of them colluding)" in " ".join(
        run("epsilon", *asked, "--n", 10_000).stdout.split()
    )
    assert any(note.startswith("The share 0.25 of the users") for note in found["notes"])
    alone = answer("users", *KRR, *DELTA, "--eps", 0.5)["blanket"]
    fewer = answer("users", *asked, "--eps", 0.5)["blanket"]
    assert fewer["upper"] == math.ceil((alone["upper"] + 500) / 0.75)
    also = answer("epsilon", *asked, "--n", 10_000, "--also", "20000:2")["blanket"]
    plain = answer("epsilon", *KRR, *DELTA, "--n", 7000, "--also", "14500:2")["blanket"]
    assert also == plain


@pytest.mark.parametrize("dropout", ["1", "-0.1", "1.5"])
def test_a_share_that_leaves_nobody_is_a_mistake(dropout):
    result = run("epsilon", *KRR, *DELTA, "--n", 100, "--dropout", dropout)
    assert result.exit_code == 2
    assert re.search("dropout(': it)? must", result.stderr)


ANY = ("--mechanism", "any", "--eps0", 5)


def test_who_knows_eps0_alone_may_claim_the_stronger_clone():
    found = answer("epsilon", *ANY, *DELTA, "--n", 10_000)
    clone = sb.epsilon(sb.stronger_clone(5.0), 10_000, 1e-6)
    assert found["blanket"] == {"lower": clone.lower, "upper": clone.upper}
    # A smaller claim is false for a mechanism with this ε₀.
    three = sb.epsilon(sb.KRR(3, 5.0).dataset_pairs()["third"], 10_000, 1e-6)
    assert found["lower"]["lower"] == pytest.approx(three.lower, rel=1e-4)
    assert found["mechanism"] == "any"
    assert "stronger_clone" not in found
    text = " ".join(run("epsilon", *ANY, *DELTA, "--n", 10_000).stdout.split())
    assert "stronger clone" in text
    assert "blanket" not in text
    assert "If the shuffler fails, eps0 = 5 remains." in text
    assert "All users must share one mechanism with this eps0; the lower bound is that of" in text


@pytest.mark.parametrize("mechanism", [sb.KRR(2, 1.5), sb.KRR(10, 1.5), sb.BLH(1.5), sb.OUE(1.5)])
def test_what_holds_for_any_mechanism_holds_for_each(mechanism):
    asked = ("--mechanism", "any", "--eps0", 1.5)
    found = answer("epsilon", *asked, *DELTA, "--n", 500)
    assert sb.epsilon(mechanism, 500, 1e-6).lower <= found["blanket"]["upper"]
    month = answer("epsilon", *asked, *DELTA, "--n", 500, "--also", "800:3")
    rounds = [(mechanism.dataset_pair(), n, times) for n, times in ((500, 1), (800, 3))]
    assert sb.compose(rounds).epsilon(1e-6).lower <= month["blanket"]["upper"]


def test_is_this_batch_large_enough():
    found = answer("users", *ANY, *DELTA, "--eps", 1)
    clone = sb.fewest_users(sb.stronger_clone(5.0), 1.0, 1e-6)
    assert found["blanket"]["upper"] == clone.upper
    for n, verdict in ((clone.upper, "PROVEN"), (found["lower"]["lower"] - 1, "REFUTED")):
        text = run("check", *ANY, *DELTA, "--eps", 1, "--n", n, "--rtol", 1e-6).stdout
        assert text.split("\n\n")[1].startswith(f"{verdict}.")
    assert "of randomized response of three values" in " ".join(text.split())


def test_options_of_named_mechanisms_are_refused_for_any():
    for more in (("--rate", 0.5), ("--k-joint", 2)):
        result = run("epsilon", *ANY, *DELTA, "--n", 100, *more)
        assert result.exit_code == 2
        assert "it needs a named mechanism" in result.stderr


@pytest.fixture
def without_crowds(monkeypatch):
    """Without the bound for all datasets, which takes seconds in several rounds."""
    monkeypatch.setattr(sb.KRR, "crowds", lambda self: ())


@pytest.mark.usefixtures("without_crowds")
def test_a_claim_on_rounds_that_differ_is_judged_by_their_composition():
    asked = (*KRR, *DELTA, "--n", 10_000, "--also", "20000:3")
    R = sb.KRR(4, 2.0)
    rounds = [(10_000, 1), (20_000, 3)]
    upper = sb.compose([(R.blanket(), n, times) for n, times in rounds]).epsilon(1e-6).upper
    pair = R.dataset_pairs()["third"]
    lower = sb.compose([(pair, n, times) for n, times in rounds]).epsilon(1e-6).lower
    for eps, verdict in ((1.002 * upper, "proven"), (0.998 * lower, "refuted")):
        result = run("check", *asked, "--eps", eps, "--json")
        assert f'"verdict": "{verdict}"' in result.stdout
    # No bound of one shuffle of the first n users is among those that decide.
    found = answer("check", *asked, "--eps", 1.002 * upper)["bounds"]
    assert not [name for name in found if name.startswith(("blanket_b", "blanket_h", "girgis_u"))]
    proven = [bound["upper"] for bound in found.values() if bound["kind"] == "upper"]
    assert min(proven) >= lower


@pytest.mark.usefixtures("without_crowds")
def test_the_risk_of_rounds_that_differ_is_that_of_their_composition():
    asked = (*KRR, "--n", 10_000, "--also", "20000:2")
    found = answer("risk", *asked)["advantage"]
    rounds = [(sb.KRR(4, 2.0).blanket(), 10_000, 1), (sb.KRR(4, 2.0).blanket(), 20_000, 2)]
    advantage = sb.compose(rounds).delta(0.0)
    assert found["blanket"]["upper"] == pytest.approx(advantage.upper, rel=0.01)
    assert found["blanket"]["upper"] >= advantage.lower


CURVE = ("curve", *KRR, *DELTA, "--start", 1000, "--stop", 4000, "--points", 2)


def test_curves_of_several_mechanisms_are_those_of_each(tmp_path):
    table, figure = tmp_path / "curves.csv", tmp_path / "curves.svg"
    further = ("--versus", "blh", "--versus", "krr k=20")
    result = run(*CURVE, "--bound", "blanket", *further, "-o", table, "--plot", figure)
    assert result.exit_code == 0, result.stderr
    frame = curves.read(table)
    for name, mechanism in (
        ("KRR(k=4)", sb.KRR(4, 2.0)),
        ("BLH", sb.BLH(2.0)),
        ("KRR(k=20)", sb.KRR(20, 2.0)),
    ):
        rows = frame[frame["experiment"] == name]
        for n, upper in zip(rows["n"], rows["epsilon_upper"], strict=True):
            expected = sb.epsilon(mechanism.blanket(), n, 1e-6)
            assert upper == pytest.approx(expected.upper, rel=2e-4)
    assert figure.read_bytes().lstrip().startswith(b"<?xml")


def test_columns_of_several_mechanisms_are_called_like_them():
    further = ("--bound", "clone", "--bound", "blanket", "--versus", "duchi")
    printed = run_in_terminal(*CURVE, *further)
    heading = " ".join(printed.split("\n\n")[1].split())
    for name in ("KRR(k=4): clone", "Duchi: clone", "Duchi: blanket"):
        assert all(word in heading for word in name.split())
    assert len(printed.split("\n\n")[1].splitlines()[-1].split()) == 5


def test_lines_of_several_mechanisms_are_called_like_them():
    names = ("KRR(k=4)", "BLH", "KRR(k=20)")
    made = []
    for name, mechanism in zip(names, (sb.KRR(4, 2.0), sb.BLH(2.0), sb.KRR(20, 2.0)), strict=True):
        curve = sb.curve(mechanism, "blanket", n=[1000, 4000], delta=1e-6)
        made.append(replace(curve, name=CurveName(name, "command line", "blanket")))
    [[view]] = sheets.of_computed(made, "").rows
    assert [line.label for line, _ in view.lines] == ["4-RR", "BLH", "20-RR"]
    first, blh, second = (line.look for line, _ in view.lines)
    assert first.color == second.color != blh.color
    assert first.dashes != second.dashes
    assert first.marker != second.marker
    [[view]] = sheets.of_computed(made[:1], "").rows
    assert [line.label for line, _ in view.lines] == ["blanket"]


def test_enclosures_that_are_too_wide_are_drawn_and_take_no_curve_with_them(tmp_path):
    table, figure = tmp_path / "curves.csv", tmp_path / "curves.svg"
    gaussian = ("--mechanism", "gaussian", "--sigma", 0.8, *DELTA, "--start", 1000, "--stop", 1e5)
    bounds = ("--bound", "blanket", "--bound", "lower", "--points", 2)
    result = run("curve", *gaussian, *bounds, "-o", table, "--plot", figure)
    assert result.exit_code == 3
    assert "is left empty" in result.stderr
    frame = curves.read(table)
    assert len(frame) == 4
    assert frame["epsilon_upper"].isna().any()
    picture = figure.read_text(encoding="utf-8")
    for words in ("% wide", "blanket", "lower bound"):
        assert f"<!-- {words}" in picture or words in picture


def test_curves_are_written_whatever_prevents_their_picture(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shufflebounds.curves.plotting.figures.draw", refuse)
    table, picture = tmp_path / "curves.csv", tmp_path / "curves.svg"
    for output in (("-o", table), ()):
        result = run(*CURVE, "--bound", "blanket", *output, "--plot", picture)
        assert result.exit_code == 2
        assert "cannot write" in result.stderr
        assert "checksum" in (table.read_text(encoding="utf-8") if output else result.stdout)


def test_what_stands_for_the_blanket_looks_like_what_it_is():
    """Of any mechanism, the stronger clone."""
    assert looks.role("blanket", "stronger clone") == "stronger_clone"
    assert looks.role("blanket", "blanket") == "blanket"
    assert looks.role("lower", "a bound of mine") == "lower"


def test_what_cannot_be_compared_is_a_mistake():
    for text, message in (
        ("blx", "--versus 'blx': mechanism must be one of"),
        ("krr k=4", "--versus must name other mechanisms"),
        ("krr k", "--versus must be a mechanism and its parameters, such as 'krr k=20'"),
        ("", "--versus must be a mechanism and its parameters"),
        ("krr", "--versus 'krr': k is missing"),
    ):
        result = run(*CURVE, "--versus", text)
        assert result.exit_code == 2
        assert message in result.stderr
