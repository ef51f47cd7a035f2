"""Measures of claims of Su, Cheng and Wang, arXiv 2504.07414, that claims.yaml cannot express.

Some compare curves of related mechanisms, numbers of reports or distances. The others compute laws,
datasets and decompositions that no curve shows.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from reproduction.papers.judging import (
    IN_PART,
    NOT_REPRODUCED,
    REPRODUCED,
    Judgement,
    Measure,
    judge_cases,
    percentage,
)
from reproduction.papers.points import (
    Evidence,
    enclosures,
    excess,
    largest,
    one_minus,
    point_table,
    renamed,
    saving,
    smallest,
)
from reproduction.papers.su2026.algorithm7 import as_printed, printed_divisor, window_length
from shufflebounds.core.clones import standard_clone
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import outward
from shufflebounds.questions.answers import epsilon
from shufflebounds.questions.composed import compose
from shufflebounds.questions.worst_dataset import worst_dataset as enumerated
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import BLH, OUE, RAPPOR
from shufflebounds.randomizers.description import CompositionOf, Mechanism
from shufflebounds.randomizers.discrete import KRR, HadamardResponse
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.laplace import Laplace
from shufflebounds.randomizers.mixed import Parallel

# The least size of a domain that the paper calls nearly unbounded.
LARGE_DOMAIN = 5

# The paper's mechanisms whose decompositions depend on the size of the domain.
OVER_DOMAINS: Mapping[str, Callable[..., Randomizer]] = {"BLH": BLH, "RAPPOR": RAPPOR, "OUE": OUE}

# The paper's mechanisms over a domain of three values or more.
MECHANISMS: Mapping[str, Callable[[float], Randomizer]] = {
    "10-RR": partial(KRR, 10),
    **OVER_DOMAINS,
}

# Mechanisms whose GPARV Table 1 lists.
CATEGORICAL: Mapping[str, Callable[[float], Randomizer]] = {
    **MECHANISMS,
    "Hadamard response": HadamardResponse,
}

# Mechanisms that the blanket is compared with the standard clone for.
BESIDE_CLONE: Mapping[str, Callable[[float], Randomizer]] = {
    "2-RR": partial(KRR, 2),
    **CATEGORICAL,
    "Laplace": Laplace,
}

# The paper's two ε₀, its numbers of users, and its δ.
LEVELS = (0.1, 4.0)
USERS = (1_000, 10_000, 100_000)
DELTA = 1e-6

# k, ε₀, n and δ of the settings of k-RR whose datasets are all enumerated, which takes 1 s.
ENUMERATED = (
    (3, 0.5, 10, 1e-3),
    (3, 1.0, 4, 1e-2),
    (3, 1.0, 8, 1e-3),
    (3, 3.0, 6, 1e-3),
    (4, 1.0, 6, 1e-3),
    (4, 3.0, 5, 1e-3),
)

# The largest share by which a precise Algorithm 7 may be off.
PRECISE = 0.01

# e^ε₀ of k-RR whose counts are compared in rational arithmetic.
RATIO = Fraction(2)

# Users whose GPARVs are enumerated, and shares of ε₀ and of 2a²/b² that are ε and l there.
ERROR_USERS = 40
ERROR_SHARES, ERROR_STEPS = (0.1, 0.3, 0.5, 0.7, 0.9), (0.25, 0.5, 0.75)

# Numbers of users between which the FFT of Algorithm 7 grows.
FFT_USERS = (1_000, 10_000, 100_000, 1_000_000)

# The setting of joint reports whose ε is printed.
JOINT_SETTING = "2 × 10-RR, ε₀ = 2 each, n = 10000"

# The number of parts of the joint reports of Figure 7.
HAMMING_PARTS = 4

# Number of cells of [0, 1] into which reports of Laplace noise fall.
LAPLACE_CELLS = 400

# Seconds that a whole curve may take.
QUICK_SECONDS = 30.0


def fall_with_k(evidence: Evidence) -> pd.DataFrame:
    """Return 1 − next / previous of ε of k joint reports, from one number k to the next."""
    now = enclosures(evidence.curves, "blanket").reset_index("k_joint")
    before = now.groupby(level=now.index.names).shift()
    steps = zip(before["k_joint"], now["k_joint"], strict=True)
    detail = [f"from k = {old:.0f} to {new:.0f}" for old, new in steps]
    return point_table(saving(_with_detail(now, detail), _with_detail(before, detail).dropna()))


def joint_below_clone(evidence: Evidence) -> pd.DataFrame:
    """Return 1 − blanket / clone, of several joint reports and of the clone of a single report."""
    curves = evidence.curves
    upper = enclosures(curves[curves["k_joint"] > 1], "blanket").reset_index("k_joint")
    detail = [f"k = {k:.0f}" for k in upper["k_joint"]]
    clone = enclosures(_single(evidence), "clone").droplevel("k_joint")
    return point_table(saving(_with_detail(upper, detail), clone))


def fold_below_joint(evidence: Evidence) -> pd.DataFrame:
    """Return 1 − fold / joint, of ε of k reports of one value and of k reports of a value each."""
    upper = enclosures(evidence.curves, "blanket").reset_index("k_joint")
    tables = []
    for name, mechanism in _compositions(evidence, "k_fold"):
        joint = upper[upper["k_joint"] == len(mechanism.parts)]
        part = str(mechanism.parts[0].mechanism)
        tables.append(saving(renamed(upper, name, name), renamed(joint, part, name)))
    return point_table(pd.concat([*tables, upper.iloc[:0]])[["low", "high"]])


def between_parts(evidence: Evidence) -> pd.DataFrame:
    """Return how far inside its parts a mix is: the less of 1 − mix/largest and 1 − least/mix.

    It is negative where the mix is outside.
    """
    upper = enclosures(_single(evidence), "blanket")
    tables = [upper.iloc[:0]]
    for name, mechanism in _compositions(evidence, "parallel"):
        if all(part.share == 1 for part in mechanism.parts):
            mix = renamed(upper, name, name)
            parts = [renamed(upper, str(part.mechanism), name) for part in mechanism.parts]
            below, above = saving(mix, largest(parts)), saving(smallest(parts), mix)
            tables.append(smallest([below, above]))
    return point_table(pd.concat(tables))


def domain_matters(evidence: Evidence) -> pd.DataFrame:
    """Return |ε_D / ε_∞ − 1| of RAPPOR, for domains of D ≥ `LARGE_DOMAIN` values and D = ∞."""
    upper = enclosures(_single(evidence), "blanket")
    sizes = {
        name: dict(mechanism.parameters).get("domain_size")
        for name, mechanism in evidence.mechanisms.items()
        if isinstance(mechanism, Mechanism) and mechanism.type == "rappor"
    }
    unbounded = [name for name, size in sizes.items() if size is None]
    finite = [name for name, size in sizes.items() if size is not None and size >= LARGE_DOMAIN]
    tables = [upper.iloc[:0]]
    for name, limit in itertools.product(finite, unbounded):
        shares = excess(renamed(upper, name, name), renamed(upper, limit, name))
        tables.append(largest([shares, one_minus(shares + 1.0)]))
    return point_table(pd.concat(tables))


def below_full_distance(evidence: Evidence) -> pd.DataFrame:
    """Return 1 − ε_d / ε_k, for inputs of k joint reports at Hamming distances d < k and k."""
    several = evidence.curves[evidence.curves["k_joint"] > 1]
    full = enclosures(several[several["distance"] == several["k_joint"]], "blanket")
    fewer = several[several["distance"] < several["k_joint"]]
    detail = [
        f"distance {d:.0f} of {k}" for d, k in zip(fewer.distance, fewer.k_joint, strict=True)
    ]
    return point_table(saving(enclosures(fewer.assign(detail=detail), "blanket", "detail"), full))


def _single(evidence: Evidence) -> pd.DataFrame:
    return evidence.curves[evidence.curves["k_joint"] == 1]


def _compositions(evidence: Evidence, kind: str) -> Iterator[tuple[str, CompositionOf]]:
    """Yield the compositions of a kind, with their names."""
    for name, mechanism in evidence.mechanisms.items():
        if isinstance(mechanism, CompositionOf) and mechanism.type == kind:
            yield name, mechanism


def _with_detail(ends: pd.DataFrame, detail: list[str]) -> pd.DataFrame:
    return ends.assign(detail=detail).set_index("detail", append=True)[["low", "high"]]


def worst_dataset(_: Evidence) -> Judgement:
    """Compare datasets of k-RR with the one whose others all hold a third value.

    Few users are compared with all datasets, many with the dataset whose others hold x₁¹.
    """
    few, many = [], {}
    for k, eps0, n, delta in ENUMERATED:
        randomizer = KRR(k, eps0)
        third = epsilon(randomizer.dataset_pairs()["third"], n, delta)
        worst = enumerated(randomizer, n, delta=delta)
        where = f"{k}-RR, ε₀ = {eps0:g}, n = {n}, δ = {delta:g}"
        few.append((worst.enclosure.lower / third.upper - 1.0, where, worst))
    for (name, make), eps0, n in itertools.product(MECHANISMS.items(), LEVELS, USERS):
        pairs = make(eps0).dataset_pairs()
        third, first = (epsilon(pairs[dataset], n, DELTA) for dataset in ("third", "x1"))
        many[f"{name}, ε₀ = {eps0:g}, n = {n}"] = first.lower / third.upper - 1.0
    largest_share, setting, worst = max(few, key=lambda case: case[0])
    others = " and ".join(f"{count} hold {x}" for x, count in enumerate(worst.others) if count)
    largest_setting = max(many, key=many.__getitem__)
    return judge_cases(
        [share <= 0.0 for share in (*(case[0] for case in few), *many.values())],
        "settings",
        f"ε of another dataset is up to {percentage(largest_share, up=False)} larger for few "
        f"users, and up to {percentage(many[largest_setting], up=False)} for n ≥ 1000 and "
        f"δ = {DELTA:g} if all others hold x₁¹",
        f"largest: {setting}, where the victim holds {worst.victim[0]} or {worst.victim[1]} "
        f"and of the others {others}; of many users: {largest_setting}",
    )


def lower_support(_: Evidence) -> Judgement:
    """Count the values of the lower bound's GPARV at ε₀/10, for a third and for uniform values."""
    sizes = set()
    for k, eps0 in itertools.product((4, 5, 10, 100), (1.0, 4.0)):
        randomizer = KRR(k, eps0)
        pairs = randomizer.dataset_pairs()["third"], _uniform_pair(randomizer, k)
        sizes.add(tuple(len(_gparv_law(pair, eps0 / 10.0)) for pair in pairs))
    listed = ", ".join(f"{third} and {uniform}" for third, uniform in sorted(sizes))
    return judge_cases([size == (4, 3) for size in sizes], "results", f"{listed} values")


def _uniform_pair(randomizer: KRR, k: int) -> Decomposition:
    """Return the pair of datasets whose others hold uniform values, as do their reports."""
    first, second = randomizer.matrix()[:2]
    return Decomposition(first, second, np.full(k, 1.0 / k))


def _gparv_law(pair: Decomposition, eps: float) -> dict[float, float]:
    """Return the law of the GPARV, its values to nine decimals."""
    law: dict[float, float] = {}
    for value, mass in zip(*pair.gparv(eps), strict=True):
        if mass > 1e-15:
            law[round(float(value), 9)] = law.get(round(float(value), 9), 0.0) + float(mass)
    return law


def gparv_range(_: Evidence) -> Judgement:
    """Return the mean and the range of the blanket's GPARV against Property 2, and its width.

    Balle et al. have γ(e^{−ε₀} − e^{ε+ε₀}) ≤ L ≤ γ(e^{ε₀} − e^{ε−ε₀}) for L = γG.
    """
    holds, widths = [], []
    for make, eps0, share in itertools.product(CATEGORICAL.values(), LEVELS, (0.0, 0.5, 0.9)):
        e, scale = math.exp(eps0), math.exp(share * eps0)
        values, masses = make(eps0).blanket().gparv(share * eps0)
        low, high, slack = 1.0 - e * scale, e - scale, 1e-12 * e * scale
        holds.append(
            abs(float(values @ masses) - (1.0 - scale)) <= slack
            and low - slack <= values.min() <= values.max() <= high + slack
        )
        widths.append((high - low) / (e - scale / e - 1.0 / e + scale * e))
    return judge_cases(
        holds,
        "settings",
        f"the range is {percentage(min(widths), up=False)} to {percentage(max(widths), up=True)} "
        "of the one that Balle et al. give",
    )


def five_values(_: Evidence) -> Judgement:
    """Count the values of the blanket's GPARV at ε₀/10, of mechanisms on categorical data."""
    sizes = {
        name: max(len(_gparv_law(make(eps0).blanket(), eps0 / 10.0)) for eps0 in LEVELS)
        for name, make in CATEGORICAL.items()
    }
    listed = ", ".join(f"{size} ({name})" for name, size in sizes.items())
    return judge_cases([size <= 5 for size in sizes.values()], "mechanisms", f"{listed} values")


def below_clone(_: Evidence) -> pd.DataFrame:
    """Return 1 − ε(blanket) / ε(standard clone) of mechanisms."""
    return pd.DataFrame(
        _point(name, eps0, n, make(eps0).blanket(), standard_clone(eps0))
        for (name, make), eps0, n in itertools.product(BESIDE_CLONE.items(), LEVELS, USERS)
    )


def lower_domain(_: Evidence) -> Judgement:
    """Compare the lower bound's GPARV over D values, by the matrix of all outputs, with D = 3."""
    distances = []
    for make, eps0 in itertools.product(OVER_DOMAINS.values(), LEVELS):
        laws = {}
        for size in (3, 4, 6, 8):
            pair = Decomposition(*make(eps0, domain_size=size).matrix()[:3])
            laws[size] = _gparv_law(pair, eps0 / 10.0)
        for law in laws.values():
            values = {*laws[3], *law}
            distances.append(max(abs(laws[3].get(x, 0.0) - law.get(x, 0.0)) for x in values))
    return judge_cases(
        [distance <= 1e-14 for distance in distances],
        "laws",
        f"probabilities differ by at most {max(distances):.1g}, which is rounding",
    )


def limit_rate(_: Evidence) -> Judgement:
    """Judge 2^D times the distance of the blanket's mass γ over D values from its limit."""
    holds, largest_distance = [], 0.0
    for make, eps0 in itertools.product(OVER_DOMAINS.values(), LEVELS):
        limit = math.fsum(make(eps0).blanket().c)
        masses = {
            size: math.fsum(make(eps0, domain_size=size).blanket().c) for size in range(3, 13)
        }
        scaled = [2.0**size * abs(gamma / limit - 1.0) for size, gamma in masses.items()]
        holds += [more <= less * (1.0 + 1e-9) for less, more in itertools.pairwise(scaled)]
        largest_distance = max(largest_distance, *scaled)
    return judge_cases(
        holds,
        "steps of D",
        f"2^D times the distance from the limit is at most {largest_distance:.3g}, and no larger "
        "at a larger D",
    )


def uniform_others(_: Evidence) -> pd.DataFrame:
    """Return 1 − ε(uniform) / ε(third) of k-RR: others hold uniform values or a third value."""
    rows = []
    for k, eps0, n in itertools.product((4, 10, 100), (0.1, 1.0, 4.0), USERS):
        randomizer = KRR(k, eps0)
        pairs = _uniform_pair(randomizer, k), randomizer.dataset_pairs()["third"]
        rows.append(_point(f"{k}-RR", eps0, n, *pairs))
    return pd.DataFrame(rows)


def four_point_clone(_: Evidence) -> pd.DataFrame:
    """Return 1 − ε(four points) / ε(standard clone) of the paper's mechanisms."""
    return pd.DataFrame(
        _point(name, eps0, n, four_points(make(eps0).blanket()), standard_clone(eps0))
        for (name, make), eps0, n in itertools.product(MECHANISMS.items(), LEVELS, USERS)
    )


def _point(
    mechanism: str, eps0: float, n: int, ours: Decomposition, theirs: Decomposition
) -> dict[str, Any]:
    """Return the point that compares ε of two decompositions: 1 − ours / theirs."""
    small, large = epsilon(ours, n, DELTA), epsilon(theirs, n, DELTA)
    ends = {"low": 1.0 - small.upper / large.lower, "high": 1.0 - small.lower / large.upper}
    return {"mechanism": mechanism, "eps0": eps0, "n": n, "detail": "", **ends}


def four_points(blanket: Decomposition) -> Decomposition:
    """Return Section 3.3's corrected stronger clone of a randomizer of ratios e^ε₀, 1 and e^−ε₀.

    p is the mass that either input has in common with all others where the two differ, and q the
    largest share of the common leftover that every other user is certain to have.
    """
    more, less = blanket.a > blanket.b, blanket.a < blanket.b
    alike = ~(more | less)
    p, top = blanket.b[more].sum(), blanket.a[more].sum()
    rest = blanket.a[alike].sum()
    q = rest * float((blanket.c[alike] / blanket.a[alike]).min(initial=1.0))
    a, b, c = np.array([[top, p, rest], [p, top, rest], [p, p, q]])
    return Decomposition(a, b, c)


# The counts of two values of k-RR among n reports, one of which is the first value.
CountLaw = Mapping[tuple[int, int], Fraction]


def blanket_counts(k: int, n: int) -> CountLaw:
    """Return the law if n − 1 others report either value with the blanket's chance, or neither."""
    p = 1 / (RATIO + k - 1)
    return {
        (i + 1, j): _binomial(n - 1, p, i) * _binomial(n - 1 - i, p / (1 - p), j)
        for i in range(n)
        for j in range(n - i)
    }


def corrected_counts(k: int, n: int, left: int) -> CountLaw:
    """Return the law if N others report from the blanket.

    N₁ of the N − N₀ + `left` reports other than the first value are the second.
    """
    gamma = k / (RATIO + k - 1)
    law: dict[tuple[int, int], Fraction] = {}
    for reports in range(n):
        for i in range(reports + 1):
            share = _binomial(n - 1, gamma, reports) * _binomial(reports, Fraction(1, k), i)
            trials = max(reports - (i + 1) + left, 0)
            for j in range(trials + 1):
                mass = share * _binomial(trials, Fraction(1, k - 1), j)
                law[i + 1, j] = law.get((i + 1, j), Fraction(0)) + mass
    return law


def independent_counts(k: int, n: int) -> CountLaw:
    """Return the law if both counts are independent binomials."""
    p = 1 / (RATIO + k - 1)
    return {
        (i + 1, j): _binomial(n - 1, p, i) * _binomial(n - 1, p, j)
        for i, j in itertools.product(range(n), repeat=2)
    }


def dependent_counts(_: Evidence) -> Judgement:
    """Compare the independent law and the corrected one with the right one."""
    n, sizes = 6, (2, 3, 10)
    independent, corrected = (
        [count_distance(blanket_counts(k, n), law(k, n)) for k in sizes]
        for law in (independent_counts, partial(corrected_counts, left=0))
    )
    first, second = (
        f"{float(min(distances)):.2g} to {float(max(distances)):.2g}"
        for distances in (independent, corrected)
    )
    return judge_cases(
        [*(distance > 0 for distance in independent), *(distance == 0 for distance in corrected)],
        "comparisons",
        f"the total variation distance from the right law is {first} for independent counts, and "
        f"{second} for the correction as printed",
        f"for n = {n} users at e^ε₀ = {RATIO}",
    )


def _binomial(trials: int, chance: Fraction, count: int) -> Fraction:
    return math.comb(trials, count) * chance**count * (1 - chance) ** (trials - count)


def count_distance(law: CountLaw, other: CountLaw) -> Fraction:
    """Return the total variation distance."""
    zero = Fraction(0)
    excesses = (law.get(x, zero) - other.get(x, zero) for x in {*law, *other})
    return sum((max(zero, difference) for difference in excesses), zero)


def algorithm_step(_: Evidence) -> Judgement:
    """Return how far Algorithm 7 is off at the printed step, for the paper's 10-RR."""
    table = as_printed()
    above = table["algorithm_upper"] / table["upper"] - 1.0
    below = 1.0 - table["algorithm_lower"] / table["lower"]
    worst = table.loc[(above + below).idxmax()]
    return judge_cases(
        (above <= PRECISE) & (below <= PRECISE),
        "points",
        f"up to {percentage(above.max(), up=True)} above the upper bound, up to "
        f"{percentage(below.max(), up=True)} below the lower bound",
        f"worst: 10-RR, ε₀ = {worst['eps0']:g}, n = {worst['n']:.0f}",
        table["eps0"],
    )


def algorithm_error(_: Evidence) -> Judgement:
    """Compare Pr[S > −nl] with exp(−(2a²/b² − l)n) at steps l ≤ 2a²/b², for 10-RR.

    S is the sum of n GPARVs, by enumeration, a its mean without the sign and b the width of its
    range.
    """
    n, cases = ERROR_USERS, []
    for eps0, share, part in itertools.product(LEVELS, ERROR_SHARES, ERROR_STEPS):
        eps = share * eps0
        a, b = math.expm1(eps), math.expm1(eps0) * (math.exp(eps) + 1.0)
        step = part * 2.0 * a * a / (b * b)
        truth = tail_of_sum(KRR(10, eps0).blanket(), eps, n, -n * step)
        claimed = math.exp(-(2.0 * a * a / (b * b) - step) * n)
        where = f"ε₀ = {eps0:g}, ε = {eps:.3g}, l = {step:.2g}, where a = {a:.2g}"
        cases.append((truth / claimed, where, truth, claimed))
    where, truth, claimed = max(cases)[1:]
    table = as_printed()
    quotient = table["step"] / table["largest_step"]
    return judge_cases(
        [case[2] <= case[3] for case in cases],
        "settings",
        f"the probability is up to {truth:.3g} where the paper has {claimed:.1g}; the printed l of "
        f"`algorithm_step` is {quotient.min():.1g} to {quotient.max():.1g} times 2a²/b², at most 1 "
        f"at {(quotient <= 1.0).sum()} of {len(table)} points",
        f"worst: {where}",
    )


def tail_of_sum(pair: Decomposition, eps: float, n: int, least: float) -> float:
    """Return Pr[S > least] for the sum S of n GPARVs of four values or fewer, by enumeration."""
    values, masses = pair.gparv(eps)
    values, masses = values[masses > 0.0], masses[masses > 0.0]
    free = np.indices((n + 1,) * (len(values) - 1)).reshape(len(values) - 1, -1)
    counts = np.vstack([free, n - free.sum(axis=0)])[:, free.sum(axis=0) <= n]
    logs = gammaln(n + 1) - gammaln(counts + 1).sum(axis=0) + np.log(masses) @ counts
    return float(np.exp(logs[values @ counts > least]).sum())


def fft_cost(_: Evidence) -> Judgement:
    """Return by which factor the FFT of Algorithm 7 grows for ten times as many users."""
    growth: dict[bool, list[float]] = {True: [], False: []}
    for eps0, is_fixed in itertools.product(LEVELS, (True, False)):
        lengths = []
        for n in FFT_USERS:
            step = (
                math.expm1(eps0) / printed_divisor(eps0) * (1.0 if is_fixed else FFT_USERS[0] / n)
            )
            lengths.append(window_length(KRR(10, eps0).blanket(), eps0 / 10.0, n, step))
        growth[is_fixed] += [more / less for less, more in itertools.pairwise(lengths)]
    return judge_cases(
        [*(factor <= 10.0 for factor in growth[True]), *(f <= 100.0 for f in growth[False])],
        "steps of n",
        f"ten times as many users make the FFT {min(growth[True]):.3g} to "
        f"{max(growth[True]):.3g} times as long at the printed step, and {min(growth[False]):.3g} "
        f"to {max(growth[False]):.3g} times at a step that falls like 1/n",
    )


def joint_apart(_: Evidence) -> Judgement:
    """Compare two reports that are shuffled together with two that are shuffled each apart.

    Together a pair of datasets counts, and apart an upper bound.
    """
    factors, wholes = {}, {}
    for (name, make), n in itertools.product(MECHANISMS.items(), USERS):
        each = make(2.0)
        linked = Joint([each, each])
        apart = compose([(each.blanket(), n, 2)]).epsilon(DELTA).upper
        where = f"2 × {name}, ε₀ = 2 each, n = {n}"
        factors[where] = epsilon(linked.dataset_pair(), n, DELTA).lower / apart
        wholes[where] = epsilon(linked.blanket(), n, DELTA).upper, apart
    together, apart = wholes[JOINT_SETTING]
    worst, best = (end(factors, key=factors.__getitem__) for end in (min, max))
    return judge_cases(
        [factor > 1.0 for factor in factors.values()],
        "settings",
        f"two datasets have {factors[worst]:.3g} to {factors[best]:.3g} times the ε together; you "
        f"can claim {outward(together, up=True, digits=4)} together and "
        f"{outward(apart, up=True, digits=4)} apart for {JOINT_SETTING}",
        f"least: {worst}; most: {best}",
    )


def loss_variable(_: Evidence) -> Judgement:
    """Compare ε by the GPARV with ε by privacy losses, of a round and another that says nothing."""
    gaps, holds = [], []
    nothing = Decomposition(*np.ones((3, 1)))
    for make, eps0, n in itertools.product(BESIDE_CLONE.values(), LEVELS, USERS):
        blanket = make(eps0).blanket()
        losses = compose([(blanket, n, 1), (nothing, 1, 1)]).epsilon(DELTA)
        amplified = epsilon(blanket, n, DELTA)
        holds.append(losses.lower <= amplified.upper and amplified.lower <= losses.upper)
        ends = losses.lower / amplified.upper, losses.upper / amplified.lower
        gaps.append(max(abs(end - 1.0) for end in ends))
    return judge_cases(
        holds, "settings", f"both are the same to {percentage(max(gaps), up=True)} or better"
    )


def clones_doubled(_: Evidence) -> Judgement:
    """Return by which factor the stronger clone has more clones: 1/(e^ε₀ + 1) over 1/(2e^ε₀)."""
    factors = {eps0: 2.0 * math.exp(eps0) / (math.exp(eps0) + 1.0) for eps0 in (1.0, 2.0, 3.0, 4.0)}
    return judge_cases(
        [factor >= 1.8 for factor in factors.values()],
        "values of ε₀",
        ", ".join(f"{factor:.3g} (ε₀ = {eps0:g})" for eps0, factor in factors.items()),
    )


def lower_parallel(_: Evidence) -> Judgement:
    """Compare the lower bound's GPARV of a mixture with the mixture of those of its parts."""
    distances = []
    parts: list[tuple[float, Callable[[float], Randomizer]]]
    for weight, eps0 in itertools.product((0.25, 0.5), LEVELS):
        parts = [(weight, MECHANISMS["10-RR"]), (1.0 - weight, BLH)]
        mixture = Parallel([(share, make(eps0)) for share, make in parts])
        whole = _gparv_law(mixture.dataset_pair(), eps0 / 10.0)
        mixed: dict[float, float] = defaultdict(float)
        for share, make in parts:
            for value, mass in _gparv_law(make(eps0).dataset_pair(), eps0 / 10.0).items():
                mixed[value] += share * mass
        distances.append(max(abs(whole.get(x, 0.0) - mixed.get(x, 0.0)) for x in {*whole, *mixed}))
    return judge_cases(
        [distance <= 1e-12 for distance in distances],
        "mixtures",
        f"probabilities differ by at most {max(distances):.1g}",
    )


def joint_variance(_: Evidence) -> Judgement:
    """Return how the variance of the GPARV of k joint reports of k-RR grows with the distance."""
    ratios = []
    for values, eps0, share in itertools.product((2, 10), LEVELS, (0.0, 0.1, 0.5)):
        part = KRR(values, eps0 / HAMMING_PARTS).blanket()
        # Σa²/c and Σab/c of a part; where both inputs agree the second is as the first.
        square, product = (float(part.a @ (other / part.c)) for other in (part.a, part.b))
        scale = math.exp(share * eps0)
        variances = [
            (1.0 + scale**2) * square**HAMMING_PARTS
            - 2.0 * scale * product**d * square ** (HAMMING_PARTS - d)
            - (1.0 - scale) ** 2
            for d in range(1, HAMMING_PARTS + 1)
        ]
        ratios += [less / more for less, more in itertools.pairwise(variances)]
    return judge_cases(
        [ratio < 1.0 for ratio in ratios],
        "steps of the distance",
        f"one coordinate less that differs leaves {percentage(min(ratios), up=False)} to "
        f"{percentage(max(ratios), up=True)} of the variance",
    )


def laplace_interval(_: Evidence) -> pd.DataFrame:
    """Return 1 − ε(v, w) / ε(0, 1) of the blanket of Laplace on [0, 1], by inputs v < w."""
    rows = []
    inputs = (0.0, 0.25, 0.5, 0.75, 1.0)
    # A pair and its mirror image at 1/2 have the same ε.
    pairs = [(v, w) for v, w in itertools.combinations(inputs, 2) if v + w <= 1.0 and w - v < 1.0]
    for eps0, n in itertools.product((0.1, 1.0, 4.0), (1_000, 100_000)):
        widest = laplace_blanket(eps0, 0.0, 1.0)
        for v, w in pairs:
            point = _point("Laplace on [0, 1]", eps0, n, laplace_blanket(eps0, v, w), widest)
            rows.append(point | {"detail": f"inputs {v:g} and {w:g}"})
    return pd.DataFrame(rows)


def laplace_blanket(eps0: float, v: float, w: float) -> Decomposition:
    """Return the blanket of inputs v and w of Laplace on [0, 1], in cells of 1/`LAPLACE_CELLS`.

    All three densities have constant ratios below 0 and above 1, which are cells, too.
    """
    ends = np.linspace(0.0, 1.0, LAPLACE_CELLS + 1)

    def masses(x: float) -> NDArray[np.float64]:
        below = np.where(
            ends <= x, np.exp(eps0 * (ends - x)) / 2.0, 1.0 - np.exp(eps0 * (x - ends)) / 2.0
        )
        return np.diff(below, prepend=0.0, append=1.0)

    # The infimum over all inputs is that over 0 and 1.
    return Decomposition(masses(v), masses(w), np.minimum(masses(0.0), masses(1.0)))


def seconds_curve(seconds: pd.DataFrame) -> Judgement | None:
    """Judge the wall seconds of curves of upper bounds: the slowest one, or in part the median."""
    times = seconds.loc[seconds["bound"] == "blanket", "seconds"]
    if times.empty:
        return None
    slowest, median = (f"{round_time_up(value):g} s" for value in (times.max(), times.median()))
    verdict = REPRODUCED if times.max() <= QUICK_SECONDS else NOT_REPRODUCED
    if verdict == NOT_REPRODUCED and times.median() <= QUICK_SECONDS:
        verdict = IN_PART
    return Judgement(
        measured=f"at most {slowest} for the slowest curve, at most {median} for the median",
        holds_in=f"{(times <= QUICK_SECONDS).sum()} of {len(times)} curves",
        verdict=verdict,
    )


def round_time_up(seconds: float) -> float:
    """Round seconds up to 1, 2 or 5 times a power of ten, because run times vary."""
    decade = 10.0 ** math.floor(math.log10(seconds))
    return next(factor * decade for factor in (1, 2, 5, 10) if seconds <= factor * decade)


MEASURES: Mapping[str, Measure] = {
    "joint": fall_with_k,
    "joint_vs_generic": joint_below_clone,
    "k_fold": fold_below_joint,
    "parallel": between_parts,
    "rappor_domain": domain_matters,
    "hamming": below_full_distance,
    "worst_dataset": worst_dataset,
    "lower_support": lower_support,
    "lower_domain": lower_domain,
    "limit_rate": limit_rate,
    "gparv_range": gparv_range,
    "five_values": five_values,
    "strictly_tighter": below_clone,
    "uniform_others": uniform_others,
    "four_point_clone": four_point_clone,
    "dependent_counts": dependent_counts,
    "algorithm_step": algorithm_step,
    "algorithm_error": algorithm_error,
    "fft_cost": fft_cost,
    "joint_apart": joint_apart,
    "loss_variable": loss_variable,
    "clones_doubled": clones_doubled,
    "lower_parallel": lower_parallel,
    "joint_variance": joint_variance,
    "laplace_interval": laplace_interval,
    "seconds_curve": seconds_curve,
}
