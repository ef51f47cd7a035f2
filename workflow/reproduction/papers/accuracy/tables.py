"""Maps of the mechanism with the least error, over numbers of values and of users."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pandas as pd

from reproduction.papers.accuracy import BestMechanisms
from reproduction.papers.pages import Page
from reproduction.papers.tables import Context, TableCode
from shufflebounds.core.enclosure import outward
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import mechanism_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet, with_letters
from shufflebounds.curves.plotting.texts import number, three_digits
from shufflebounds.questions.ranking import Choice, choose

# Labels of mechanisms in maps, each with a first letter of its own; others have their own names.
LABELS: Mapping[str, str] = {
    "krr": "Randomized response",
    "subset": "Subsets",
    "local_hash": "Local hashing",
    "hadamard_blocks": "Hadamard response in blocks",
    "dump": "Dummies and randomized response",
    "cheu_zhilyaev": "Noisy vectors",
}


# Symbols of what the title of a map says.
SYMBOLS = {"eps": "ε", "delta": "δ"}


def best_mechanisms_table(parameters: BestMechanisms, _: Context) -> pd.DataFrame:
    """Return a row for each ε, number of values and of users; errors are over the curator's."""
    rows = []
    for eps, values, n in itertools.product(parameters.eps, parameters.values, parameters.n):
        ranking = choose(
            values,
            n=n,
            eps=eps,
            delta=parameters.delta,
            most_eps0=parameters.most_eps0,
            most_messages=parameters.most_messages,
        )
        best, second = ranking.choices[:2]
        krr = next(choice for choice in ranking.choices if choice.name == "krr")
        curator = ranking.curator_mse
        rows.append(
            {
                "eps": eps,
                "delta": parameters.delta,
                "most_eps0": parameters.most_eps0,
                "values": values,
                "n": n,
                "best": best.name,
                "described": _described(best),
                "eps0": best.eps0.lower,
                "second": _described(second),
                "lower": best.mse.lower / curator,
                "upper": best.mse.upper / curator,
                "next": second.mse.upper / curator,
                "krr": krr.mse.upper / curator,
            }
        )
    return pd.DataFrame(rows)


def _described(choice: Choice) -> str:
    free = {
        name: value for name, value in choice.parameters.items() if name not in ("k", "domain_size")
    }
    return " ".join([choice.name, *(f"{value:.6g}" for value in free.values())])


def best_mechanisms_page(frame: pd.DataFrame) -> Page:
    first = frame.iloc[0]
    cap = f" and $\\varepsilon_0\\le{first['most_eps0']:g}$" if first["most_eps0"] < 300.0 else ""
    return Page.of(
        frame,
        [
            (r"$\varepsilon$", "{eps:g}"),
            ("values", "{values}"),
            ("n", "{n}"),
            ("best", "{described}"),
            (r"$\varepsilon_0$", lambda row: outward(row["eps0"], up=False)),
            ("", lambda row: three_digits(row["upper"])),
            ("next", "{second}"),
            ("", lambda row: three_digits(row["next"])),
            ("krr", lambda row: three_digits(row["krr"])),
        ],
        title="The mechanism with the least error",
        above="Total squared error of a histogram over that of a trusted curator, who adds "
        "geometric or Gaussian noise to every count, whichever is better, at equal "
        rf"certified $(\varepsilon,\delta)$, $\delta$ = {first['delta']:g}{cap}: of the best "
        "mechanism, of the next one and of randomized response.",
    )


def best_mechanisms_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Return a map for every ε: values upwards, users to the right."""
    views = [_best_view(panel) for _, panel in frame.groupby("eps", sort=False)]
    quantity = "squared error over that of a trusted curator"
    return Sheet(title, with_letters([views]), "number of users $n$", "n", quantity)


def _best_view(panel: pd.DataFrame) -> PanelView:
    columns, rows = list(panel["n"].unique()), list(panel["values"].unique())
    lines = []
    for name, cells in panel.groupby("best", sort=False):
        cells_drawn = Drawn(
            *(
                cells[key].map(place.index).to_numpy(float)
                for key, place in (("n", columns), ("values", rows))
            ),
            *(cells[end].to_numpy(float) for end in ("lower", "upper")),
        )
        label = LABELS.get(str(name), str(name))
        lines.append((Line(label, mechanism_look(str(name))), cells_drawn))
    return PanelView(
        title=[f"{symbol} = {number(panel[key].iloc[0])}" for key, symbol in SYMBOLS.items()],
        lines=lines,
        y_label="number of values $k$",
        x_ticks=[number(n) for n in columns],
        y_ticks=[number(k) for k in rows],
    )


CODE = {
    BestMechanisms: TableCode(best_mechanisms_table, best_mechanisms_page, best_mechanisms_sheet)
}
