"""How much privacy do n reports gain from shuffling? Certified (ε, δ) for local randomizers.

n users each send one report of a local randomizer, and a shuffler hides who sent what.

>>> import shufflebounds as sb
>>> R = sb.KRR(k=10, eps0=4.0)  # ε₀: what one report leaks by itself
>>> eps = sb.epsilon(R, n=100_000, delta=1e-6)
>>> f"{eps:.4f}"  # you can claim eps.upper; no valid claim is below eps.lower
'[0.1099, 0.1100]'

Questions about a randomizer R
    `epsilon` at δ, `delta` at ε, `renyi` divergence, `advantage` of attacks, the whole `profile`;
    of many rounds with ``rounds=``, or rounds that differ with `compose`, `ShuffleAccountant`.
    all reports of a `Deployment`, day after day; `progress` shows the steps of long work.
What to deploy
    `largest_eps0`, `fewest_users`, `most_rounds` for a target (ε, δ).
Randomizers
    `KRR`, `BLH`, `LocalHash`, `RAPPOR`, `OUE`, `HadamardResponse`, `HadamardBlocks`, `Subset`,
    `PrivSet`, `Collision`, `Duchi`, `Piecewise`, `Laplace`, `MetricLaplace`, `Gaussian`,
    `PrivUnit`, `BloomRAPPOR`, `CMS`, `HCMS`, `DBitFlip`, `Hybrid`, `Survey`, any
    `MatrixRandomizer`; `Joint`, `Parallel` and `Subsampled` compose them.
Training
    `RandomAllocation` (DP-SGD by balls and bins, redrawn in every epoch) in `epsilon`, `delta`,
    `advantage` and `compose`, and `smallest_noise_multiplier` for a target (ε, δ).
For proofs
    ``R.blanket()`` and ``R.dataset_pair()`` are a `Decomposition` each, which all questions take as
    well; `standard_clone`, `stronger_clone` and `variation_ratio` need no randomizer.
Tables and figures
    `curve`, and ``import shufflebounds.notebook``.

Answers are an `Enclosure`: two floats that hold the number, every rounding charged. All ε are
natural logarithms. ``shufflebounds --help`` has the same on the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from shufflebounds._version import __version__ as __version__

if TYPE_CHECKING:
    from shufflebounds.api import *  # noqa: F403


def __getattr__(name: str) -> object:
    """Return a public name; the first one loads them all, so that a command starts without them."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    api = import_module("shufflebounds.api")
    globals().update({one: getattr(api, one) for one in api.__all__})
    globals()["__all__"] = [*api.__all__, "__version__"]
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return [*import_module("shufflebounds.api").__all__, "__doc__", "__version__"]
