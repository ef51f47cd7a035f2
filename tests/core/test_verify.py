"""The second program: proves what is true, never what is false, and refuses what it cannot read."""

import importlib.util
import itertools
import json
import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

import shufflebounds as sb

pytest.importorskip("flint")

PROGRAM = Path(__file__).parents[2] / "verify" / "verify.py"
SPEC = importlib.util.spec_from_file_location("verify_program", PROGRAM)
verify = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(verify)

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
    return verify.verdict(read)[0]


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
    "text",
    [
        json.dumps({**KRR, "eps": "0.11"}),
        json.dumps({**KRR, "eps": math.nan}),
        json.dumps({**KRR, "n": 1.5}) + " ",
        json.dumps({**KRR, "mechanism": "kr"}),
        json.dumps({**KRR, "epsilon": 1}),
        json.dumps({**KRR, "k": True}),
        json.dumps(KRR)[:-1] + ', "eps": 5}',
        json.dumps(KRR).replace("1e-06", "1e999999999"),
        json.dumps({"mechanism": [[0.5, 0.4], [0.5, 0.5]], "n": 9, "eps": 1, "delta": 0.1}),
        "[]",
    ],
)
def test_what_is_no_claim_is_not_proven(text, tmp_path, monkeypatch, capsys):
    file = tmp_path / "claim.json"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["verify", str(file)])
    assert verify.main() == 1
    assert capsys.readouterr().out.startswith("not proven")


def test_a_claim_of_many_users_is_proven_and_one_below_is_not():
    # ε ≤ 0.1099097 is true, and at 1 % less D is 1.16e-6.
    assert proven({**KRR, "eps": 0.1099097})
    assert not proven({**KRR, "eps": 0.1088})


# Of each mechanism: the library's object, and what a claim says of it.
FAMILIES = {
    "krr": (lambda e: sb.KRR(10, e), {"k": 10}),
    "duchi": (sb.Duchi, {}),
    "blh": (lambda e: sb.BLH(e, 4), {"domain_size": 4}),
    "oue": (lambda e: sb.OUE(e, 4), {"domain_size": 4}),
    "rappor": (lambda e: sb.RAPPOR(e, 4), {"domain_size": 4}),
    "hadamard": (lambda e: sb.HadamardResponse(e, 7), {"domain_size": 7}),
    "local_hash": (lambda e: sb.LocalHash(e, 8, 3), {"domain_size": 8, "hash_values": 3}),
    "subset": (lambda e: sb.Subset(e, 7, 2), {"domain_size": 7, "subset_size": 2}),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_ends_of_the_library_are_proven_and_none_beyond(name):
    """Half a per cent beyond either end a claim is false."""
    make, own = FAMILIES[name]
    randomizer, n, delta = make(0.5), 10**4, 1e-6
    claim = {"mechanism": name, "eps0": 0.5, **own, "n": n, "delta": delta}
    found = sb.epsilon(randomizer.blanket(), n, delta)
    assert proven({**claim, "eps": found.upper * 1.001})
    assert not proven({**claim, "eps": found.lower * 0.995})
    others, pair = next(iter(randomizer.dataset_pairs().items()))
    found = sb.epsilon(pair, n, delta)
    claim |= {"bound": "pair", "datasets": [0, 1, {"x1": 1, "third": 2}[others]]}
    assert proven({**claim, "eps": found.lower * 0.999})
    assert not proven({**claim, "eps": found.upper * 1.005})
