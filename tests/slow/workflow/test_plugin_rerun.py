"""A package that defines a mechanism is part of what its curves are made from, and of no others."""

import re

from test_pipeline import Checkout

CURVE = "results/other/curves/mine/any/upper.csv"
MECHANISM = "  mine: {type: bits}\n"
EXPERIMENT = "  mine: {mechanism: mine, regimes: [any], curves: [upper]}\n"
CODE = """
from dataclasses import dataclass

import shufflebounds as sb
from bits_package.numbers import SHARE


@dataclass(frozen=True)
class Bits(sb.Randomizer):
    eps0: float

    def blanket(self):
        return sb.KRR(2, SHARE * self.eps0).blanket()

    def dataset_pairs(self):
        return sb.KRR(2, SHARE * self.eps0).dataset_pairs()
"""


def test_editing_the_package_reruns_its_curves_only(tmp_path):
    checkout = Checkout.make(tmp_path / "checkout")
    checkout.edit("config.yaml", "[su2026, other]", "[other]")
    checkout.edit("config/other.yaml", "mechanisms:\n", "mechanisms:\n" + MECHANISM)
    checkout.edit("config/other.yaml", "experiments:\n", "experiments:\n" + EXPERIMENT)
    site = tmp_path / "site"
    package, metadata = site / "bits_package", site / "bits_package-1.dist-info"
    for folder in (package, metadata):
        folder.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "mechanisms.py").write_text(CODE)
    (package / "numbers.py").write_text("SHARE = 1.0\n")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bits-package\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[shufflebounds.randomizers]\nbits = bits_package.mechanisms:Bits\n"
    )

    def snakemake(*arguments):
        run = checkout.snakemake(*arguments, PYTHONPATH=str(site))
        assert run.returncode == 0, run.stderr
        return run.stdout + run.stderr

    snakemake("--cores", "2")
    assert "Nothing to be done" in snakemake("--dry-run")
    (package / "numbers.py").write_text("SHARE = 0.5\n")
    jobs = re.findall(r"^Job \d+: (.*)$", snakemake("--dry-run"), re.MULTILINE)
    assert jobs == ["curve upper of mine, any (other)", "everything of every paper"]
    before = (checkout.path / CURVE).read_text()
    snakemake("--cores", "2")
    assert (checkout.path / CURVE).read_text() != before
    # Only the content counts.
    (package / "numbers.py").touch()
    assert "Nothing to be done" in snakemake("--dry-run")
