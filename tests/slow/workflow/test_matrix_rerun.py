"""A matrix in a file is part of what its curves are made from, and of nothing else."""

from test_pipeline import Checkout

CURVE = "results/other/curves/mine/any/upper.csv"
ROWS = "0.5,0.375,0.125\n0.125,0.75,0.125\n0.375,0.125,0.5\n"


def test_editing_the_file_reruns_its_curves_only(tmp_path):
    checkout = Checkout.make(tmp_path / "checkout")
    checkout.edit("config.yaml", "[su2026, other]", "[other]")
    checkout.edit("config/other.yaml", "mechanisms:\n", "mechanisms:\n" + MECHANISM)
    checkout.edit("config/other.yaml", "experiments:\n", "experiments:\n" + EXPERIMENT)
    path = checkout.path / "config" / "m.csv"
    path.write_text(ROWS)
    run = checkout.snakemake("--cores", "2")
    assert run.returncode == 0, run.stderr
    assert checkout.pending() == set()
    assert "1 against 2" in (checkout.path / CURVE).read_text()
    path.write_text(ROWS.replace("0.5,0.375,0.125", "0.5,0.25,0.25"))
    assert checkout.pending() == {CURVE}
    path.write_text(ROWS.replace("0.75", "half"))
    refused = checkout.snakemake("--cores", "2")
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    assert (
        "config/other.yaml: mechanisms.mine: file 'config/m.csv', line 2, column 2 must be a "
        "probability, 0 or from 1e-300 to 1, got 'half'"
    ) in refused.stderr


MECHANISM = "  mine: {type: matrix, file: config/m.csv}\n"
EXPERIMENT = "  mine: {mechanism: mine, regimes: [any], curves: [upper], x: {n: [100, 1000]}}\n"
