"""``--mechanism matrix``: its answers, the inputs it names, and its mistakes."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from commands import answer, run, succeed
from enumeration import precise_exp, truth
from markdown_it import MarkdownIt
from repository import ROOT

import shufflebounds as sb

ROWS = np.array([[0.5, 0.375, 0.125], [0.125, 0.75, 0.125], [0.375, 0.125, 0.5]])
EPS0 = math.log(6.0)


def holds(enclosure: dict, truth: float, tolerance: float = 1e-8) -> bool:
    lower, upper = enclosure["lower"], enclosure["upper"]
    return lower * (1 - tolerance) <= truth <= upper * (1 + tolerance)


def largest(rows: np.ndarray, held: int, eps: float) -> float:
    """D(ε) of two users, the victim with input 0 or 1 and the other with `held`, enumerated."""
    a, b, other = (rows[x].tolist() for x in (0, 1, held))
    return float(max(truth(*pair, [other], precise_exp(eps)) for pair in ((a, b), (b, a))))


@pytest.fixture
def options(tmp_path):
    return ("--mechanism", "matrix", "--file", written(tmp_path / "m.csv", ROWS))


def written(path, rows) -> str:
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")
    return str(path)


def rows_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("  ")]


def test_delta_is_the_largest_of_all_inputs(options):
    """Two users, by enumeration of all inputs of the victim and the other user."""
    found = answer("delta", *options, "--n", "2", "--eps", "0.2")
    worst = max(
        (largest(ROWS[[x0, x1, x2]], 2, 0.2), (x0, x1), x2)
        for x0, x1 in itertools.combinations(range(3), 2)
        for x2 in range(3)
    )
    lower = found["lower"]
    assert holds(lower, worst[0], 1e-12)
    assert (lower["inputs"], lower["others"]) == (
        " against ".join(map(str, worst[1])),
        str(worst[2]),
    )
    assert found["blanket"]["upper"] >= worst[0]
    each = sb.MatrixRandomizer(ROWS).blankets()
    upper = max(sb.delta(pair, 0.2, 2).upper for pair in each.values())
    assert found["blanket"]["upper"] == pytest.approx(upper, rel=1e-12)
    pair = each[found["blanket"]["inputs"]]
    assert sb.delta(pair, 0.2, 2).upper == pytest.approx(upper, rel=1e-12)
    assert found["eps0"] == pytest.approx(EPS0, rel=1e-14)
    assert found["eps0"] >= EPS0


def test_epsilon_is_that_of_the_worst_pair_of_the_library(options):
    found = answer("epsilon", *options, "--n", "1e4", "--delta", "1e-6")
    randomizer = sb.MatrixRandomizer(ROWS)
    name, worst = sb.worst_epsilon(randomizer.blankets(), 10_000, 1e-6)
    assert found["blanket"] == {"lower": worst.lower, "upper": worst.upper, "inputs": name}
    name, lower = sb.best_lower_epsilon(randomizer.dataset_pairs(), 10_000, 1e-6)
    assert found["lower"]["lower"] == pytest.approx(lower.lower, rel=1e-4)
    assert f"{found['lower']['inputs']} among {found['lower']['others']}" == name
    clone = sb.epsilon(sb.stronger_clone(found["eps0"]), 10_000, 1e-6)
    assert found["stronger_clone"] == {"lower": clone.lower, "upper": clone.upper}


def test_people_are_told_eps0_the_inputs_and_how_they_are_counted(options):
    text = succeed("epsilon", *options, "--n", "1e4", "--delta", "1e-6").stdout
    assert text.startswith("m.csv (eps0 = 1.79176), n = 10000 users")
    *headings, tight, upper, lower, clone = rows_of(text)
    assert {"victim's", "inputs", "worst", "input"} <= set(" ".join(headings).split())
    for row in (tight, lower):
        assert " ".join(row.split()).endswith(" % 1 against 2 2") == (row is tight)
        assert " ".join(row.split()).endswith(" 1 against 2 2")
    assert upper.endswith("  1 against 2")
    assert "against" not in clone
    asked = ("epsilon", *options, "--n", "1e4", "--delta", "1e-6", "--explain")
    said = "Inputs are the rows of m.csv, counted from 0."
    assert said in succeed(*asked).stdout.replace("\n", " ")


def test_users_are_enough_for_all_inputs(options):
    target = ("--eps", "0.1", "--delta", "1e-6")
    found = answer("users", *options, *target)
    each = {
        name: sb.fewest_users(pair, eps=0.1, delta=1e-6)
        for name, pair in sb.MatrixRandomizer(ROWS).blankets().items()
    }
    upper = found["blanket"]
    assert upper["upper"] == max(one.upper for one in each.values()) == each[upper["inputs"]].upper
    pairs = sb.MatrixRandomizer(ROWS).dataset_pairs()
    best = max(sb.fewest_users(pair, eps=0.1, delta=1e-6).lower for pair in pairs.values())
    assert found["lower"]["lower"] == best


def test_joint_and_rare_reports_of_a_matrix(options):
    """At n = 1 a report hides nothing: D(ε) of the rows of the joint, and of ⊥ beside them."""

    def alone(rows, eps):
        sure = rows.min(axis=0)
        pairs = itertools.permutations(range(len(rows)), 2)
        return max(np.maximum(rows[x] - math.exp(eps) * rows[y], 0.0).sum() for x, y in pairs), sure

    both, _ = alone(np.kron(ROWS, ROWS), 0.3)
    found = answer("delta", *options, "--k-joint", "2", "--n", "1", "--eps", "0.3")
    assert holds(found["blanket"], both, 1e-12)
    assert found["eps0"] == pytest.approx(2.0 * EPS0, rel=1e-14)
    assert found["blanket"]["inputs"].count(" against ") == 2
    assert "of all coordinates together" in found["notes"][0]
    text = succeed("delta", *options, "--k-joint", "2", "--n", "1", "--eps", "0.3").stdout
    assert text.startswith("2 x m.csv (eps0 = 1.79176 each), n = 1 user,")
    assert (
        "Each of them has the eps0 of the matrix; together they have eps0 = 3.58352"
        in found["notes"][1]
    )
    rare, _ = alone(np.hstack([0.25 * ROWS, np.full((3, 1), 0.75)]), 0.3)
    found = answer("delta", *options, "--rate", "0.25", "--n", "1", "--eps", "0.3")
    assert holds(found["blanket"], rare, 1e-12)


def test_in_every_round_another_pair_may_be_the_worst(options, monkeypatch):
    # Without the bound for all datasets, which takes seconds and is not asked about here.
    monkeypatch.setattr(sb.MatrixRandomizer, "crowds", lambda self: ())
    question = ("--n", "50", "--delta", "1e-3", "--rounds", "2")
    found = answer("epsilon", *options, *question)
    randomizer = sb.MatrixRandomizer(ROWS)
    blankets = list(randomizer.blankets().values())
    together = sb.compose([(blankets, 50, 2)]).epsilon(1e-3)
    assert found["blanket"] == {"lower": together.lower, "upper": together.upper}
    for pair in blankets:
        assert sb.epsilon(pair, 50, 1e-3, rounds=2).lower <= together.upper
    name = f"{found['lower']['inputs']} among {found['lower']['others']}"
    lower = sb.epsilon(randomizer.dataset_pairs()[name], 50, 1e-3, rounds=2)
    assert found["lower"]["lower"] == pytest.approx(lower.lower, rel=1e-4)
    assert "another may be the worst in each" in found["notes"][0]


def test_a_curve_names_the_inputs_and_stands_for_the_numbers(options, tmp_path):
    arguments = ("--delta", "1e-6", "--start", "1e3", "--stop", "1e4", "--points", "2")
    result = succeed("curve", *options, *arguments)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["inputs"] for row in rows if row["bound"] != "stronger_clone"] == [
        "1 against 2"
    ] * 6
    assert [row["others"] for row in rows if row["bound"] == "lower"] == ["2"] * 2
    for row in rows:
        assert float(row["eps0"]) == pytest.approx(EPS0, rel=1e-14)
        found = answer("epsilon", *options, "--n", row["n"], "--delta", "1e-6", "--rtol", "1e-4")
        # Points that are asked for together help one another.
        assert float(row["epsilon_upper"]) == pytest.approx(found[row["bound"]]["upper"], rel=2e-4)
    other = ("--mechanism", "matrix", "--file", written(tmp_path / "m.csv", ROWS[::-1]))
    again = list(csv.DictReader(io.StringIO(succeed("curve", *other, *arguments).stdout)))
    assert not {row["digest"] for row in rows} & {row["digest"] for row in again}


def test_a_claim_of_a_matrix_is_proven_again(tmp_path):
    """Though its rows, as decimals, do not sum to 1: both programs divide them by their sums."""
    file, claim = tmp_path / "thirds.csv", tmp_path / "claim.json"
    matrix = written(file, [[1 / 3, 1 / 3, 1 / 3], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]])
    asked = ("--mechanism", "matrix", "--file", matrix, "--n", "1e3", "--claim", str(claim))
    succeed("epsilon", *asked, "--delta", "1e-6")
    found = verify(claim)
    kinds = ["D(ε) ≤ δ of all datasets", "D(ε) ≤ δ of all datasets", "D(ε) ≥ δ of two datasets"]
    verdicts, proofs = found.stdout.splitlines()[::2], found.stdout.splitlines()[1::2]
    assert [verdict.partition(" of 3 rows, n = 1000")[0] for verdict in verdicts] == [
        f"proven: {bound}" for bound in ("blanket", "all", "pair")
    ]
    assert all(proof.startswith(f"  {kind}") for proof, kind in zip(proofs, kinds, strict=True))
    claims = json.loads(claim.read_text("utf-8"))
    claim.write_text(json.dumps([{**one, "eps": 0.9 * one["eps"]} for one in claims[:2]]), "utf-8")
    assert verify(claim).returncode == 1
    written(file, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    result = run("epsilon", *asked, "--delta", "1e-6")
    assert result.stderr.endswith("no epsilon is known to hold at this delta\n")
    assert "no matrices" in run("epsilon", *asked, "--delta", "0.5", "--k-joint", "2").stderr


def verify(*args) -> subprocess.CompletedProcess:
    command = [sys.executable, "-I", str(ROOT / "verify" / "verify.py"), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_report_that_gives_an_input_away_has_no_clone(tmp_path):
    path = written(tmp_path / "m.csv", [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    arguments = ("--mechanism", "matrix", "--file", path, "--n", "100")
    found = answer("epsilon", *arguments, "--delta", "0.4")
    assert found["eps0"] is None
    assert "stronger_clone" not in found
    assert found["blanket"] == {"lower": None, "upper": None, "inputs": "0 against 1"}
    text = succeed("epsilon", *arguments, "--delta", "0.4").stdout
    assert "is known to hold" not in text
    assert "Two datasets rule out every epsilon at this delta." in text.replace("\n", " ")
    assert "may be claimed" not in text
    text = succeed("delta", *arguments, "--eps", "1").stdout
    assert text.startswith("m.csv (eps0 = inf), n = 100 users")
    assert "clone" not in text


def test_what_no_eps0_bounds_is_answered_by_what_knows_the_mechanism(tmp_path):
    path = written(tmp_path / "m.csv", [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    arguments = ("--mechanism", "matrix", "--file", path, "--n", "10")
    refuted = run("check", *arguments, "--delta", "1e-6", "--eps", "1")
    assert refuted.exit_code == 1
    assert "rule out every epsilon at this delta" in refuted.stdout.replace("\n", " ")
    assert "stronger_clone" not in refuted.stdout
    # A report tells its input with probability 1/2, else nothing.
    assert run("check", *arguments, "--delta", "0.6", "--eps", "0").exit_code == 0
    found = answer("renyi", *arguments, "--order", "2")
    assert found["blanket"] == {"lower": None, "upper": None}
    assert "stronger_clone" not in found
    assert "girgis_upper" not in found
    text = succeed("renyi", *arguments, "--order", "2").stdout
    text = " ".join(text.split())
    assert "is known to hold" not in text
    assert "Two datasets differ beyond all bounds at this order." in text


OWN_EPS0 = ": --file sets the noise of matrix"
MISTAKES = [
    ("epsilon --n 9 --delta 0.1 --eps0 1", OWN_EPS0),
    ("curve --delta 0.1 --eps0 1", OWN_EPS0),
    (
        "curve --delta 0.1 --n 9 --x eps0 --start 1 --stop 2",
        OWN_EPS0,
    ),
    ("eps0 --n 9 --delta 0.1 --eps 1", OWN_EPS0),
    ("epsilon --n 9 --delta 0.1 --k 3", "--k is not an option of matrix; its own options: --file"),
]


@pytest.mark.parametrize(("asked", "message"), MISTAKES)
def test_what_a_matrix_does_not_take_is_told_in_one_sentence(options, asked, message):
    command, *more = asked.split()
    result = run(command, *options, *more)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_a_bad_file_is_told_in_one_sentence_before_any_work(tmp_path, monkeypatch):
    path = tmp_path / "m.csv"
    path.write_text("0.5,0.5\n0.5,half\n")
    monkeypatch.setattr(
        sb.MatrixRandomizer, "blankets", lambda _: pytest.fail("worked on a bad file")
    )
    question = ("--n", "100", "--delta", "1e-6")
    result = run("epsilon", "--mechanism", "matrix", "--file", str(path), *question)
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: file '{path}', line 2, column 2 must be a probability, 0 or from 1e-300 to 1, "
        "got 'half'\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        "<img src=x onerror=alert(1)>.csv",
        "<b>&amp;|`code`[a](http:b) ![i](j) *k* _l_ ~~m~~ $n$.csv",
        "# a\n```\n<script>.csv",
    ],
)
def test_a_report_shows_the_name_of_a_file_and_never_runs_it(tmp_path, monkeypatch, name):
    """As a program for Markdown, and a browser's parser, read the page."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / name, ROWS)
    asked = ("epsilon", "--mechanism", "matrix", f"--file={name}", "--n", "9", "--delta", "0.1")
    for suffix in (".md", ".html"):
        page = tmp_path / f"page{suffix}"
        succeed(*asked, "--report", str(page))
        text = page.read_text("utf-8")
        if suffix == ".md":
            text = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
        seen = _Seen()
        seen.feed(text)
        allowed = "h1 h2 p ul li table thead tbody tr th td pre code details summary"
        allowed += " html head body meta title style" if suffix == ".html" else ""
        assert seen.tags <= set(allowed.split())
        # Only the answer is a title.
        assert text.count("<h1") == 1
        # In the title, the note on rows, the command and the object.
        assert " ".join(seen.text.split()).count(" ".join(name.split())) >= 3
        assert seen.text.count("How to verify") == 1


class _Seen(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)

    def handle_data(self, data) -> None:
        self.text += data


def test_the_risk_of_rounds_looks_at_all_pairs_of_inputs(options):
    """In each of the rounds another pair may be the worst."""
    found = answer("risk", *options, "--n", "9", "--rounds", "2")["advantage"]
    blankets = sb.MatrixRandomizer(ROWS).blankets().values()
    advantage = sb.compose([(blankets, 9, 2)]).delta(0.0)
    assert found["blanket"]["upper"] == pytest.approx(advantage.upper, rel=0.02)
    pairs = sb.MatrixRandomizer(ROWS).dataset_pairs().values()
    assert found["blanket"]["upper"] >= max(
        sb.compose([(pair, 9, 2)]).delta(0.0).lower for pair in pairs
    )
