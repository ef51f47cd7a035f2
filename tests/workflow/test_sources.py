"""The library files a job lists as inputs: all that it runs, and no other mechanism's."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sources
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.experiments import axis, curve, sent, specification
from shufflebounds.experiments.curve import Name
from shufflebounds.experiments.plan import Table
from shufflebounds.experiments.sent import Reports
from shufflebounds.experiments.specification import Specification
from shufflebounds.papers import table_files
from shufflebounds.papers.base import Context
from shufflebounds.papers.registry import research
from shufflebounds.plotting import interactive
from shufflebounds.plotting.layout import Layout, Line, Panel
from shufflebounds.randomizers import description
from shufflebounds.setting import Setting

LIBRARY = Path(curve.__file__).resolve().parents[1]
NAME = Name("experiment", "regime", "curve")
KRR = {"type": "krr", "k": 4}
MECHANISMS = [KRR, {"type": "rappor"}, {"type": "laplace"}]
PROTOCOLS = [
    {"type": "balls_into_bins", "bins": 40},
    {"type": "hierarchical_histogram", "domain_size": 8},
]
SMALL = Setting(eps0=1.0, delta=1e-3, order=4.0)
LARGER = Setting(n=100, eps0=1.0, delta=1e-3)
# These list others by name; what they picked is a parameter of the job.
REGISTRIES = {"bounds/registry.py", "protocols/registry.py", "randomizers/registry.py"}
DESCRIPTIONS = {
    f"randomizers/{name}.py" for name in ("description", "description_parts", "parameter_names")
}
COMPOSED = LIBRARY / "randomizers" / "composed"


def wanted(bound: str, mechanism: dict = KRR, n=(3, 40), **changes) -> Specification:
    given = {
        "bound": BOUNDS[bound],
        "reports": Reports(description.parse(mechanism), changes.pop("k_joint", 1)),
        "setting": SMALL,
        "axis": changes.pop("x", axis.parse({"n": list(n)})),
        "numerics": Numerics(1e-2),
    }
    return Specification(**given | changes)


def relative(paths) -> set[str]:
    return {Path(path).relative_to(LIBRARY).as_posix() for path in paths}


def listed(one: Specification) -> set[str]:
    return relative(sources.of_curve(one))


def files_run(action) -> set[str]:
    """Files of the library with a function that `action` calls, once everything is imported."""
    action()
    called = set()
    previous = sys.getprofile()
    sys.setprofile(lambda frame, event, _: event == "call" and called.add(frame.f_code.co_filename))
    try:
        action()
    finally:
        sys.setprofile(previous)
    return relative(path for path in called if Path(path).is_relative_to(LIBRARY))


def run_by_job(one: Specification, path: Path) -> set[str]:
    """Files that a curve's job runs, which reads what it is told and writes what it finds."""
    text = one.text()
    return files_run(lambda: curve.write(curve.compute(NAME, specification.read(text)), path))


# What these look at is nothing else.
OWN = {
    "original": {"type": "cheu_zhilyaev", "flip": 0.4},
    "vector_bits_published": {"type": "krr", "k": 2},
}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism["type"])
@pytest.mark.parametrize("bound", [bound for bound in BOUNDS if bound != "enumerated"])
def test_whatever_a_curve_runs_is_listed(bound, mechanism, tmp_path):
    reports, quantity = sent.parse(OWN.get(bound, mechanism)), BOUNDS[bound].quantities[0]
    one = wanted(bound, reports=reports, quantity=quantity, setting=SMALL)
    run = run_by_job(one, tmp_path / "curve.csv")
    assert "experiments/curve.py" in run
    assert run <= listed(one) | REGISTRIES


@pytest.mark.parametrize(
    "bound", ["upper", "variation_ratio", "variation_ratio_analytic", "original"]
)
@pytest.mark.parametrize("protocol", ["cheu_zhilyaev", "balls_into_bins"])
def test_whatever_a_curve_of_a_designed_protocol_runs_is_listed(bound, protocol, tmp_path):
    parameters = {"bins": 8} if protocol == "balls_into_bins" else {}
    designed = sent.parse({"type": f"{protocol}_designed", **parameters})
    one = wanted(bound, x=axis.parse({"target": [1.5]}), reports=designed, setting=LARGER)
    run = run_by_job(one, tmp_path / "curve.csv")
    assert f"protocols/{protocol}.py" in run
    assert run <= listed(one) | REGISTRIES


def test_whatever_an_enumeration_runs_is_listed(tmp_path):
    one = wanted("enumerated", n=(2, 5))
    run = run_by_job(one, tmp_path / "curve.csv")
    assert "accounting/worst_dataset.py" in run
    assert run <= listed(one) | REGISTRIES


@pytest.mark.parametrize("bound", ["upper", "optimal_composition"])
def test_whatever_a_curve_of_rounds_runs_is_listed(bound, tmp_path):
    one = wanted(bound, x=axis.parse({"rounds": [1, 3]}), setting=LARGER)
    run = run_by_job(one, tmp_path / "curve.csv")
    assert "accounting/composed.py" in run
    assert run <= listed(one) | REGISTRIES
    assert "accounting/composed.py" not in listed(wanted("upper"))


@pytest.mark.parametrize("bound", ["upper", "lower", "clone", "blanket_bennett"])
def test_whatever_a_curve_of_a_matrix_runs_is_listed(bound, tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "m.csv"
    np.savetxt(path, rng.dirichlet(np.ones(4), size=4) * 0.9 + 0.025, delimiter=",", fmt="%.17g")
    one = wanted(bound, {"type": "matrix", "file": str(path)})
    run = run_by_job(one, tmp_path / "curve.csv")
    assert "randomizers/matrix_file.py" in run
    assert ("bounds/many_pairs.py" in run) == (bound in ("upper", "lower"))
    assert run <= listed(one) | REGISTRIES
    assert one.reports.files == (str(path),)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_whatever_a_curve_of_a_protocol_runs_is_listed(protocol, tmp_path):
    one = wanted("upper", x=axis.parse({"n": [50]}), reports=sent.parse(protocol), setting=LARGER)
    run = run_by_job(one, tmp_path / "curve.csv")
    assert run <= listed(one) | REGISTRIES
    own = f"protocols/{protocol['type']}.py"
    assert own in run
    others = {path for path in listed(one) if path.startswith("protocols/")}
    assert others == {own, "protocols/base.py", "protocols/ratios.py"}
    assert protocol["type"] in sources.definitions(one)


@pytest.mark.parametrize(
    ("mechanism", "changes"),
    [
        (KRR, {"k_joint": 2}),
        (KRR, {"k_joint": 3, "distance": 2}),
        ({"type": "subsample", "mechanism": KRR, "rate": 0.5}, {}),
        (
            {
                "type": "parallel",
                "parts": [{"mechanism": one, "weight": 0.5} for one in MECHANISMS[:2]],
            },
            {},
        ),
    ],
    ids=["joint", "distance", "subsample", "parallel"],
)
def test_whatever_a_composition_runs_is_listed(mechanism, changes, tmp_path):
    one = wanted("upper", mechanism, **changes)
    assert run_by_job(one, tmp_path / "curve.csv") <= listed(one) | REGISTRIES


def test_whatever_a_curve_of_delta_runs_is_listed(tmp_path):
    one = replace(
        wanted("upper"),
        setting=Setting(n=40, eps0=1.0),
        axis=axis.parse({"eps": [0.1, 0.2]}),
        quantity="delta",
    )
    assert run_by_job(one, tmp_path / "curve.csv") <= listed(one) | REGISTRIES


TABLES = {
    "gparv": {"eps0": [1.0], "eps": 0.1, "k": 4},
    "finite_domains": {"eps0": [1.0], "k": 4, "domain_size": 4},
    "large_domains": {"eps0": [1.0]},
    "hierarchy": {"mechanisms": ["krr"], "eps0": [1.0], "n": [40], "delta": 1e-3},
    "amplification_variable": {"mechanism": "krr", "eps0": 1.0, "eps": 0.1},
}


def table(kind: str) -> Table:
    chosen = research("su2026").tables[kind]
    context = Context({"krr": description.parse(KRR)}, Numerics(1e-2))
    return Table("table", chosen, chosen.parameters.model_validate(TABLES[kind]), context)


def test_every_kind_of_table_is_tried():
    assert TABLES.keys() == research("su2026").tables.keys()


@pytest.mark.parametrize("kind", TABLES)
def test_whatever_a_table_runs_is_listed(kind, tmp_path):
    one = table(kind)

    def job():
        frame = one.kind.compute(one.parameters, one.context)
        page = one.kind.page(frame)
        table_files.write(frame, "digest", tmp_path / "table.csv")
        return page.markdown(), page.latex()

    assert files_run(job) <= relative(sources.of_table(one)) | REGISTRIES


def test_whatever_the_figure_of_a_table_runs_is_listed():
    one = table("amplification_variable")
    frame = one.kind.compute(one.parameters, one.context)
    run = files_run(lambda: one.kind.draw(frame, "title"))
    assert "plotting/step_function.py" in run
    assert run <= relative(sources.of_drawn_table(one))


def test_whatever_the_interactive_page_of_a_table_runs_is_listed():
    one = table("amplification_variable")
    frame = one.kind.compute(one.parameters, one.context)
    run = files_run(lambda: one.kind.interact(frame, "title", "program"))
    assert {"plotting/interactive_page.py", "plotting/steps.py"} <= run
    assert run <= relative(sources.of_interactive_table(one))


def test_whatever_an_interactive_figure_runs_is_listed():
    layout = Layout("title", ((Panel("", "", (Line(NAME, "a line", "#0072b2"),)),),))
    frame = pd.DataFrame(
        {**vars(NAME), "kind": "upper", "n": [1, 2], "epsilon_lower": 0.1, "epsilon_upper": 0.2}
    )
    run = files_run(lambda: interactive.page(frame, layout, "program"))
    assert {"plotting/drawn.py", "plotting/views.py"} <= run
    assert run <= relative(sources.of_interactive_figures())
    assert "plotting/curves.py" not in relative(sources.of_interactive_figures())


def test_the_program_of_interactive_figures_depends_on_none_of_them():
    vega = relative(sources.of_vega())
    assert vega == {"plotting/vega.py", "experiments/files.py"}


def test_a_table_that_is_drawn_is_interactive_too():
    for kind in research("su2026").tables.values():
        assert (kind.draw is None) == (kind.interact is None)


def test_a_curve_depends_on_its_own_mechanism_alone():
    krr = listed(wanted("upper"))
    mechanisms = {path for path in krr if path.startswith("randomizers/")} - DESCRIPTIONS
    composed = {path.relative_to(LIBRARY).as_posix() for path in COMPOSED.glob("*.py")}
    own = {f"randomizers/{name}.py" for name in ("base", "krr", "privacy")}
    assert mechanisms == own | composed
    bounds = {path for path in krr if path.startswith("bounds/")}
    assert bounds == {f"bounds/{name}.py" for name in ("base", "divergences", "optimal")}
    assert not any(path.startswith(("plotting", "papers", "cli")) for path in krr)
    assert "__init__.py" not in krr


def test_the_clone_depends_on_no_mechanism():
    clone = listed(wanted("clone"))
    assert {path for path in clone if path.startswith("randomizers/")} == DESCRIPTIONS
    assert {"bounds/clones.py", "divergence/fourier.py"} <= clone


def test_a_formula_depends_on_no_other_and_on_no_engine():
    hoeffding = listed(wanted("blanket_hoeffding"))
    assert {"bounds/formulas.py", "bounds/blanket_hoeffding.py"} <= hoeffding
    assert "bounds/blanket_bennett.py" not in hoeffding
    assert not any(path.startswith("divergence/") for path in hoeffding)


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_picks_by_name_is_listed(bound):
    choosers = {"experiments/specification.py"}
    one = wanted(bound, quantity=BOUNDS[bound].quantities[0])
    assert choosers | DESCRIPTIONS <= listed(one)
    assert not REGISTRIES & listed(one)


def test_what_a_registry_picked_is_told_in_its_place():
    mix = {"type": "parallel", "parts": [{"mechanism": KRR, "weight": 1.0}]}
    assert sources.definitions(wanted("upper", mix)) == (
        "upper of shufflebounds.bounds.optimal, shufflebounds.randomizers.krr.KRR"
    )
    assert sources.definitions(wanted("clone")) == "clone of shufflebounds.bounds.clones"


def test_a_figure_depends_on_the_drawing_and_not_on_the_arithmetic():
    figure = relative(sources.of_figures())
    assert {"plotting/curves.py", "experiments/curve.py"} <= figure
    assert not any(path.startswith(("divergence", "randomizers", "bounds/cl")) for path in figure)


def test_claims_depend_on_the_modules_that_judge_them():
    claims = relative(sources.of_claims(research("su2026").claims_module))
    assert {
        "papers/claims.py",
        "papers/claims_page.py",
        "papers/judging.py",
        "papers/su2026/claims.py",
        "papers/su2026/measures.py",
        "experiments/curve.py",
    } <= claims
    assert not any(path.startswith("divergence") for path in claims)
