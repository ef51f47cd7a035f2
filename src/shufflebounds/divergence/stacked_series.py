"""The Fourier series of several points at once, for `stacked`: the bounds of `series` on arrays.

Frequencies of all points stand in one row, in the order of their ``owner``, the index of the point.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.frequencies import consecutive
from shufflebounds.divergence.law import U
from shufflebounds.divergence.modes import Plan, stretches
from shufflebounds.divergence.series import ModeSums, Terms
from shufflebounds.divergence.stack import Indices, Stack, blocks, moments
from shufflebounds.divergence.turns import away_from_one
from shufflebounds.divergence.window import Window


def stacked_sums(stack: Stack, plans: list[Plan], windows: list[Window]) -> list[ModeSums]:
    """The sums over the modes of each point, what is left out counted as error."""
    step, eta = np.array([window.step for window in windows]), stack.eta
    value_err, density_err = (
        np.array([getattr(plan, name) for plan in plans]) for name in ("value", "density")
    )
    modes, owner, skipped = _needed(stack, plans, windows, step)
    value_err, density_err = value_err + skipped[0], density_err + skipped[1]
    t = modes * step[owner]
    away, err = _characteristic(stack, owner, t)
    terms = Terms.of(away, err, stack.n[owner], stack.theta[owner], eta[owner], t)
    starts = np.searchsorted(owner, np.arange(len(plans)))
    value, slip = _segment_sums(terms.value, terms.value_err, starts)
    density, density_slip = _segment_sums(terms.density, terms.density_err, starts)
    columns = (value, value_err + slip, density, density_err + density_slip)
    return [ModeSums(*row) for row in zip(*(x.tolist() for x in columns), strict=True)]


def _segment_sums(
    terms: FloatArray, errs: FloatArray, starts: Indices
) -> tuple[FloatArray, FloatArray]:
    """Sums of the segments that begin at `starts`, and bounds of their errors."""
    count = np.diff(starts, append=terms.size)
    sums, sizes, err = (np.add.reduceat(x, starts) for x in (terms, np.abs(terms), errs))
    return sums, (err + count * U * sizes) * (1.0 + 1e-9)


def _needed(
    stack: Stack, plans: list[Plan], windows: list[Window], step: FloatArray
) -> tuple[FloatArray, Indices, tuple[FloatArray, FloatArray]]:
    """Modes to evaluate, their owners, and bounds of the value and density of those skipped."""
    near, start, stride = np.array([(plan.near, plan.start, plan.stride) for plan in plans]).T
    end = np.array([window.modes + 1 for window in windows])
    tail = np.where(stride == 1, end - start, 0)
    points = np.arange(near.size)
    starts, lengths, owners = [0 * near, start], [near, tail], [points, points]
    skipped = np.zeros(near.shape), np.zeros(near.shape)
    count = np.where(stride == 1, 0, -((start - end) // stride))
    if count.any():
        negligible = np.array([math.log(window.negligible) for window in windows])
        first = start[:, None] + stride[:, None] * np.arange(count.max() + 1)
        t = first * step[:, None]
        square = _square(stack, start * step, stride * step, t)
        _, high, _ = moments(stack)
        columns = (x[:, None] for x in (stride * step, high, stack.n, stack.eta))
        bounds = stretches(square, t, *columns)
        length = np.minimum(first[:, 1:], end[:, None]) - first[:, :-1]
        skip = bounds < negligible[:, None]
        inside = np.arange(count.max()) < count[:, None]
        each = 2.0 * length * np.exp(np.minimum(bounds, 0.0))
        each = np.where(skip & inside, each, 0.0)
        share = each / (stack.theta[:, None] ** 2 + t[:, :-1] ** 2)
        skipped = tuple(x.sum(axis=-1) * (1.0 + 1e-9) for x in (share, each))
        kept = inside & ~skip
        starts.append(first[:, :-1][kept])
        lengths.append(length[kept])
        owners.append(np.nonzero(kept)[0])
    begin, size, owner = (np.concatenate(x) for x in (starts, lengths, owners))
    order = np.argsort(owner, kind="stable")
    modes = consecutive(begin[order].astype(np.float64), size[order])
    return modes, np.repeat(owner[order], size[order]), skipped


def _square(stack: Stack, start: FloatArray, stride: FloatArray, t: FloatArray) -> FloatArray:
    """Upper bounds of |φ|² at the frequencies t = start + k · stride, shape (P, K).

    With k = iB + j, e^{itg} is e^{i(start + j stride)g} times e^{i(iB stride)g}, and φ for all i
    and j a product of matrices. Both frequencies are exact, and their sum is t.
    """
    g, w, err = stack.law, stack.weights, stack.weight_err
    width = math.isqrt(t.shape[1] - 1) + 1
    inner = start[:, None] + stride[:, None] * np.arange(width)
    outer = stride[:, None] * (width * np.arange(-(-t.shape[1] // width)))
    short, long = (_turns(x[..., None] * stack.values[:, None, :]) for x in (inner, outer))
    phi = (w[:, None, :] * long) @ short.swapaxes(1, 2)
    phi = phi.reshape(t.shape[0], -1)[:, : t.shape[1]] + (1.0 - w.sum(axis=-1))[:, None]
    # |ΔE| ≤ 6u of either factor, 4u for their product and w; weights count twice, as 1 − Σw.
    relative = np.vecdot(w, 2.0 * err + 32.0 * U + 4.0 * g.sum_err) + 8.0 * U
    relative += 2.0 * stack.left_out
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(stack.values) + stack.value_err)
    return (np.abs(phi) + relative[:, None] + t * absolute[:, None]) ** 2 + 8.0 * U


def _turns(y: FloatArray) -> NDArray[np.complex128]:
    """e^{iy}."""
    turns = np.empty(y.shape, dtype=np.complex128)
    turns.real, turns.imag = np.cos(y), np.sin(y)
    return turns


def _characteristic(
    stack: Stack, owner: Indices, t: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """`law.characteristic` at frequencies t of the points `owner`, both of shape (R,)."""
    g, w, err = stack.law, stack.weights, stack.weight_err
    relative = w * (err + 24.0 * U + g.sum_err)
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(stack.values) + stack.value_err)
    left_out = 2.0 * stack.left_out + 2.0**-1000
    away, away_err = np.empty(t.size, dtype=np.complex128), np.empty(t.size)
    for part in blocks(t.size, w.shape[-1]):
        of = owner[part]
        y = t[part, None] * stack.values[of]
        cosine, sine = away_from_one(y)
        away.real[part] = np.vecdot(cosine, w[of])
        away.imag[part] = np.vecdot(sine, w[of])
        size = np.minimum(np.abs(y), 2.0)
        away_err[part] = np.vecdot(size, relative[of]) + t[part] * absolute[of] + left_out[of]
    return away, away_err
