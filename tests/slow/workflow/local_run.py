"""A figure and its three curves: what the tests of the executors run, and what must come out."""

from pathlib import Path

from test_pipeline import CONFIG, Checkout

FIGURE = "figures/su2026/fig.pdf"


def make_checkout(path: Path) -> Checkout:
    checkout = Checkout.make(path)
    checkout.edit(CONFIG, "experiments: [krr10, blh]", "experiments: [krr10]")
    return checkout


def results(checkout: Checkout) -> dict[str, bytes]:
    """The content of every curve and figure, by path."""
    files = [*checkout.path.glob("results/*/curves/**/*.csv"), *checkout.path.glob("figures/*/*")]
    return {path.relative_to(checkout.path).as_posix(): path.read_bytes() for path in files}
