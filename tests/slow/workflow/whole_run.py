"""A run with one of everything: what the tests of the report and of modules look at."""

import copy
from pathlib import Path

import yaml
from test_pipeline import TINY, Checkout

# Text, whatever the languages of the report's making could take it for.
CAPTION = (
    r"Two *curves* of `10-RR`_ & {{ 7 * 7 }} |x| .. \frac, n < 10 000, 50 %: `touch pwned` **b** "
    r":raw:`y` {wildcards.figure} 'q' \\\" $(pwned"
)
LABEL = "{wildcards.figure} `touch pwned`; rm & 'q' n < 5"

CURVES = {f"results/su2026/curves/krr10/low/{curve}.csv" for curve in ("clone", "upper")}
FIGURE_KINDS = ("json", "md", "pdf", "png", "tex")
FIGURES = {f"figures/su2026/{name}.{kind}" for name in ("cdf", "fig") for kind in FIGURE_KINDS}
GALLERY = {"results/gallery.html"}
TABLES = {
    "table1": {"kind": "gparv", "eps0": [0.5, 2.0], "eps": 0.05, "k": 10},
    "hierarchy": {
        "kind": "hierarchy",
        "mechanisms": ["krr10"],
        "eps0": [1.0],
        "n": [100],
        "delta": 1.0e-6,
    },
    "law": {"kind": "amplification_variable", "mechanism": "krr10", "eps0": 1.0, "eps": 0.1},
}
PAGES = {
    f"results/su2026/{name}.{kind}"
    for name in (*(f"tables/{table}" for table in TABLES), "claims")
    for kind in ("csv", "html", "md")
}
LATEX = {f"results/su2026/tables/{table}.tex" for table in TABLES}
OUTPUTS = CURVES | FIGURES | GALLERY | PAGES | LATEX

# As the configuration has them, and as the report, which sets no formulas, shows them.
WRITTEN = {"fig": r"Two curves over $\log_{10}$ of $n$", "cdf": "The law of 10-RR"}
TITLES = {"fig": "Two curves over log₁₀ of n", "cdf": "The law of 10-RR"}
PAPER_TITLE = "Somebody: A *small* paper"


def config() -> dict:
    """The whole configuration, as an importing workflow gives it: the paper under its name."""
    root = yaml.safe_load((TINY / "config.yaml").read_text(encoding="utf-8"))
    paper = yaml.safe_load((TINY / "config" / "su2026.yaml").read_text(encoding="utf-8"))
    whole = copy.deepcopy(paper)
    whole["title"] = PAPER_TITLE
    whole["experiments"] = {
        "krr10": {"mechanism": "krr10", "regimes": ["low"], "curves": ["clone", "upper"]}
    }
    whole["figures"] = {
        "fig": {
            "title": WRITTEN["fig"],
            "caption": CAPTION,
            "experiments": ["krr10"],
            "regimes": ["low"],
            "curves": ["clone", "upper"],
        },
        "cdf": {"title": WRITTEN["cdf"], "caption": "A law.", "table": "law"},
    }
    whole["style"]["experiments"] = {"krr10": "10-RR"}
    whole["style"]["curves"]["upper"] = LABEL
    whole["tables"] = TABLES
    whole["claims"] = {"outperforms": ["fig"]}
    return {**root, "papers": ["su2026"], "su2026": whole}


def write_config(path: Path, content: dict) -> None:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    path.write_text(text, encoding="utf-8")


def make_checkout(path: Path) -> Checkout:
    checkout = Checkout.make(path)
    root = config()
    write_config(path / "config" / "su2026.yaml", root.pop("su2026"))
    write_config(path / "config.yaml", root)
    return checkout


def made(folder: Path) -> set[str]:
    """Every result below a folder, by path."""
    files = (path for part in ("results", "figures") for path in (folder / part).rglob("*"))
    return {
        path.relative_to(folder).as_posix()
        for path in files
        if path.is_file() and not {"logs", "benchmarks"} & set(path.parts)
    }
