"""The inverse questions of a deployment: how large an ε₀, and how few users, meet a target (ε, δ)?

Either way D(ε), or the ε of several rounds at δ, is evaluated along an axis, of ε₀ or of n, until
the point where it meets the target lies between two neighbours. Estimates steer the search; the
ends it returns were evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting import rounds as questions
from shufflebounds.accounting.search import LocalPrivacy, Probe, Users, narrow
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.floats import log
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Relative widths of D to try in turn until it can be told from δ; of many rounds, widths of ε, each
# of which costs another profile.
_LADDER = (1e-4, 1e-6, 1e-8, 1e-9)
_EPS0_LADDER_OF_MANY = (0.1, 0.01, 1e-3)
_USERS_LADDER_OF_MANY = (0.1, 0.01, 3e-3)


def largest_eps0(
    mechanism: Callable[[float], Decomposition | Randomizer],
    eps: float,
    delta: float,
    n: int,
    *,
    rounds: int = 1,
    rtol: float = 1e-3,
) -> Enclosure:
    """Enclosure of the largest ε₀ at which a decomposition makes `n` shuffled reports (ε, δ)-DP.

    ``lower`` may be deployed: there D(ε) was found to be at most δ in both directions. At ``upper``
    it was found to be above δ. That D(ε) grows with ε₀ steers the search and is why nothing above
    ``upper`` should do; what is said of ``lower`` rests on the evaluation at ``lower`` alone.

    Of randomizers in place of decompositions, both are of the mechanism's own δ, as `rounds.delta`
    encloses it: at ``lower`` no two datasets miss the target, at ``upper`` some do, and what lies
    between is not known.

    Parameters
    ----------
    mechanism
        From ε₀ to the decomposition of an ε₀-LDP randomizer, such as
        ``lambda eps0: KRR(k=10, eps0=eps0).blanket()``, or `standard_clone`; or to the randomizer,
        such as `BLH`.
    eps, delta
        The target, 0 ≤ ε ≤ 300 (natural log) and 10⁻³⁰⁰ ≤ δ < 1. Local privacy needs no shuffling,
        so that ε₀ = ε/`rounds` always meets it, and so does ε₀ = 2δ/`rounds`: total variation of
        ε₀-LDP reports is at most tanh(ε₀/2).
    n
        Number of users, 1 to 10¹⁵.
    rounds
        How many such rounds together must meet the target, 1 to 10⁶.
    rtol
        The relative width to aim at, 10⁻⁹ to 0.1. The answer is wider where the engine cannot tell
        D(ε) from δ that closely, as for a continuous randomizer in few cells.

    Returns
    -------
    Enclosure
        Of ε₀ (natural log). ``upper`` is inf where 300, the largest ε₀ of this library, will do.

    Raises
    ------
    ValueError
        For arguments outside these ranges, and where not even an ε₀ a little below those is found
        to meet the target: then `mechanism` cannot be what it should be, or floats cannot tell δ
        from 0.

    """
    eps, delta = _eps_within_eps0(eps), validation.delta(delta)
    n, rtol = validation.users(n), validation.rtol(rtol)
    rounds = validation.whole("rounds", rounds, minimum=1, maximum=validation.MAX_ROUNDS)
    if not callable(mechanism):
        raise ValueError(
            "mechanism must be a function from eps0 to a decomposition or a randomizer, such as "
            f"lambda eps0: KRR(k=10, eps0=eps0).blanket(), got {mechanism!r}"
        )
    # At ε₀ = ε itself, rounding may leave a D(ε) above 0.
    private = max(eps, 2.0 * delta) / rounds * (1.0 - 0.5 * rtol)
    axis = LocalPrivacy(validation.MAX_EPS0, private, rtol)
    # ε is about √(2 v log(1/δ)/n) for a v like that of `LocalPrivacy.scale`; D(0) is √(v/(2πn)).
    if eps > 0.0:
        start = math.log(-2.0 * rounds * math.log(delta) / n) - 2.0 * math.log(eps)
    else:
        start = math.log(rounds / (2.0 * math.pi * n)) - 2.0 * math.log(delta)
    ladder = _LADDER if rounds == 1 else _EPS0_LADDER_OF_MANY
    above, lower = narrow(
        lambda eps0: _probe(mechanism(eps0), eps, delta, n, rounds, ladder), axis, start
    )
    if lower is None and eps <= 2.0 * delta:
        raise ValueError(
            f"delta must be larger for eps = {eps!r}, since floats cannot tell so small a "
            f"divergence from 0, got {delta!r}"
        )
    if lower is None:
        raise ValueError(
            "mechanism must give decompositions of eps0-LDP randomizers, but reports at eps0 = "
            f"{axis.most_private!r} are not known to be ({eps!r}, {delta!r})-DP"
        )
    return Enclosure(lower, math.inf if above is None else above)


def _eps_within_eps0(eps: object) -> float:
    most = validation.MAX_EPS0
    checked = validation.eps(eps)
    if checked > most:
        raise ValueError(f"eps must be a finite number with 0 <= eps <= {most:g}, got {eps!r}")
    return checked


def fewest_users(
    decomposition: Decomposition | Randomizer, eps: float, delta: float, *, rounds: int = 1
) -> Enclosure:
    """Enclosure of the smallest n at which a decomposition makes n shuffled reports (ε, δ)-DP.

    ``upper`` users are enough: there D(ε) was found to be at most δ in both directions, and D does
    not grow with n. ``lower`` − 1 users are not: there it was found to be above δ. Both ends are
    integers, and equal where the engine can tell neighbouring numbers of users apart (up to some
    10⁸ in a single round, and a few hundred in more).

    Of a randomizer in place of a decomposition, both are of the mechanism's own δ, as
    `rounds.delta` encloses it: with ``upper`` users no two datasets miss the target, with
    ``lower`` − 1 some do, and what lies between is not known.

    Parameters
    ----------
    decomposition
        Of the randomizer; or the randomizer.
    eps, delta
        The target, ε ≥ 0 (natural log) and 10⁻³⁰⁰ ≤ δ < 1.
    rounds
        How many such rounds together must meet the target, 1 to 10⁶.

    Returns
    -------
    Enclosure
        Of a number of users. ``upper`` is inf where 10¹⁵ users, the most of this library, are not
        known to be enough; ``lower`` is 10¹⁵ + 1 where they certainly are not.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    """
    eps, delta = validation.eps(eps), validation.delta(delta)
    rounds = validation.whole("rounds", rounds, minimum=1, maximum=validation.MAX_ROUNDS)
    mechanism = require_mechanism(decomposition)
    parts = mechanism.blankets().values() if isinstance(mechanism, Randomizer) else [mechanism]
    axis = Users(1, validation.MAX_USERS)
    variance = max(map(_variance, parts))
    wanted = -2.0 * rounds * variance * math.log(delta)
    start = log(wanted) - 2.0 * math.log(eps) if eps else math.inf
    ladder = _LADDER if rounds == 1 else _USERS_LADDER_OF_MANY
    below, upper = narrow(lambda n: _probe(mechanism, eps, delta, n, rounds, ladder), axis, start)
    return Enclosure(1 if below is None else below + 1, math.inf if upper is None else upper)


def _variance(decomposition: Decomposition) -> float:
    """Of the GPARV at ε = 0."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        return float(masses @ values**2)


def _probe(
    mechanism: Decomposition | Randomizer,
    eps: float,
    delta: float,
    n: int,
    rounds: int,
    ladder: Sequence[float],
) -> Probe:
    if rounds == 1:
        return _by_delta(partial(questions.delta, mechanism, eps, n), delta, ladder)
    return _by_epsilon(partial(questions.epsilon, mechanism, n, delta, rounds=rounds), eps, ladder)


def _by_delta(ask: Callable[..., Enclosure], delta: float, ladder: Sequence[float]) -> Probe:
    for rtol in ladder:
        try:
            found = ask(rtol=rtol)
            # Of a randomizer there may be more between the ends than what they are known to.
            fell_short = found.relative_width > rtol
        except PrecisionError as error:
            found, fell_short = error.enclosure, True
        side = 1 if found.upper <= delta else -1 if found.lower > delta else 0
        if side != 0 or fell_short:
            break
    return _probed(side, *(log(log(end) / math.log(delta)) for end in (found.upper, found.lower)))


def _by_epsilon(ask: Callable[..., Enclosure], eps: float, ladder: Sequence[float]) -> Probe:
    """Of many rounds: their ε at δ never lies as far out as their δ at ε may."""
    for rtol in ladder:
        found = reached(partial(ask, rtol=rtol))
        side = 1 if found.upper <= eps else -1 if found.lower > eps else 0
        # Those that miss one width come close to it, and so closer to the next.
        if side != 0:
            break
    # log(1/δ) goes about like ε².
    return _probed(side, *(2.0 * (log(eps) - log(end)) for end in (found.upper, found.lower)))


def _probed(side: int, low: float, high: float) -> Probe:
    if math.isinf(low) or math.isinf(high):
        return Probe(side, side * math.inf if side else 0.0, math.inf)
    return Probe(side, 0.5 * (low + high), 0.5 * (high - low))
