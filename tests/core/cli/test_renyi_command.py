"""`shufflebounds renyi`, as people and programs read it."""

import json

import pytest
from click.testing import CliRunner

import shufflebounds as sb
from shufflebounds.bounds.renyi_closed_forms import theorem_3_1
from shufflebounds.cli import main

AT = ("renyi", "--mechanism", "krr", "--k", "10", "--eps0", "4", "--n", "1e5")


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_json_holds_what_the_library_says():
    result = run(*AT, "--order", "16", "--rounds", "3", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    R = sb.KRR(10, 4.0)
    lower = max(sb.renyi(pair, 10**5, 16.0, rounds=3).lower for pair in R.dataset_pairs().values())
    upper = sb.renyi(R.blanket(), 10**5, 16.0).times(3)
    assert found["upper"] == {"lower": upper.lower, "upper": upper.upper}
    assert found["lower"]["lower"] == pytest.approx(lower, rel=2e-3)
    mechanism = sb.renyi(R, 10**5, 16.0, rounds=3)
    assert found["upper"]["upper"] == pytest.approx(mechanism.upper, rel=1e-12)
    assert found["lower"]["lower"] == pytest.approx(mechanism.lower, rel=2e-3)
    assert found["girgis_upper"]["upper"] == 3 * theorem_3_1(4.0, 10**5, 16.0)
    assert (found["order"], found["rounds"], found["n"], found["precise"]) == (16.0, 3, 10**5, True)


def test_printed_bounds_are_rounded_outward():
    result = run(*AT, "--order", "2.5")
    assert result.exit_code == 0
    assert "KRR(k=10, eps0=4.0), n = 100000 users, order = 2.5" in result.stdout
    [line] = [one for one in result.stdout.splitlines() if one.startswith("  upper bound")]
    assert float(line.split()[2]) >= sb.renyi(sb.KRR(10, 4.0).blanket(), 10**5, 2.5).upper
    assert "Girgis et al., Theorem 3.1" in result.stdout
