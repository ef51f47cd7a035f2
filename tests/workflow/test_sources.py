"""The library files a job lists as inputs: all that it runs, and no other mechanism's."""

import sys
from pathlib import Path

import pytest

import sources
from shufflebounds import curves, specs

LIBRARY = Path(curves.__file__).resolve().parent

MECHANISMS = [{"type": "krr", "k": 4}, {"type": "rappor"}, {"type": "laplace"}]


def spec(bound: str, mechanism: dict, engine: str = "saddle", **changes) -> dict:
    return {
        "experiment": "experiment",
        "regime": "regime",
        "curve": "curve",
        "mechanism": mechanism,
        "eps0": 1.0,
        "bound": bound,
        "delta": 1e-3,
        "n": [3, 40],
        "rtol": 1e-2,
        "engine": engine,
        **changes,
    }


def listed(wanted: dict) -> set[str]:
    return {str(path.relative_to(LIBRARY)) for path in sources.of_curve(wanted)}


def files_run(action) -> set[str]:
    """Files of the library with a function that `action` called."""
    called = set()
    previous = sys.getprofile()
    sys.setprofile(lambda frame, event, _: event == "call" and called.add(frame.f_code.co_filename))
    try:
        action()
    finally:
        sys.setprofile(previous)
    paths = (Path(name) for name in called)
    return {str(path.relative_to(LIBRARY)) for path in paths if path.is_relative_to(LIBRARY)}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism["type"])
@pytest.mark.parametrize("bound", specs.BOUNDS)
def test_whatever_a_curve_runs_is_listed(bound, mechanism):
    wanted = spec(bound, mechanism)
    run = files_run(lambda: curves.compute(wanted))
    assert "curves.py" in run
    assert run <= listed(wanted)


def test_whatever_a_joint_runs_is_listed():
    wanted = spec("lower", MECHANISMS[0], k_joint=2)
    assert files_run(lambda: curves.compute(wanted)) <= listed(wanted)


@pytest.mark.parametrize("engine", ["fft", "exact"])
def test_whatever_an_engine_runs_is_listed(engine):
    wanted = spec("upper", MECHANISMS[0], engine, n=[3])
    assert files_run(lambda: curves.compute(wanted)) <= listed(wanted)


def test_a_curve_depends_on_its_own_mechanism_alone():
    krr = listed(spec("upper", {"type": "krr", "k": 4}))
    assert {path for path in krr if path.startswith("randomizers")} == {
        "randomizers/__init__.py",
        "randomizers/base.py",
        "randomizers/krr.py",
    }
    assert not any(path.startswith("baselines") for path in krr)
    assert "figures.py" not in krr
    assert "__init__.py" not in krr


def test_the_clone_depends_on_no_mechanism():
    clone = listed(spec("clone", {"type": "krr", "k": 4}))
    assert not any(path.startswith(("randomizers", "baselines")) for path in clone)
    assert {"clone.py", "divergence/saddle.py", "divergence/exact.py"} <= clone


def test_a_baseline_depends_on_its_own_formula_and_no_engine():
    hoeffding = listed(spec("blanket_hoeffding", {"type": "krr", "k": 4}))
    assert {"baselines/__init__.py", "baselines/blanket_hoeffding.py"} <= hoeffding
    assert "baselines/blanket_bennett.py" not in hoeffding
    assert not any(path.startswith("divergence") for path in hoeffding)


CURVE_FIGURE = ["shufflebounds.figures", "shufflebounds.curves"]


def test_a_figure_depends_on_the_drawing_and_not_on_the_arithmetic():
    figure = {str(path.relative_to(LIBRARY)) for path in sources.closure(CURVE_FIGURE)}
    assert {"figures.py", "curves.py"} <= figure
    assert not any(path.startswith(("divergence", "randomizers", "baselines")) for path in figure)
