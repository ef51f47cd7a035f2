"""The mechanisms by the names that configurations and the command line use.

A mechanism of this package is one line in `_BUILT_IN`. A package of your own adds mechanisms by an
entry point: in its ``pyproject.toml``

    [project.entry-points."shufflebounds.randomizers"]
    mine = "my_package.mine:Mine"

and, in a running program, `register` does the same.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from shufflebounds.core import validation
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import BLH, OUE, RAPPOR, LocalHash, UnaryEncoding
from shufflebounds.randomizers.discrete import KRR, Collision, Duchi, HadamardResponse
from shufflebounds.randomizers.laplace import Laplace, MetricLaplace
from shufflebounds.randomizers.matching import HadamardBlocks, PrivSet, Subset
from shufflebounds.randomizers.matrix import MatrixFile
from shufflebounds.randomizers.windows import Piecewise, PrivUnit

ENTRY_POINTS = "shufflebounds.randomizers"

# Names that a description uses for compositions of mechanisms.
COMPOSITIONS = ("joint", "k_fold", "parallel", "subsample")

_BUILT_IN: dict[str, type[Randomizer]] = {
    "blh": BLH,
    "collision": Collision,
    "duchi": Duchi,
    "hadamard": HadamardResponse,
    "hadamard_blocks": HadamardBlocks,
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
    "unary": UnaryEncoding,
}
_registered: dict[str, type[Randomizer]] = {}


def mechanism_names() -> list[str]:
    """Names of all mechanisms, such as ``krr``: this package's, then those that others added."""
    return [*_BUILT_IN, *sorted({*_registered, *_foreign()} - {*_BUILT_IN})]


def mechanism(name: str) -> type[Randomizer]:
    """The class of a mechanism.

    Raises ValueError for an unknown name, and for an entry point that cannot be loaded or is not a
    mechanism.
    """
    validation.choice("mechanism", name, mechanism_names())
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    return _registered[name] if name in _registered else _load(_foreign()[name])


def register(name: str, randomizer: type[Randomizer]) -> None:
    """Let configurations and the command line of this process know a mechanism by `name`.

    Raises ValueError for a name that is taken, and where `randomizer` is not a frozen dataclass
    derived from `Randomizer` that defines all of its abstract methods.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"name must be an identifier, such as my_mechanism, got {name!r}")
    if name in mechanism_names() or name in COMPOSITIONS:
        raise ValueError(f"name must be one that no mechanism has yet, got {name!r}")
    _registered[name] = _checked(repr(randomizer), randomizer)


@cache
def _foreign() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


@cache
def _load(entry: EntryPoint) -> type[Randomizer]:
    try:
        found = entry.load()
    except Exception as error:  # whatever the code of another package raises
        raise ValueError(
            f"the mechanism {entry.name} cannot be loaded from {entry.value}: {error}"
        ) from error
    return _checked(entry.value, found)


def _checked(where: str, found: object) -> type[Randomizer]:
    if not (isinstance(found, type) and issubclass(found, Randomizer) and _is_frozen(found)):
        raise ValueError(
            f"{where} must be a frozen dataclass derived from Randomizer, got {found!r}"
        )
    if missing := sorted(found.__abstractmethods__):
        raise ValueError(f"{where} must define {', '.join(missing)}, which are missing")
    return found


def _is_frozen(found: type) -> bool:
    """Whether it is a frozen dataclass itself, not only derived from one."""
    parameters = vars(found).get("__dataclass_params__")
    return parameters is not None and parameters.frozen
