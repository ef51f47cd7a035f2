"""The mechanisms by their names in configurations and on the command line.

A mechanism of this package takes one line in `_BUILT_IN`. Another package adds mechanisms by an
entry point in its ``pyproject.toml``:

    [project.entry-points."shufflebounds.randomizers"]
    mine = "my_package.mine:Mine"

In a running program `register` does the same.
"""

from __future__ import annotations

from functools import cache

from shufflebounds.core import validation
from shufflebounds.core.plugins import load_plugin, plugins
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import BLH, OUE, RAPPOR, LocalHash, UnaryEncoding
from shufflebounds.randomizers.dbitflip import DBitFlip
from shufflebounds.randomizers.discrete import KRR, Collision, Duchi, HadamardResponse
from shufflebounds.randomizers.filters import BloomRAPPOR
from shufflebounds.randomizers.gaussian import Gaussian
from shufflebounds.randomizers.hybrid import Hybrid
from shufflebounds.randomizers.laplace import Laplace, MetricLaplace
from shufflebounds.randomizers.matching import HadamardBlocks, PrivSet, Subset
from shufflebounds.randomizers.matrix_file import MatrixFile
from shufflebounds.randomizers.sketches import CMS, HCMS
from shufflebounds.randomizers.survey import Survey
from shufflebounds.randomizers.windows import Piecewise, PrivUnit

# The group of entry points by which other packages add mechanisms.
ENTRY_POINTS = "shufflebounds.randomizers"

# Names that a description uses for compositions of mechanisms.
COMPOSITIONS = ("joint", "k_fold", "parallel", "subsample")

_BUILT_IN: dict[str, type[Randomizer]] = {
    "blh": BLH,
    "bloom_rappor": BloomRAPPOR,
    "cms": CMS,
    "collision": Collision,
    "dbitflip": DBitFlip,
    "duchi": Duchi,
    "gaussian": Gaussian,
    "hadamard": HadamardResponse,
    "hadamard_blocks": HadamardBlocks,
    "hcms": HCMS,
    "hybrid": Hybrid,
    "krr": KRR,
    "laplace": Laplace,
    "local_hash": LocalHash,
    "matrix": MatrixFile,
    "metric_laplace": MetricLaplace,
    "oue": OUE,
    "piecewise": Piecewise,
    "privset": PrivSet,
    "privunit": PrivUnit,
    "rappor": RAPPOR,
    "subset": Subset,
    "survey": Survey,
    "unary": UnaryEncoding,
}
_registered: dict[str, type[Randomizer]] = {}


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms, such as ``krr``; those of this package come first."""
    return [*_BUILT_IN, *sorted({*_registered, *plugins(ENTRY_POINTS)} - {*_BUILT_IN})]


def mechanism(name: str) -> type[Randomizer]:
    """Return the class of a mechanism.

    Raises ValueError for an unknown name, and for an entry point that cannot be loaded or is not a
    mechanism.
    """
    validation.choice("mechanism", name, mechanism_names())
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    return _registered[name] if name in _registered else _class_of_package(name)


def register(name: str, randomizer: type[Randomizer]) -> None:
    """Add a mechanism by `name` to the configurations and the command line of this process.

    Raises ValueError for a name that is taken, and if `randomizer` is not a frozen dataclass
    derived from `Randomizer` that defines all of its abstract methods.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"name must be an identifier, such as my_mechanism, got {name!r}")
    if name in mechanism_names() or name in COMPOSITIONS:
        raise ValueError(f"name must be one that no mechanism has yet, got {name!r}")
    _registered[name] = _require_mechanism_class(repr(randomizer), randomizer)


@cache
def _class_of_package(name: str) -> type[Randomizer]:
    """Return the class of another package; raise ValueError if it cannot be loaded."""
    entry = plugins(ENTRY_POINTS)[name]
    return _require_mechanism_class(entry.value, load_plugin("mechanism", entry))


def _require_mechanism_class(origin: str, value: object) -> type[Randomizer]:
    """Return `value` if it is a class of mechanisms; raise ValueError with `origin` otherwise."""
    if not (isinstance(value, type) and issubclass(value, Randomizer) and _is_frozen(value)):
        raise ValueError(
            f"{origin} must be a frozen dataclass derived from Randomizer, got {value!r}"
        )
    if missing := sorted(value.__abstractmethods__):
        raise ValueError(f"{origin} must define {', '.join(missing)}, which are missing")
    return value


def _is_frozen(class_: type) -> bool:
    """Return whether a class is a frozen dataclass itself, not only derived from one."""
    parameters = vars(class_).get("__dataclass_params__")
    return parameters is not None and parameters.frozen
