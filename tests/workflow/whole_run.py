"""A run with one of everything: what the tests of the report and of modules look at."""

import copy
from pathlib import Path

import yaml
from test_pipeline import ROOT, Checkout

# Text, whatever the languages of the report's making could take it for.
CAPTION = r"Two *curves* of `10-RR`_ & {{ 7 * 7 }} |x| .. \frac, n < 10 000, 50 %."

CURVES = {f"results/curves/krr10/low/{curve}.csv" for curve in ("clone", "upper")}
FIGURES = {f"figures/{name}.{kind}" for name in ("cdf", "fig") for kind in ("pdf", "png")}
TABLES = ("table1", "table2", "table3", "hierarchy")
PAGES = {
    f"results/{name}.{kind}"
    for name in (*(f"tables/{table}" for table in TABLES), "claims")
    for kind in ("csv", "html", "md")
}
OUTPUTS = CURVES | FIGURES | PAGES | {"results/distributions/cdf.csv"}


def config() -> dict:
    tiny = yaml.safe_load((ROOT / "tests" / "tiny_config.yaml").read_text(encoding="utf-8"))
    whole = copy.deepcopy(tiny)
    whole["experiments"] = {
        "krr10": {"mechanism": "krr10", "regimes": ["low"], "curves": ["clone", "upper"]}
    }
    whole["figures"] = {
        "fig": {
            "caption": CAPTION,
            "experiments": ["krr10"],
            "regimes": ["low"],
            "curves": ["clone", "upper"],
        }
    }
    whole["style"]["experiments"] = {"krr10": "10-RR"}
    whole["distributions"] = {
        "cdf": {
            "caption": "A law.",
            "title": "10-RR",
            "mechanism": "krr10",
            "eps0": 1.0,
            "eps": 0.1,
        }
    }
    whole["tables"] = {"eps0": [0.5, 2.0], "eps": 0.05, "k": 10, "domain_size": 10}
    whole["hierarchy"] = {"mechanisms": ["krr10"], "eps0": [1.0], "n": [100]}
    whole["claims"] = {"outperforms": ["fig"]}
    return whole


def write_config(path: Path, content: dict) -> None:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    path.write_text(text, encoding="utf-8")


def make_checkout(path: Path) -> Checkout:
    checkout = Checkout.make(path)
    write_config(path / "config.yaml", config())
    return checkout


def made(folder: Path) -> set[str]:
    """Every result below a folder, by path."""
    files = (path for part in ("results", "figures") for path in (folder / part).rglob("*"))
    names = {path.relative_to(folder).as_posix() for path in files if path.is_file()}
    return {name for name in names if not name.startswith(("results/logs/", "results/benchmarks/"))}
