"""Mechanisms by name: ours, those registered in a running program, those of other packages."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import pytest
from repository import ROOT

import shufflebounds as sb
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import parse

SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Coin(sb.Randomizer):
    """Binary randomized response."""

    composable = True

    eps0: float
    sides: int = 2

    def blanket(self):
        return sb.KRR(2, self.eps0).blanket()

    def dataset_pairs(self):
        return sb.KRR(2, self.eps0).dataset_pairs()


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


def test_ours():
    names = registry.mechanism_names()
    assert {"blh", "hadamard", "krr", "laplace", "oue", "rappor", "subset"} <= {*names}
    assert names == sorted(names)
    assert registry.mechanism("krr") is sb.KRR
    with pytest.raises(
        ValueError, match=rf"^mechanism must be one of {', '.join(names)}, got 'coin'"
    ):
        registry.mechanism("coin")


def test_a_registered_mechanism_is_like_any_other():
    registry.register("coin", Coin)
    assert registry.mechanism_names()[-1] == "coin"
    parsed = parse({"type": "coin", "sides": 2})
    assert str(parsed) == "coin(sides=2)"
    assert parsed.randomizer(1.5) == Coin(1.5)
    joint = parse({"type": "joint", "parts": [{"mechanism": {"type": "coin"}}] * 2})
    assert joint.randomizer(2.0).parts == (Coin(1.0), Coin(1.0))
    with pytest.raises(ValueError, match=r"^side is not a parameter of coin \(did you mean sides"):
        parse({"type": "coin", "side": 2})


@pytest.mark.parametrize(
    ("name", "randomizer", "message"),
    [
        ("krr", Coin, "name must be one that no mechanism has yet, got 'krr'"),
        ("joint", Coin, "name must be one that no mechanism has yet, got 'joint'"),
        ("my coin", Coin, "name must be an identifier, such as my_mechanism, got 'my coin'"),
        (None, Coin, "name must be an identifier, .* got None"),
        ("coin", 5, "5 must be a frozen dataclass derived from Randomizer, got 5"),
        ("coin", int, ".* must be a frozen dataclass derived from Randomizer, got <class 'int'>"),
        ("coin", Coin(1.0), ".* must be a frozen dataclass derived from Randomizer, got Coin"),
        # It would be a key of dictionaries: equal parts of a joint are found by it.
        (
            "coin",
            dataclass(type("Mutable", (sb.Randomizer,), {"blanket": 0, "dataset_pairs": 0})),
            ".* must be a frozen dataclass derived from Randomizer",
        ),
        (
            "coin",
            dataclass(frozen=True)(type("Half", (sb.Randomizer,), {"blanket": None})),
            ".* must define dataset_pairs, which are missing",
        ),
    ],
)
def test_what_is_not_a_mechanism_is_refused(name, randomizer, message):
    before = registry.mechanism_names()
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        registry.register(name, randomizer)
    assert "\n" not in str(caught.value)
    assert registry.mechanism_names() == before


MODULE = '''
from dataclasses import dataclass
import shufflebounds as sb

@dataclass(frozen=True)
class Coin(sb.Randomizer):
    """Binary randomized response."""
    eps0: float

    def blanket(self):
        return sb.KRR(2, self.eps0).blanket()

    def dataset_pairs(self):
        return sb.KRR(2, self.eps0).dataset_pairs()

@dataclass(frozen=True)
class Half(sb.Randomizer):
    eps0: float

NUMBER = 5
'''


@pytest.fixture
def package(tmp_path):
    """A package with entry points, as pip would install it."""
    (tmp_path / "coins.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken_coins.py").write_text("raise RuntimeError('no coins')\n", encoding="utf-8")
    info = tmp_path / "coins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        textwrap.dedent(
            """\
            [shufflebounds.randomizers]
            coin = coins:Coin
            half = coins:Half
            number = coins:NUMBER
            absent = coins:Absent
            lost = no_such_module:Coin
            broken = broken_coins:Coin
            krr = coins:Coin
            """
        )
    )
    return tmp_path


def run(package, program):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{package}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_mechanisms_of_other_packages(package):
    """Found by their entry points, loaded when they are asked for; ours keep their names."""
    program = """
import sys
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import parse
print(*registry.mechanism_names())
print("coins" in sys.modules)
print(parse({"type": "coin"}).randomizer(1.5))
print(registry.mechanism("krr").__module__)
for name in ("half", "number", "absent", "lost", "broken"):
    try:
        registry.mechanism(name)
    except ValueError as error:
        print(error)
"""
    ours = " ".join(registry.mechanism_names())
    assert run(package, program) == [
        f"{ours} absent broken coin half lost number",
        "False",
        "Coin(eps0=1.5)",
        "shufflebounds.randomizers.discrete",
        "coins:Half must define blanket, dataset_pairs, which are missing",
        "coins:NUMBER must be a frozen dataclass derived from Randomizer, got 5",
        "the mechanism absent cannot be loaded from coins:Absent: "
        "module 'coins' has no attribute 'Absent'",
        "the mechanism lost cannot be loaded from no_such_module:Coin: "
        "No module named 'no_such_module'",
        "the mechanism broken cannot be loaded from broken_coins:Coin: no coins",
    ]
