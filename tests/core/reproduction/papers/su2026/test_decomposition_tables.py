"""Tables 1–3: the forms read as mathematics, the values against probability matrices."""

import functools
import itertools
import re

import mpmath
import numpy as np
import pytest
from scipy import linalg

import shufflebounds as sb
from reproduction.papers.base import research
from reproduction.papers.su2026 import FiniteDomains, Gparv, LargeDomains, decompositions
from reproduction.papers.tables import Context
from shufflebounds.bounds.base import Numerics

EPS0 = (0.1, 1.0, 4.0)
CONTEXT = Context({}, Numerics())


def gparv(eps):
    return decompositions.gparv_table(Gparv(eps0=EPS0, eps=eps, k=10), CONTEXT)


def finite(size):
    return decompositions.finite_table(FiniteDomains(eps0=EPS0, k=size, domain_size=size), CONTEXT)


def limit():
    return decompositions.limit_table(LargeDomains(eps0=EPS0), CONTEXT)


def evaluate(form, **names):
    r"""The value of a LaTeX form with \frac, powers, sums and products by juxtaposition."""
    tokens = re.findall(r"\\frac|\\varepsilon_0|\\varepsilon|[a-zA-Z]|\d+|[-+/^(){}]", form)
    assert "".join(tokens) == form
    names = {"e": mpmath.e, **names}

    def group(closing):
        tokens.pop(0)
        value = total()
        assert tokens.pop(0) == closing
        return value

    def atom():
        if tokens[0] in "({":
            return group({"(": ")", "{": "}"}[tokens[0]])
        token = tokens.pop(0)
        if token == r"\frac":
            return group("}") / group("}")
        return mpmath.mpf(token) if token.isdigit() else names[token]

    def power():
        base = atom()
        if tokens and tokens[0] == "^":
            tokens.pop(0)
            return base ** atom()
        return base

    def product():
        value = power()
        while tokens and tokens[0] not in "+-)}":
            divides = tokens[0] == "/"
            del tokens[: int(divides)]
            value = value / power() if divides else value * power()
        return value

    def total():
        value = mpmath.mpf(0)
        sign = 1
        while True:
            if tokens[0] in "+-":
                sign = 1 if tokens.pop(0) == "+" else -1
            value += sign * product()
            if not tokens or tokens[0] not in "+-":
                return value

    value = total()
    assert not tokens
    return value


def values_of_forms(frame, column, **names):
    with mpmath.workdps(40):
        return [
            float(
                evaluate(
                    form,
                    **{r"\varepsilon_0": mpmath.mpf(eps0), r"\varepsilon": names.get("eps")},
                    **{name: mpmath.mpf(names[name]) for name in "kDK" if name in names},
                )
            )
            for form, eps0 in zip(frame[column], frame["eps0"], strict=True)
        ]


@functools.cache
def brute(kind, size, eps0, x0=0, x1=1):
    """Blanket masses by ratio pair, summed over the outputs of a probability matrix."""
    matrix = (sb.KRR(size, eps0) if kind is sb.KRR else kind(eps0, size)).matrix()
    least = matrix.min(axis=0)
    powers = np.log(matrix[[x0, x1]] / least) / eps0
    ratios = np.round(powers).astype(int)
    np.testing.assert_allclose(powers, ratios, atol=1e-9)
    return {
        ratio: least[np.equal(ratios.T, ratio).all(axis=1)].sum()
        for ratio in itertools.product((0, 1), repeat=2)
    }


@pytest.mark.parametrize("size", [2, 3, 4, 6, 10, 100])
def test_forms_of_finite_domains_are_the_values(size):
    frame = finite(size)
    columns = next(2**i for i in itertools.count() if 2**i > size)
    assert set(frame["parameters"]) == {f"k = {size}", f"D = {size}", f"D = {size}, K = {columns}"}
    forms = values_of_forms(frame, "symbolic", k=size, D=size, K=columns)
    np.testing.assert_allclose(frame["value"], forms, rtol=1e-13, atol=1e-30)


@pytest.mark.parametrize("eps", [1e-3, 0.05, 0.099])
def test_forms_of_the_limit_and_of_the_gparv_are_the_values(eps):
    frame = gparv(eps)
    limits = limit()
    np.testing.assert_allclose(limits["value"], values_of_forms(limits, "symbolic"), rtol=1e-13)
    masses = values_of_forms(frame, "symbolic", k=10)
    np.testing.assert_allclose(frame["value"], masses, rtol=1e-13, atol=1e-30)
    points = values_of_forms(frame, "quantity", eps=mpmath.mpf(eps))
    np.testing.assert_allclose(frame["point"], points, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("size", [3, 7, 15, 31])
def test_the_printed_row_of_hadamard_response_is_wrong_for_every_domain(size):
    # The paper prints 1/(2(e + 1)) for p, q and r alike. Off by 4/K of it, downwards for q.
    masses = brute(sb.HadamardResponse, size, 1.0)
    printed = 1.0 / (2.0 * (np.e + 1.0))
    assert masses[1, 0] == pytest.approx(printed, rel=1e-12)
    assert masses[1, 1] == pytest.approx(printed * (1.0 - 4.0 / (size + 1)), rel=1e-12, abs=1e-17)
    assert masses[0, 0] == pytest.approx(printed * (1.0 + 4.0 * np.e / (size + 1)), rel=1e-12)


def test_only_hadamard_response_is_noted():
    noted = {
        name: frame.loc[frame["note"] != "", ["mechanism", "quantity"]]
        for name, frame in {
            "table1": gparv(0.05),
            "table2": finite(10),
            "table3": limit(),
        }.items()
    }
    for entries in noted.values():
        assert set(entries["mechanism"]) == {"HR"}
    assert set(noted["table2"]["quantity"]) == {"q", "r"}


def cells(page):
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    ("kind", "number", "parameters", "header"),
    [
        ("gparv", 1, {"eps0": [0.1, 4.0], "eps": 0.05, "k": 10}, 2),
        ("finite_domains", 2, {"eps0": [0.1, 4.0], "k": 10, "domain_size": 10}, 1),
        ("large_domains", 3, {"eps0": [0.1, 4.0]}, 1),
    ],
)
def test_every_value_is_in_the_cell_where_it_belongs(kind, number, parameters, header):
    code = research("su2026").tables[kind].load_code()
    given = research("su2026").tables[kind].model_validate(parameters)
    frame = code.compute(given, CONTEXT)
    assert set(frame["table"]) == {number}
    first, rule, *rows = cells(code.page(frame).markdown())
    assert set(rule) == {"---"}
    rows = rows[header - 1 :]
    groups = list(frame.groupby("mechanism", sort=False))
    assert len(rows) == len(groups)
    assert len(first) == 1 + frame["quantity"].nunique()
    for (label, *row), (mechanism, group) in zip(rows, groups, strict=True):
        assert label == f"{mechanism} <br> {group['parameters'].iloc[0]}"
        for quantity, cell in zip(first[1:], row, strict=True):
            form, *numbers = cell.split(" <br> ")
            entries = group[group["quantity"] == quantity.strip("$")]
            assert set(entries["symbolic"]) == {form.strip("$")}
            np.testing.assert_allclose([float(x) for x in numbers], entries["value"], rtol=1e-5)


def test_the_printed_matrix_of_hadamard_response_has_no_uniform_blanket():
    """Row 0 of the D × D matrix is all ones and has a larger total than the other rows."""
    weights = np.exp(0.5 * linalg.hadamard(8))
    totals = weights.sum(axis=1)
    assert totals[0] > 1.2 * totals[1]
    assert totals[1:] == pytest.approx(np.full(7, totals[1]), rel=1e-12)
    blanket = (weights / totals[:, None]).min(axis=0)
    assert blanket[0] > 1.2 * blanket[1]
    assert finite(10)["note"].str.contains("not uniform").any()
