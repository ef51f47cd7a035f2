"""The divergence of the worst dataset, bounded from above: no decomposition's bound.

Every other user is thought to toss a coin: with probability λ its report comes from d/λ, d = τc a
part of the blanket, else from the rest of its own law. Among those whose coins show heads the
victim hides; the labelled reports of the others are independent values G_x, not identical ones, of
which Hölder's inequality on the line of integration says that the worst dataset gives all other
users one input. For any θ, η > 0 and h > 0, with t_j = jh, z_j = θ + it_j and c_x = R(x) − d,

    D(ε) ≤ max_x {Σ_{R(x)=0} (a − e^ε b)₊ + (h/2πn) Σ_j e^{η²(θ²−t_j²)/2} |z_j|⁻² q_x(z_j)ⁿ}
           + (1 − λ)^{n−1} D_res(ε),        q_x(z) = λ + |Σ_y c_x e^{z (a − e^ε b)/c_x}|,

where D_res is the divergence of what is left of the blanket, (a, b, (c − d)/(1 − λ)). All this is
proved in docs/closing-the-gap.md. τ, θ, η and h decide how tight it is, nothing else.
"""

from __future__ import annotations

import contextlib
import math

import numpy as np

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.aims import Aim, best_aim, too_small
from shufflebounds.divergence.certified import divergence
from shufflebounds.divergence.compress import compress
from shufflebounds.divergence.enclosing import assembled, excess
from shufflebounds.divergence.fourier import unscaled, with_factor
from shufflebounds.divergence.law import Law, U, characteristic, law, tilt

# Components from which on fewer do, and modes times components held in memory at once.
_MOST_COMPONENTS, _CELLS, _BLOCK = 1000, 500, 2**19
_LARGEST_EPS = 690.0
# What may be added to the maximum without another look.
_NEGLIGIBLE = 1e-4
# Relative uncertainty of masses beyond which nothing is claimed.
_MOST_DOUBT = 1e-4


def supremum(crowd: Crowd, eps: float, n: int) -> float:
    """Upper bound of D(ε) of n users over all datasets, with the victim's inputs in this order.

    1 where nothing better can be claimed. Raises ValueError for eps < 0 or n < 1.
    """
    # D falls in ε, and e^ε b must stay finite.
    eps, n = min(validation.eps(eps), _LARGEST_EPS), validation.whole("n", n, minimum=1)
    if n == 1:
        return _at_most_one(divergence(crowd.blanket(), eps, 1).upper)
    # Values too far apart for floats raise; nothing is claimed of them.
    with np.errstate(all="ignore"), contextlib.suppress(OverflowError, ZeroDivisionError):
        best = best_aim(crowd, eps, n)
        if best is not None:
            main = max(_all_others(one, eps, n, best) for one in (crowd, *crowd.extremes))
            return _at_most_one(main + _no_heads(crowd, eps, n, best.tau, _NEGLIGIBLE * main))
    return 1.0


def _at_most_one(bound: float) -> float:
    # NaN is no bound at all.
    return bound * (1.0 + 4.0 * U) if bound < 1.0 else 1.0


def _all_others(crowd: Crowd, eps: float, n: int, aim: Aim) -> float:
    """The maximum over x; inf where round-off leaves nothing."""
    heads = float(aim.tau @ crowd.c) * (1.0 + crowd.rel_err + (crowd.c.size + 4.0) * U)
    found = [_one_input(crowd, other, eps, n, aim, heads) for other in crowd.others.values()]
    return math.inf if any(map(math.isnan, found)) else max(found)


def _one_input(
    crowd: Crowd, other: FloatArray, eps: float, n: int, aim: Aim, heads: float
) -> float:
    """What all others holding one input give in the maximum."""
    rest = other - aim.tau * crowd.c
    if (rest < 0.0).any() or too_small(rest):
        return math.inf
    # Subtracting at most 9/10 of what another input is sure of magnifies errors.
    used = rest > 0.0
    magnified = np.max((other + aim.tau * crowd.c)[used] / rest[used], initial=1.0)
    rel_err = (1.01 * crowd.rel_err + 3.0 * U) * float(magnified)
    if not rel_err < _MOST_DOUBT:
        return math.inf
    decomposition = Decomposition(crowd.a, crowd.b, rest, rel_err).merge()
    apart = excess(decomposition, math.expm1(eps), decomposition.c == 0.0)[1]
    g = law(decomposition, eps)
    if g.values.size == 0:  # others never send what the victim does
        return float(apart)
    if aim.theta == 0.0:  # no value of any input seems to be above 0
        return float(apart) if (g.values + g.value_err <= 0.0).all() else math.inf
    log_sum = _log_integral(g, n, aim, heads)
    return assembled((0.0, float(apart)), (0.0, math.inf), (-math.inf, log_sum), n)[1]


def _no_heads(crowd: Crowd, eps: float, n: int, tau: FloatArray, negligible: float = 0.0) -> float:
    """What is left if nobody reports from the blanket, by the blanket that remains.

    Without that where the chance of it is `negligible`, and where inputs are mixtures of extremes.
    """
    family = (crowd, *crowd.extremes)
    heads = min(float(tau @ one.c) for one in family)
    rest = crowd.c * (1.0 - tau) / (1.0 - heads)
    rel_err = (1.01 * crowd.rel_err + (crowd.c.size + 16.0) * U) / (1.0 - heads)
    if not rel_err < _MOST_DOUBT:
        return math.inf
    least = heads * (1.0 - rel_err)
    chance = math.exp((n - 1) * math.log1p(-least) * (1.0 - 8.0 * U)) * (1.0 + 8.0 * U) + 5e-324
    # What the victim's report says to somebody who knows that it is the victim's.
    everything = np.ones(crowd.a.size, dtype=np.bool_)
    alone = max(float(excess(one.blanket(), math.expm1(eps), everything)[1]) for one in family)
    bound = chance * min(alone, 1.0) * (1.0 + 8.0 * U)
    if crowd.extremes or bound <= negligible or too_small(rest):
        return bound
    left = divergence(Decomposition(crowd.a, crowd.b, rest, rel_err).merge(), eps, n, 0.05)
    return min(bound, chance * left.upper * (1.0 + 8.0 * U))


def _log_integral(g: Law, n: int, aim: Aim, heads: float) -> float:
    """Upper bound of log (h/2π) Σ_j e^{η²(θ²−t_j²)/2} |z_j|⁻² q(z_j)ⁿ; inf where nothing is left.

    Values are in units of 2^exponent: so are θ, h and 1/η, to which that is exact.
    """
    theta, step = (math.ldexp(x, g.exponent) for x in (aim.theta, aim.step))
    eta = math.ldexp(aim.eta, -g.exponent)
    tilted = tilt(g, theta)
    if g.values.size > _MOST_COMPONENTS:
        g = compress(g, tilted.weights, _CELLS)[1]
        tilted = tilt(g, theta)
    k, k_err = tilted.log_mgf, tilted.log_mgf_err
    if not (n * k_err < 1.0 and tilted.left_out < 1.0):
        return math.inf
    # Raising the share of the heads raises q. What is not theirs is exactly `tails` then.
    share = heads * math.exp(k_err - k) * (1.0 + (8.0 + 2.0 * abs(k)) * U)
    tails = max(0.0, math.nextafter(1.0 - share, -math.inf))
    total, t = 0.0, np.arange(aim.modes + 1.0) * step
    block = max(1, _BLOCK // max(1, g.values.size))
    for part in (t[start : start + block] for start in range(0, t.size, block)):
        away, err = characteristic(g, tilted, part)
        log_q = _log_q(away.real, away.imag, err, tails)
        exponent = n * log_q - 0.5 * (eta * part) ** 2 * (1.0 - 8.0 * U)
        weight = np.where(part == 0.0, 1.0, 2.0) / (theta**2 + part**2)
        total += float(np.sum(weight * np.exp(np.maximum(exponent, -700.0))))
    last = float(t[-1])
    beyond = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last**3)
    total = (total * step / (2.0 * math.pi) + beyond) * (1.0 + 1e-9)
    if not math.isfinite(total):
        return math.inf
    high = with_factor(0.0, total, n * k, n * k_err, theta * eta)[1]
    return unscaled(-math.inf, high, g.exponent)[1]


def _log_q(real: FloatArray, imag: FloatArray, err: FloatArray, tails: float) -> FloatArray:
    """Upper bounds of log(1 − s + |s + (φ − 1)|) for s = `tails` and φ − 1 known to within `err`.

    With s exact, the difference of the modulus and s is that of their squares over their sum.
    """
    square = 2.0 * tails * real + (real * real + imag * imag)
    size = 2.0 * tails * np.abs(real) + (real * real + imag * imag)
    both = np.hypot(tails + real, imag) + tails
    safe = np.where(both > 0.0, both, 1.0)
    gain = np.where(both > 0.0, (square + 16.0 * U * size) / safe, 0.0) + err
    # q is at most 1, and less than what rounding leaves of it near 0 is of no use.
    return np.log1p(np.clip(gain, -1.0 + 1e-15, 0.0)) * (1.0 - 8.0 * U)
