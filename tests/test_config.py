"""Mistakes in config.yaml: each is told in one sentence with the place, the value, what is allowed.

Every case edits the text of a good configuration, as a user would.
"""

from pathlib import Path

import pytest
import yaml

import config_check
import matrix
import schema_check
from shufflebounds import validation

ROOT = Path(__file__).parents[1]
TINY = (ROOT / "tests" / "tiny_config.yaml").read_text(encoding="utf-8")


def edited(old: str, new: str) -> dict:
    assert TINY.count(old) == 1
    return yaml.safe_load(TINY.replace(old, new))


def mistake(config: dict) -> str:
    with pytest.raises(config_check.ConfigError) as caught:
        config_check.check(config)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith("config.yaml: ")
    return sentence.removeprefix("config.yaml: ")


@pytest.mark.parametrize("text", [TINY, (ROOT / "config.yaml").read_text(encoding="utf-8")])
def test_good_configurations_pass(text):
    config_check.check(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        # Keys.
        (
            "\nrtol:",
            "\nr_tol:",
            "r_tol is no known key (did you mean rtol?); the keys here are "
            "delta, n, engine, rtol, regimes, mechanisms, curves, experiments, figures, "
            "distributions, tables, hierarchy, claims, style",
        ),
        (
            "low: {eps0: 0.5,",
            "low: {epso: 0.5,",
            "regimes.low.epso is no known key (did you mean eps0?); the keys here are eps0, label",
        ),
        (
            "joint2: {bound: upper, k_joint: 2}",
            "joint2: {bound: upper, joint: 2}",
            "curves.joint2.joint is no known key (did you mean k_joint?); "
            "the keys here are bound, k_joint, distance",
        ),
        ("\nrtol: 1.0e-3", "", "rtol is missing; it must be a number >= 1e-09 and <= 0.1"),
        (
            "{eps0: 2.0, label: large}",
            "{label: large}",
            "regimes.large.eps0 is missing; it must be a number > 0 and <= 300",
        ),
        # Numbers.
        ("eps0: 0.5", "eps0: -1", "regimes.low.eps0 is -1; it must be a number > 0 and <= 300"),
        ("eps0: 0.5", "eps0: 0", "regimes.low.eps0 is 0; it must be a number > 0 and <= 300"),
        ("eps0: 0.5", "eps0: .nan", "regimes.low.eps0 is nan; it must be a number > 0 and <= 300"),
        ("eps0: 0.5", "eps0: .inf", "regimes.low.eps0 is inf; it must be a number > 0 and <= 300"),
        ("eps0: 0.5", "eps0: 301", "regimes.low.eps0 is 301; it must be a number > 0 and <= 300"),
        ("eps0: 0.5", "eps0: true", "regimes.low.eps0 is True; it must be a number > 0 and <= 300"),
        ("eps0: 0.5", "eps0:", "regimes.low.eps0 is empty; it must be a number > 0 and <= 300"),
        ("delta: 1.0e-6", "delta: 0", "delta is 0; it must be a number >= 1e-300 and < 1"),
        ("delta: 1.0e-6", "delta: 1", "delta is 1; it must be a number >= 1e-300 and < 1"),
        (
            "delta: 1.0e-6",
            "delta: 1e-6",
            "delta is '1e-6'; it must be a number >= 1e-300 and < 1 "
            "(YAML reads this as text: write 1.0e-06)",
        ),
        (
            "start: 100,",
            "start: 1e2,",
            "n.start is '1e2'; it must be an integer >= 1 and <= 1000000000000000 "
            "(YAML reads this as text: write 100)",
        ),
        ("rtol: 1.0e-3", "rtol: 1.0e-12", "rtol is 1e-12; it must be a number >= 1e-09 and <= 0.1"),
        ("rtol: 1.0e-3", "rtol: 0.5", "rtol is 0.5; it must be a number >= 1e-09 and <= 0.1"),
        (
            "k_joint: 2",
            "k_joint: 0",
            "curves.joint2.k_joint is 0; it must be an integer >= 1 and <= 100",
        ),
        (
            "k_joint: 2",
            "k_joint: 2.0",
            "curves.joint2.k_joint is 2.0; it must be an integer >= 1 and <= 100",
        ),
        # The grid.
        (
            "start: 100,",
            "start: 0,",
            "n.start is 0; it must be an integer >= 1 and <= 1000000000000000",
        ),
        (
            "start: 100,",
            "start: 99.5,",
            "n.start is 99.5; it must be an integer >= 1 and <= 1000000000000000",
        ),
        ("stop: 1000,", "stop: 10,", "n.stop must be at least start, which is 100, got 10"),
        ("points: 3", "points: 0", "n.points is 0; it must be an integer >= 1 and <= 100000"),
        ("points: 3", "points: 1", "n.points must be an integer >= 2, got 1"),
        (
            "stop: 1000, points: 3",
            "stop: 101, points: 3",
            "n.points must be at most 2, the number of integers from 100 to 101, got 3",
        ),
        (
            "{start: 100, stop: 1000, points: 3}",
            "[]",
            "n is []; it must be a mapping or a list that is not empty",
        ),
        (
            "{start: 100, stop: 1000, points: 3}",
            "[10, 0]",
            "n[1] is 0; it must be an integer >= 1 and <= 1000000000000000",
        ),
        (
            "{start: 100, stop: 1000, points: 3}",
            "[7, 7]",
            "n lists 7 twice; its entries must be distinct",
        ),
        # Mechanisms.
        (
            "{type: krr, k: 10}",
            "{type: kr, k: 10}",
            "mechanisms.krr10.type is 'kr' (did you mean krr?); "
            "it must be one of blh, collision, duchi, hadamard, hadamard_blocks, krr, laplace, "
            "local_hash, metric_laplace, oue, piecewise, privset, privunit, rappor, subset, joint, "
            "parallel, subsample",
        ),
        ("{type: krr, k: 10}", "{k: 10}", "mechanisms.krr10.type is missing; it must be text"),
        (
            "    regimes: [low]\n",
            "",
            "figures.fig.regimes is missing; it must be a list that is not empty",
        ),
        ("{type: krr, k: 10}", "{type: krr}", "mechanisms.krr10.k is missing; krr needs: k"),
        (
            "{type: krr, k: 10}",
            "{type: krr, k: 10, kk: 3}",
            "mechanisms.krr10.kk is no parameter of krr (did you mean k?); its parameters are: k",
        ),
        (
            "{type: krr, k: 10}",
            "{type: krr, k: 10, eps0: 3.0}",
            "mechanisms.krr10.eps0 is no parameter of krr; its parameters are: k",
        ),
        (
            "{type: krr, k: 10}",
            "{type: krr, k: 1}",
            "mechanisms.krr10.k must be an integer >= 2, got 1",
        ),
        (
            "{type: krr, k: 10}",
            "{type: krr, k: ten}",
            "mechanisms.krr10.k must be an integer >= 2, got 'ten'",
        ),
        # Names.
        (
            "joint2: {bound: upper, k_joint: 2}",
            "2-joint: {bound: upper, k_joint: 2}",
            "curves.2-joint is no valid name; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
        (
            "large: {eps0: 2.0,",
            "no: {eps0: 2.0,",
            "regimes.False is no valid name; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
        (
            "bennett: {bound: blanket_bennett}",
            "bennett: {bound: blanket_benet}",
            "curves.bennett.bound is 'blanket_benet' (did you mean blanket_bennett?); it must be "
            "one of upper, lower, clone, blanket_hoeffding, blanket_hoeffding_generic, "
            "blanket_bennett, blanket_bennett_generic, clone_closed_form, erlingsson",
        ),
        (
            "engine: saddle",
            "engine: sadle",
            "engine is 'sadle'; it must be one of saddle, fft, exact",
        ),
        (
            "engine: saddle",
            "engine: exact",
            "experiments.krr10: curve clone in regime low: n must be small enough for enumeration "
            "(engine exact), got n = 1000 with more than 20000 histograms",
        ),
        (
            "{mechanism: blh, regimes",
            "{mechanism: bhl, regimes",
            "experiments.blh.mechanism is 'bhl' (did you mean blh?); it must be one of krr10, blh",
        ),
        (
            "regimes: [low], curves: [bennett, clone, upper]}",
            "regimes: [slow], curves: [bennett, clone, upper]}",
            "experiments.blh.regimes[0] is 'slow' (did you mean low?); "
            "it must be one of low, large",
        ),
        (
            "curves: [bennett, clone, upper]}",
            "curves: [bennett, clone, uper]}",
            "experiments.blh.curves[2] is 'uper' (did you mean upper?); "
            "it must be one of bennett, clone, upper, lower, joint2",
        ),
        (
            "curves: [bennett, clone, upper]}",
            "curves: []}",
            "experiments.blh.curves is []; it must be a list that is not empty",
        ),
        (
            "curves: [bennett, clone, upper]}",
            "curves: upper}",
            "experiments.blh.curves is 'upper'; it must be a list that is not empty",
        ),
        (
            "experiments: [krr10, blh]",
            "experiments: [krr10, rappor]",
            "figures.fig.experiments[1] is 'rappor'; it must be one of krr10, blh",
        ),
        (
            "    curves: [bennett, clone, upper]\n",
            "    curves: [lower]\n",
            "figures.fig.curves[0] is 'lower', which experiments.blh does not compute; "
            "it must be one of bennett, clone, upper",
        ),
        (
            "    regimes: [low]\n",
            "    regimes: [low, large]\n",
            "figures.fig.regimes[1] is 'large', which experiments.krr10 does not compute; "
            "it must be one of low",
        ),
        # Looks.
        ("krr10: 10-RR, ", "", "style.experiments.krr10 is missing; figures.fig draws it"),
        (
            "clone: {label: clone, ",
            "colne: {label: clone, ",
            "style.curves.colne is the style of nothing (did you mean clone?); "
            "curves are bennett, clone, upper, lower, joint2",
        ),
        (
            '"#cc7a00"',
            "orange",
            "style.curves.clone.color is 'orange'; it must be an RGB colour like \"#0072b2\"",
        ),
        (
            "line: solid",
            "line: wavy",
            "style.curves.upper.line is 'wavy'; it must be one of solid, dashed, dashdot, dotted",
        ),
    ],
)
def test_a_mistake_is_told_in_one_sentence(old, new, sentence):
    assert mistake(edited(old, new)) == sentence


def test_the_first_mistake_is_told_where_there_are_several():
    config = yaml.safe_load(TINY)
    config["delta"], config["engine"] = 2, "none"
    assert mistake(config).startswith("delta is 2")


def test_the_schema_allows_what_the_library_allows():
    schema = yaml.safe_load(schema_check.SCHEMA.read_text(encoding="utf-8"))["properties"]
    eps0 = schema["regimes"]["additionalProperties"]["properties"]["eps0"]
    assert eps0["maximum"] == validation.MAX_EPS0
    assert schema["delta"]["minimum"] == validation.MIN_DELTA
    assert schema["n"]["items"]["maximum"] == validation.MAX_USERS
    assert schema["n"]["properties"]["stop"]["maximum"] == validation.MAX_USERS
    for rtol in (schema["rtol"]["minimum"], schema["rtol"]["maximum"]):
        assert validation.rtol(rtol) == rtol
        with pytest.raises(ValueError, match="rtol"):
            validation.rtol(rtol * (0.99 if rtol < 1e-3 else 1.01))


def test_the_schema_describes_every_key():
    def keys(fragment, path=""):
        for name, inner in fragment.get("properties", {}).items():
            yield f"{path}.{name}", inner
            yield from keys(inner, f"{path}.{name}")
        if isinstance(fragment.get("additionalProperties"), dict):
            yield from keys(fragment["additionalProperties"], f"{path}.*")

    schema = yaml.safe_load(schema_check.SCHEMA.read_text(encoding="utf-8"))
    silent = [path for path, inner in keys(schema) if "description" not in inner]
    assert silent == []


def test_every_curve_is_listed_once_and_gets_its_own_slice():
    config = yaml.safe_load(TINY)
    listed = matrix.curves(config)
    assert [tuple(curve) for curve in listed] == [
        *(("krr10", "low", curve) for curve in ("bennett", "clone", "upper", "lower", "joint2")),
        *(("blh", "low", curve) for curve in ("bennett", "clone", "upper")),
    ]
    assert matrix.curve_spec(config, matrix.Curve("krr10", "low", "joint2")) == {
        "experiment": "krr10",
        "regime": "low",
        "curve": "joint2",
        "mechanism": {"type": "krr", "k": 10},
        "eps0": 0.5,
        "k_joint": 2,
        "bound": "upper",
        "delta": 1e-6,
        "n": {"start": 100, "stop": 1000, "points": 3},
        "engine": "saddle",
        "rtol": 1e-3,
    }


def test_closed_forms_do_not_depend_on_the_engine():
    spec = matrix.curve_spec(yaml.safe_load(TINY), matrix.Curve("blh", "low", "bennett"))
    assert not {"engine", "rtol"} & spec.keys()


def test_a_hole_in_the_matrix_is_no_curve():
    with pytest.raises(ValueError, match="no curve joint2 of experiment blh in regime low"):
        matrix.curve_spec(yaml.safe_load(TINY), matrix.Curve("blh", "low", "joint2"))


def test_a_figure_gets_its_own_slice():
    config = yaml.safe_load(TINY)
    looks = config["style"]["curves"]
    assert matrix.figure_panels(config, "fig") == [
        [
            {
                "title": f"{label}, low $\\varepsilon_0$ = 0.5",
                "lines": [
                    {"experiment": name, "regime": "low", "curve": curve, **looks[curve]}
                    for curve in ("bennett", "clone", "upper")
                ],
            }
        ]
        for name, label in (("krr10", "10-RR"), ("blh", "BLH"))
    ]
    assert set(matrix.figure_curves(config, "fig")) < set(matrix.curves(config))


def test_the_style_of_what_was_taken_out_may_stay():
    config = edited(
        "experiments: {krr10: 10-RR, blh: BLH}", "experiments: {krr10: 10-RR, blh: BLH, oue: OUE}"
    )
    config_check.check(config)
