"""Table 1: ε of the methods of single-message shuffling, beside their printed asymptotic forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pandas as pd

from reproduction.papers.pages import Page, safe
from reproduction.papers.wang2024 import Asymptotics
from shufflebounds.bounds.base import Bound
from shufflebounds.bounds.blanket_inequalities import BLANKET_BEST_GENERIC
from shufflebounds.bounds.clones import CLONE, ERLINGSSON, STRONGER_CLONE
from shufflebounds.bounds.variation_ratio import VARIATION_RATIO
from shufflebounds.core.setting import Setting
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.subjects.reports import Reports, source_of

# Number of values of k-RR, the mechanism that the last method knows.
KRR_VALUES = 10

# Methods, the bound that is their best here, and the printed form without its constant: in LaTeX,
# and as a function of e^ε₀, β and log(1/δ)/n.
FORMS: tuple[tuple[str, Bound, str, Callable[[float, float, float], float]], ...] = (
    (
        "EFMRTT19",
        ERLINGSSON,
        r"\sqrt{e^{3\varepsilon_0}\log(1/\delta)/n}",
        lambda e, beta, x: math.sqrt(e**3 * x),
    ),
    (
        "privacy blanket",
        BLANKET_BEST_GENERIC,
        r"\sqrt{e^{2\varepsilon_0}\log(1/\delta)/n}",
        lambda e, beta, x: math.sqrt(e**2 * x),
    ),
    (
        "clone",
        CLONE,
        r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}"
        r"\sqrt{e^{\varepsilon_0}\log(1/\delta)/n}",
        lambda e, beta, x: (e - 1) / (e + 1) * math.sqrt(e * x),
    ),
    (
        "stronger clone",
        STRONGER_CLONE,
        r"\sqrt{(e^{\varepsilon_0}-1)^2\log(1/\delta)/(n(e^{\varepsilon_0}+1))}",
        lambda e, beta, x: math.sqrt((e - 1) ** 2 / (e + 1) * x),
    ),
    (
        f"variation ratio, {KRR_VALUES}-RR",
        VARIATION_RATIO,
        r"\sqrt{\beta(e^{\varepsilon_0}-1)\log(1/\delta)/n}",
        lambda e, beta, x: math.sqrt(beta * (e - 1) * x),
    ),
)


def asymptotics_table(parameters: Asymptotics) -> pd.DataFrame:
    """Return ε of Table 1's methods and their printed forms: a row for each method, ε₀ and n.

    Columns: ``method``, ``form``, ``eps0``, ``n``, ``delta``, ``epsilon`` (what you can claim) and
    ``quotient`` (by the form).
    """
    rows = []
    settings = [Setting(delta=parameters.delta).at(n=n) for n in parameters.n]
    for (name, bound, form, value), eps0 in itertools.product(FORMS, parameters.eps0):
        randomizer = KRR(KRR_VALUES, eps0)
        beta = source_of(randomizer).ratios().beta
        answers = bound.answers(Reports(randomizer), "epsilon", settings)
        for at, answer in zip(settings, answers, strict=True):
            eps = answer.enclosure.upper
            share = -math.log(at.require("delta")) / at.require("n")
            rows.append(
                {
                    "method": name,
                    "form": form,
                    "eps0": eps0,
                    "n": at.n,
                    "delta": at.delta,
                    "epsilon": eps,
                    "quotient": eps / value(math.exp(eps0), beta, share),
                }
            )
    return pd.DataFrame(rows)


def asymptotics_page(frame: pd.DataFrame) -> Page:
    """Return the page of `asymptotics_table`."""
    return Page.of(
        frame,
        [
            ("method", "{method}"),
            ("printed form", "${form}$"),
            (r"$\varepsilon_0$", "{eps0:g}"),
            ("n", "{n:.0e}"),
            (r"$\varepsilon$", lambda row: safe(row["epsilon"], up=True)),
            ("quotient", "{quotient:.4g}"),
        ],
        title="Table 1: asymptotic forms",
        above=r"What you can claim, $\varepsilon$, and what that is divided by the printed form "
        "without its constant. A quotient that settles as $n$ grows confirms the form; where "
        r"$\varepsilon$ stands at $\varepsilon_0$ nothing is proved at that $n$ (EFMRTT19 asks for "
        r"$\varepsilon_0<1/2$ in the form that is drawn).",
    )
