"""The second program: proves what is true, never what is false, and refuses what it cannot read."""

import itertools
import json
import math
import random
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from statistics import NormalDist

import pytest
from repository import ROOT

import shufflebounds as sb

pytest.importorskip("flint")
sys.path.insert(0, str(ROOT / "benchmarks"))

import proofs as campaign

verify = campaign.program()

KRR = {
    "bound": "blanket",
    "mechanism": "krr",
    "k": 10,
    "eps0": 4.0,
    "n": 10**5,
    "eps": 0.11,
    "delta": 1e-6,
}
ROWS = {
    "krr": ({"k": 2, "eps0": 1.0}, lambda e: [[e, 1], [1, e]]),
    "duchi": ({"eps0": 1.0}, lambda e: [[e, 1], [1, e]]),
    "oue": ({"eps0": 1.0, "domain_size": 2}, lambda e: [[e, e, 1, 1], [e, 1, e, 1]]),
    "blh": ({"eps0": 1.0, "domain_size": 2}, lambda e: [[e, e, 1, 1], [e, 1, e, 1]]),
    "rappor": (
        {"eps0": 1.0, "domain_size": 2},
        lambda e: [[e**0.5, e, 1, e**0.5], [e**0.5, 1, e, e**0.5]],
    ),
}


def proven(claim):
    [read] = verify.read(json.dumps({"bound": "blanket", **claim}))
    return verify.attempt(verify.verdict, read)[0]


def enumerated(one, two, n, eps):
    """D of the blanket of two rows, summed over all outcomes of n draws."""
    parts = [(float(a), float(b), float(min(a, b))) for a, b in zip(one, two, strict=True)]
    law = [((a - math.exp(eps) * b) / c, c) for a, b, c in parts if c]
    law.append((0.0, 1.0 - sum(c for _, c in law)))
    positive = sum(max(0.0, a - math.exp(eps) * b) for a, b, c in parts if not c)
    draws = itertools.product(law, repeat=n)
    return positive + math.fsum(
        math.prod(c for _, c in draw) * max(0.0, sum(g for g, _ in draw)) / n for draw in draws
    )


def around(claim, truth):
    """What is said of a δ below and above the truth."""
    return proven({**claim, "delta": 0.999 * truth}), proven({**claim, "delta": 1.01 * truth})


@pytest.mark.parametrize("name", ROWS)
def test_mechanisms_are_proven_from_the_truth_on(name):
    own, rows = ROWS[name]
    one, two = ([x / sum(row) for x in row] for row in rows(math.e))
    claim = {"mechanism": name, **own, "n": 3, "eps": 0.2}
    assert around(claim, enumerated(one, two, 3, 0.2)) == (False, True)


def test_matrices_are_never_proven_below_the_truth():
    draw = random.Random(1)
    for _ in range(8):
        rows = []
        for _ in range(2):
            cuts = sorted(draw.sample(range(1, 16), 2))
            counts = [cuts[0], cuts[1] - cuts[0], 16 - cuts[1]]
            draw.shuffle(counts)
            rows.append([Fraction(x, 16) for x in counts])
        n, eps = draw.randint(1, 4), draw.choice((0.0, 0.1, 0.3))
        truth = max(enumerated(*rows, n, eps), enumerated(*rows[::-1], n, eps))
        claim = {"mechanism": [list(map(float, row)) for row in rows], "n": n, "eps": eps}
        if truth:
            assert not proven({**claim, "delta": 0.999 * truth})


def test_outputs_that_only_one_input_has_count():
    rows = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    claim = {"mechanism": rows, "n": 2, "eps": 0.0}
    assert around(claim, enumerated(*rows, 2, 0.0)) == (False, True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("eps", "0.11"),
        ("eps", math.nan),
        ("eps", math.inf),
        ("eps", -0.1),
        ("eps", [0.11]),
        ("eps", None),
        ("delta", 0),
        ("delta", 1),
        ("n", 0),
        ("n", 1.5),
        ("k", True),
        ("k", 1),
        ("eps0", 0),
        ("epsilon", 1),
        ("bound", "upper"),
        ("bound", ["blanket"]),
        ("bound", "pair"),
        ("datasets", [0, 1, 2]),
        ("mechanism", "kr"),
        ("mechanism", {"krr": 1}),
        ("mechanism", "clone"),
        ("rounds", 0),
        ("rate", 1.5),
        ("reports", 0.5),
    ],
)
def test_a_tampered_claim_is_refused(key, value, tmp_path, capsys):
    refused(json.dumps({**KRR, key: value}), tmp_path, capsys)


def refused(text, tmp_path, capsys):
    file = tmp_path / "claim.json"
    file.write_text(text, encoding="utf-8")
    assert verify.main(file) == 1
    assert capsys.readouterr().out.startswith("not proven: ")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(KRR)[:-1] + ', "eps": 5}',
        json.dumps(KRR).replace("1e-06", "1e999999999"),
        json.dumps({**KRR, "bound": "pair", "datasets": [0, 2, 1]}),
        json.dumps({**KRR, "bound": "pair", "datasets": [0, 1]}),
        json.dumps({**KRR, "bound": "all", "rounds": 2}),
        json.dumps({**KRR, "bound": "all", "reports": 2}),
        json.dumps({**KRR, "bound": "all", "n": 1}),
        json.dumps(
            {"bound": "all", "mechanism": "clone", "eps0": 1, "n": 9, "eps": 9, "delta": 0.9}
        ),
        *(
            json.dumps({"bound": "blanket", "mechanism": rows, "n": 9, "eps": 9, "delta": 0.9})
            for rows in (
                [[0.5, 0.4], [0.5, 0.5]],
                [[1.5, -0.5], [0.5, 0.5]],
                [[0.1, 0.2, 0.7], [1]],
                [["0.5", 0.5], [0.5, 0.5]],
                [[1]],
                [[], []],
                [],
            )
        ),
        "[]",
        "",
        "[" * 100_000,
        "5",
    ],
)
def test_what_is_no_claim_is_not_proven(text, tmp_path, capsys):
    refused(text, tmp_path, capsys)


def test_one_bad_claim_in_a_file_is_told_and_the_program_needs_nothing_of_ours(tmp_path):
    file = tmp_path / "claims.json"
    file.write_text(json.dumps([KRR, {**KRR, "eps": 0.1}]), encoding="utf-8")
    program = [sys.executable, "-I", str(campaign.PROGRAM), str(file)]
    found = subprocess.run(program, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert [line.partition(":")[0] for line in found.stdout.splitlines()[::2]] == [
        "proven",
        "not proven",
    ]
    # Progress is for terminals.
    assert found.stderr == ""
    text = campaign.PROGRAM.read_text(encoding="utf-8")
    assert "import shufflebounds" not in text
    assert len(text.splitlines()) <= 520


def test_a_missing_file_and_a_failed_proof_have_different_exit_codes(tmp_path, capsys):
    file = tmp_path / "claim.json"
    assert verify.main(file) == 2
    file.write_text(json.dumps({**KRR, "eps": 0.1}), encoding="utf-8")
    assert verify.main(file) == 1
    file.write_text(json.dumps(KRR), encoding="utf-8")
    assert verify.main(file) == 0
    capsys.readouterr()


@pytest.mark.parametrize("rounds", [1, 30])
@pytest.mark.parametrize(("bound", "size"), [("blanket", 150), ("all", 20)])
def test_a_matrix_that_would_take_hours_is_refused_before_any_sum(bound, size, rounds):
    rows = [[1.0 / 64] * 64] * size
    claim = {"bound": bound, "mechanism": rows, "n": 9, "eps": 1, "delta": 0.1, "rounds": rounds}
    with pytest.raises(ValueError, match=f"a matrix of {size} rows of 64 is too large"):
        verify.read(json.dumps(claim))


def test_reports_of_too_many_kinds_together_are_refused(monkeypatch):
    monkeypatch.setattr(verify, "MOST_VALUES", 100)
    claim = {"mechanism": "rappor", "domain_size": 5, "eps0": 0.1, "n": 9, "eps": 1, "delta": 0.1}
    for reports, is_refused in ((2, False), (64, True)):
        [read] = verify.read(json.dumps({**claim, "bound": "blanket", "reports": reports}))
        is_proven, why = verify.attempt(verify.verdict, read)
        assert ("over 100 kinds" in why) == is_refused
        assert is_proven != is_refused


def test_the_masses_of_subsets_are_those_of_all_subsets():
    """Of few values by listing the subsets; of many by the limit, where bits are independent."""
    e, size, held = math.exp(1.0), 6, 2
    claim = {"mechanism": "subset", "domain_size": size, "subset_size": held}
    sets = list(itertools.combinations(range(size), held))
    total = sum(e if 0 in chosen else 1.0 for chosen in sets)
    for bits in itertools.product((0, 1), repeat=3):
        count = sum(all((x in chosen) == bit for x, bit in enumerate(bits)) for chosen in sets)
        share, _ = verify.chance(claim, verify.arb(e), bits)
        assert float(share) == pytest.approx(count / total, rel=1e-12)
        many = claim | {"domain_size": 10**6, "subset_size": 5 * 10**5}
        share, _ = verify.chance(many, verify.arb(e), bits)
        assert float(share) == pytest.approx(0.125 / (0.5 * e + 0.5), rel=1e-5)


def test_ten_thousand_rounds_are_proven_close_to_their_normal_limit():
    """The victim moves the count of ones by tanh(ε₀/2), which n·2/(e^ε₀ + 1) coins hide."""
    claim = {"mechanism": "krr", "k": 2, "eps0": 0.1, "n": 10**6, "rounds": 10**4, "delta": 1e-2}
    [read] = verify.read(json.dumps({**claim, "bound": "blanket", "eps": 0.0}))
    deviation = 0.5 * math.sqrt(10**6 * 2.0 / (math.exp(0.1) + 1.0))
    distance = math.sqrt(10**4) * math.tanh(0.05) / deviation
    proven = float(verify.composed(read, verify.pairs(read)))
    assert proven == pytest.approx(math.erf(distance / math.sqrt(8.0)), rel=2e-3)


def test_the_bound_for_all_datasets_is_above_the_worst_of_them():
    truth = sb.worst_dataset(sb.KRR(2, 1.0), 150, delta=1e-3).enclosure
    claim = {"bound": "all", "mechanism": "krr", "k": 2, "eps0": 1, "n": 150, "delta": 1e-3}
    assert proven({**claim, "eps": 1.02 * truth.upper})
    assert not proven({**claim, "eps": 0.999 * truth.lower})


def test_rounds_are_proven_from_the_product_of_their_laws_on():
    """Of 2-RR among a dozen users: all outcomes of two rounds, as pairs of counts."""
    n, p = 12, 1.0 / (math.e + 1.0)
    laws = []
    for x, y in itertools.product(range(n + 1), repeat=2):
        if x + y <= n:
            chance = (
                math.comb(n, x) * math.comb(n - x, y) * p ** (x + y) * (1 - 2 * p) ** (n - x - y)
            )
            laws.append((chance * (math.e * x + y) / n, chance * (x + math.e * y) / n))
    assert math.fsum(a for a, _ in laws) == pytest.approx(1.0)
    truth = math.fsum(
        max(0.0, a * c - math.exp(0.5) * b * d) for (a, b), (c, d) in itertools.product(laws, laws)
    )
    claim = {"bound": "blanket", "mechanism": "krr", "k": 2, "eps0": 1, "n": n, "delta": truth}
    [read] = verify.read(json.dumps({**claim, "eps": 0.5, "rounds": 2}))
    assert truth < float(verify.composed(read, verify.pairs(read))) < 1.01 * truth


def test_nothing_false_is_proven_and_what_is_true_nearly_always():
    """Some quick questions of the campaign of `benchmarks/proofs.py`, which has all."""
    asked = (
        question
        for question in campaign.everything(7)
        if question.claim["mechanism"] != "laplace"
        and question.claim["bound"] != "all"
        and not question.claim.keys() & {"rounds", "rate"}
    )
    verdicts = Counter(
        (is_true, is_proven)
        for _, question in zip(range(12), asked, strict=False)
        for is_true, is_proven, _, _ in campaign.judged(verify, question)
    )
    assert verdicts[False, True] == 0
    assert verdicts[True, True] > 5
    assert verdicts[True, False] <= 1


def printed(claims, tmp_path, capsys) -> list[str]:
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(claims), encoding="utf-8")
    verify.main(file)
    return capsys.readouterr().out.splitlines()


def test_the_verdict_restates_the_claim_and_says_what_is_assumed(tmp_path, capsys):
    often = {**KRR, "k": 3, "eps0": 1.0, "n": 3, "rounds": 2, "delta": 0.1, "eps": 1.9}
    claim, proof = printed(often, tmp_path, capsys)
    assert claim == (
        "proven: blanket of krr, k = 3, eps0 = 1.0, n = 3, rounds = 2: ε = 1.9 at δ = 0.1"
    )
    assert proof == (
        "  D(ε) ≤ δ of all datasets and all rounds together; assumed: n users report "
        "independently, and inputs 0 and 1 are the worst."
    )
    pair = {**KRR, "bound": "pair", "eps": 0.1, "datasets": [0, 1, 2]}
    _, proof = printed(pair, tmp_path, capsys)
    assert proof == ("  D(ε) ≥ δ of two datasets: no smaller ε is valid; assumed: nothing.")


def test_few_users_are_told_what_cannot_be_proven(tmp_path, capsys):
    few = {**KRR, "bound": "pair", "k": 4, "eps0": 8.0, "n": 2, "delta": 1e-3, "eps": 7.9967}
    few["datasets"] = [0, 1, 2]
    claim, proof = printed(few, tmp_path, capsys)
    assert claim.startswith("not proven: pair of krr")
    assert proof.startswith("  D(ε) ≥ [")
    assert "by its smoothing, which is coarse for so few users. The claim may be true." in proof


def test_rounds_of_different_numbers_of_users_are_proven():
    """The bound is at least the δ that a pair of datasets has, and at most what is claimed."""
    R = sb.KRR(3, 1.0)
    found = sb.compose([(R.blanket(), 3, 2), (R.blanket(), 5, 1)])
    eps = 1.001 * found.epsilon(0.1).upper
    claim = {"bound": "blanket", "mechanism": "krr", "k": 3, "eps0": 1.0, "delta": 0.1, "n": 3}
    [read] = verify.read(json.dumps({**claim, "rounds": 2, "also": [[5, 1]], "eps": eps}))
    bound = verify.composed(read, verify.pairs(read))
    assert found.delta(eps, rtol=1e-3).lower <= bound <= 0.1


@pytest.mark.parametrize(
    ("parts", "joint"),
    [
        (
            [{"mechanism": "krr", "k": 4, "eps0": 1.0}, {"mechanism": "duchi", "eps0": 0.5}],
            sb.Joint([sb.KRR(4, 1.0), sb.Duchi(0.5)]),
        ),
        (
            [
                {"mechanism": "krr", "k": 3, "eps0": 0.5, "reports": 2},
                {"mechanism": "blh", "domain_size": None, "eps0": 1.0},
            ],
            sb.Joint([sb.KRR(3, 0.5), sb.BLH(1.0), sb.KRR(3, 0.5)]),
        ),
    ],
)
def test_joints_of_different_parts_are_proven(parts, joint):
    found = sb.epsilon(joint.blanket(), 10_000, 1e-6)
    claim = {"mechanism": "joint", "parts": parts, "n": 10_000, "delta": 1e-6}
    assert proven({**claim, "eps": 1.001 * found.upper})
    assert not proven({**claim, "eps": 0.999 * found.lower})
    described = campaign.claim_files.described_claim(joint)
    assert proven({**described, "n": 10_000, "delta": 1e-6, "eps": 1.001 * found.upper})


JOINT = {"mechanism": "joint", "bound": "blanket", "n": 100, "delta": 1e-3, "eps": 1.0}
PART = {"mechanism": "krr", "k": 3, "eps0": 1.0}


@pytest.mark.parametrize(
    "claim",
    [
        {**JOINT, "parts": []},
        {**JOINT, "parts": [JOINT]},
        {**JOINT, "parts": [{**PART, "n": 5}]},
        {**JOINT, "parts": [{**PART, "rate": 0.5}]},
        {**JOINT, "parts": [{"mechanism": "clone", "eps0": 1.0}]},
        {**JOINT, "parts": [{"mechanism": [[0.5, 0.5], [0.5, 0.5]]}]},
        {**JOINT, "parts": [PART], "reports": 2},
        {**JOINT, "parts": [PART], "bound": "all"},
        {**JOINT, "parts": [PART], "bound": "pair", "datasets": [0, 1, 2]},
        {**KRR, "also": [[5]]},
        {**KRR, "also": [[5, 0]]},
        {**KRR, "also": [[5, 1.5]]},
        {**KRR, "also": 5},
        {**KRR, "also": [["5", "1"]]},
        {**KRR, "also": [[5, 1]], "bound": "all"},
    ],
)
def test_rounds_and_parts_that_are_none_are_refused(claim, tmp_path, capsys):
    refused(json.dumps(claim), tmp_path, capsys)


def test_progress_is_shown_on_terminals_with_the_time_that_is_left(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    claim = {**KRR, "k": 2, "eps0": 1.0, "n": 3, "rounds": 2, "delta": 0.3, "eps": 1.9}
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(claim), encoding="utf-8")
    assert verify.main(file) == 0
    steps = capsys.readouterr().err.split("\r\x1b[K")
    assert steps[1] == "claim 1 of 1"
    assert re.fullmatch(r"point 1 of about \d+ of the curve, \d+ s left", steps[2])
    assert steps[-1] == ""


@pytest.mark.parametrize(("spread", "least"), [(0.1, 1e-8), (0.01, 1e-12), (1.0, 1e-6)])
def test_the_expected_number_of_points_is_that_of_a_normal_loss(spread, least):
    """The curve of a normal loss falls to `least` there, by integration."""
    first = spread / math.sqrt(2 * math.pi)
    step = first / 16
    count = verify.expected(first, step, least)
    law = NormalDist(0.0, spread)

    def height(eps):
        grid = [eps + 1e-3 * spread * (i + 0.5) for i in range(4000)]
        return sum((x - eps) * law.pdf(x) for x in grid) * 1e-3 * spread

    assert height(count * step) <= 1.01 * least <= 1.02 * height((count - 1) * step)
