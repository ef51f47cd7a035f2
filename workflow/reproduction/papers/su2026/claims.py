"""How the claims of the paper are measured and judged; `claims.yaml` words them.

The paper is Su, Cheng, Wang, arXiv 2504.07414.
The words are ours. Sections are those of the paper; "earlier version" is that
titled "A Unified Framework and Efficient Computation for Privacy Amplification via Shuffling".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd

from reproduction.papers.judging import (
    IN_PART,
    POSITIVE,
    Evidence,
    Judgement,
    at_least,
    at_most,
    claims,
    deficit,
    enclosures,
    extreme,
    measured,
    of_cases,
    one_minus,
    peak,
    percentage,
    quick,
    ratio,
    refutable,
    throughout,
)
from reproduction.papers.su2026 import algorithm7
from shufflebounds.accounting.questions import epsilon
from shufflebounds.accounting.worst_dataset import worst_dataset as enumerated
from shufflebounds.core.clones import standard_clone
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import BLH, OUE, RAPPOR
from shufflebounds.randomizers.description import CompositionOf, Mechanism
from shufflebounds.randomizers.discrete import KRR

# What the claims of this paper speak of, enclosed at every point of the grid.

# The baselines that the paper draws.
BASELINES = ("blanket_hoeffding", "blanket_bennett", "clone")

# The better one of Hoeffding's and Bennett's inequality that knows ε₀ alone.
GENERIC = "blanket_best_generic"

GRID = ["mechanism", "eps0", "delta", "n"]

# Domains from this size on should hardly differ from the limit, says the paper.
LARGE_DOMAIN = 5


def below(bound: str, *others: str) -> Callable[[Evidence], pd.DataFrame]:
    """By how much a bound's ε is below the least of others': 1 − ours / least.

    One that proves nothing counts as it is, at ε₀.
    """

    def at_every_point(evidence: Evidence) -> pd.DataFrame:
        ours, *theirs = (_enclosures(_single(evidence), name) for name in (bound, *others))
        return measured(deficit(ours, extreme(theirs, "min")))

    return at_every_point


below_baselines = below("upper", *BASELINES)


def above_lower(evidence: Evidence) -> pd.DataFrame:
    """By how much the upper bound's ε exceeds the lower bound's: upper / lower − 1."""
    single = _single(evidence)
    quotient = ratio(_enclosures(single, "upper"), _enclosures(single, "lower"))
    return measured(quotient - 1.0)


def subsampled_above_lower(evidence: Evidence) -> pd.DataFrame:
    """`above_lower` of the mechanisms whose users are sampled first."""
    sampled = [
        name for name, mechanism in evidence.mechanisms.items() if mechanism.type == "subsample"
    ]
    curves = evidence.curves
    return above_lower(Evidence(curves[curves["mechanism"].isin(sampled)], evidence.mechanisms))


def fall_with_k(evidence: Evidence) -> pd.DataFrame:
    """By how much ε falls from one number k of joint reports to the next: 1 − next / previous.

    Where there are curves for several Hamming distances the largest counts.
    """
    now = _enclosures(evidence.curves, "upper", "k_joint").reset_index("k_joint")
    before = now.groupby(level=GRID).shift()
    steps = zip(before["k_joint"], now["k_joint"], strict=True)
    detail = [f"from k = {old:.0f} to {new:.0f}" for old, new in steps]
    now, before = (
        ends.assign(detail=detail).set_index("detail", append=True)[["low", "high"]]
        for ends in (now, before)
    )
    return measured(deficit(now, before.dropna()))


def joint_below_clone(evidence: Evidence) -> pd.DataFrame:
    """By how much ε of several joint reports is below the clone's: 1 − upper / clone."""
    curves = evidence.curves
    several = curves[curves["k_joint"] > 1]
    detail = several["k_joint"].map("k = {}".format)
    upper = _enclosures(several.assign(detail=detail), "upper", "detail")
    return measured(deficit(upper, _enclosures(_single(evidence), "clone")))


def fold_below_joint(evidence: Evidence) -> pd.DataFrame:
    """By how much ε of k reports of one value is below that of a value each: 1 − fold / joint."""
    upper = _enclosures(evidence.curves, "upper", "k_joint").reset_index("k_joint")
    tables = [upper.iloc[:0]]
    for name, mechanism in evidence.mechanisms.items():
        if isinstance(mechanism, CompositionOf) and mechanism.type == "k_fold":
            alike = upper[upper["k_joint"] == len(mechanism.parts)]
            fold, joint = (
                _of(upper, name, name),
                _of(alike, str(mechanism.parts[0].mechanism), name),
            )
            tables.append(deficit(fold, joint))
    return measured(pd.concat(tables)[["low", "high"]])


def between_parts(evidence: Evidence) -> pd.DataFrame:
    """How far inside its parts a parallel mix is: the less of 1 − mix/largest, 1 − least/mix.

    Negative where the mix is outside.
    """
    upper = _enclosures(_single(evidence), "upper")
    tables = []
    for mix in upper.index.unique("mechanism"):
        mechanism = evidence.mechanisms[mix]
        if not isinstance(mechanism, CompositionOf) or mechanism.type != "parallel":
            continue
        if all(part.share == 1 for part in mechanism.parts):
            whole = _of(upper, mix, mix)
            parts = [_of(upper, str(part.mechanism), mix) for part in mechanism.parts]
            below = deficit(whole, extreme(parts, "max"))
            above = deficit(extreme(parts, "min"), whole)
            tables.append(extreme([below, above], "min"))
    return measured(pd.concat([upper.iloc[:0], *tables]))


def domain_matters(evidence: Evidence) -> pd.DataFrame:
    """How far RAPPOR's ε for a domain of D ≥ 5 values is from that for D = ∞: |ε_D / ε_∞ − 1|."""
    upper = _enclosures(_single(evidence), "upper")
    sizes = {
        name: dict(mechanism.parameters).get("domain_size")
        for name in upper.index.unique("mechanism")
        if isinstance(mechanism := evidence.mechanisms[name], Mechanism)
        and mechanism.type == "rappor"
    }
    unbounded = [name for name, size in sizes.items() if size is None]
    tables = []
    for name, size in sizes.items():
        if size is not None and size >= LARGE_DOMAIN:
            for limit in unbounded:
                quotient = ratio(_of(upper, name, name), _of(upper, limit, name))
                tables.append(extreme([quotient - 1.0, one_minus(quotient)], "max"))
    return measured(pd.concat([upper.iloc[:0], *tables]))


def below_full_distance(evidence: Evidence) -> pd.DataFrame:
    """By how much ε for inputs at Hamming distance d < k is below that at k: 1 − ε_d / ε_k."""
    curves = evidence.curves
    several = curves[curves["k_joint"] > 1]
    full = _enclosures(several[several["distance"] == several["k_joint"]], "upper", "k_joint")
    fewer = several[several["distance"] < several["k_joint"]]
    detail = [
        f"distance {d:.0f} of {k}" for d, k in zip(fewer.distance, fewer.k_joint, strict=True)
    ]
    partial = _enclosures(fewer.assign(detail=detail), "upper", "k_joint", "detail")
    return measured(deficit(partial, full))


def precise_step(_: Evidence) -> Judgement:
    """How far Algorithm 7 is off at the printed step, for the paper's 10-RR."""
    table = algorithm7.as_printed()
    above = table["algorithm_upper"] / table["upper"] - 1.0
    below = 1.0 - table["algorithm_lower"] / table["lower"]
    worst = table.loc[(above + below).idxmax()]
    return of_cases(
        (above <= _PRECISE) & (below <= _PRECISE),
        "points",
        f"up to {percentage(above.max(), up=True)} above the upper bound, up to "
        f"{percentage(below.max(), up=True)} below the lower bound",
        f"worst: 10-RR, ε₀ = {worst['eps0']:g}, n = {worst['n']:.0f}",
        table["eps0"],
    )


def error_falls(_: Evidence) -> Judgement:
    """Whether the printed step meets the condition of the error bound, for the paper's 10-RR."""
    table = algorithm7.as_printed()
    excess = table["step"] / table["largest_step"]
    return of_cases(
        excess <= 1.0,
        "points",
        f"l is {excess.min():.1g} to {excess.max():.1g} times 2a²/b²",
    )


_PRECISE = 0.01


def _single(evidence: Evidence) -> pd.DataFrame:
    return evidence.curves[evidence.curves["k_joint"] == 1]


def _enclosures(curves: pd.DataFrame, bound: str, *also: str) -> pd.DataFrame:
    return enclosures(curves, bound, *also, by=GRID)


def _of(ends: pd.DataFrame, mechanism: str, name: str) -> pd.DataFrame:
    """The rows of one mechanism, under another's name, so that the two can be compared."""
    rows = ends[ends.index.get_level_values("mechanism") == mechanism]
    return rows.rename(index={mechanism: name}, level="mechanism")


# What the paper says of single laws and datasets, held against exact ones; no curve shows it.

# k, ε₀, n and δ.
_FEW = (
    (3, 0.5, 10, 1e-3),
    (3, 1.0, 4, 1e-2),
    (3, 1.0, 8, 1e-3),
    (3, 3.0, 6, 1e-3),
    (4, 1.0, 6, 1e-3),
    (4, 3.0, 5, 1e-3),
)


# The paper's mechanisms over a domain of three values or more, at both of its ε₀.
_MECHANISMS: Mapping[str, Callable[[float], Randomizer]] = {
    "10-RR": partial(KRR, 10),
    "BLH": BLH,
    "RAPPOR": RAPPOR,
    "OUE": OUE,
}
# Those of them whose decompositions depend on the size of the domain.
_OVER_DOMAINS: Mapping[str, Callable[..., Randomizer]] = {"BLH": BLH, "RAPPOR": RAPPOR, "OUE": OUE}
_EPS0 = (0.1, 4.0)
_USERS = (1_000, 10_000, 100_000)
_DELTA = 1e-6


def worst_dataset(_: Evidence) -> Judgement:
    """All datasets of few users of k-RR, and one of many, against others of a third value."""
    holds, found = [], []
    for k, eps0, n, delta in _FEW:
        randomizer = KRR(k, eps0)
        third = epsilon(randomizer.dataset_pairs()["third"], n, delta)
        worst = enumerated(randomizer, n, delta=delta)
        holds.append(worst.enclosure.lower <= third.upper)
        excess = worst.enclosure.lower / third.upper - 1.0
        found.append((excess, f"{k}-RR, ε₀ = {eps0:g}, n = {n}", worst))
    excess, setting, worst = max(found, key=lambda one: one[0])
    held = " and ".join(f"{count} hold {x}" for x, count in enumerate(worst.others) if count)
    many: dict[str, float] = {}
    for (name, make), eps0, n in itertools.product(_MECHANISMS.items(), _EPS0, _USERS):
        third, first = (
            epsilon(make(eps0).dataset_pairs()[others], n, _DELTA) for others in ("third", "x1")
        )
        holds.append(first.lower <= third.upper)
        many[f"{name}, ε₀ = {eps0:g}, n = {n}"] = first.lower / third.upper - 1.0
    at = max(many, key=lambda place: many[place])
    return refutable(
        of_cases(
            holds,
            "settings",
            f"ε of another dataset is up to {percentage(excess, up=False)} larger for few users, "
            f"and up to {percentage(many[at], up=False)} for n ≥ 1000 if all others hold x₁¹",
            f"largest: {setting}, where the victim holds {worst.victim[0]} or {worst.victim[1]} "
            f"and of the others {held}; of many users: {at}",
        )
    )


def lower_support(_: Evidence) -> Judgement:
    """Values of the lower bound's GPARV at ε₀/10, where others hold a third or any value."""
    sizes = set()
    for k, eps0 in itertools.product((4, 5, 10, 100), (1.0, 4.0)):
        randomizer = KRR(k, eps0)
        first, second = randomizer.matrix()[:2]
        uniform = Decomposition(first, second, np.full(k, 1.0 / k))
        pairs = randomizer.dataset_pairs()["third"], uniform
        sizes.add(tuple(_values(pair, eps0 / 10.0) for pair in pairs))
    listed = ", ".join(f"{third} and {uniform}" for third, uniform in sorted(sizes))
    return of_cases([one == (4, 3) for one in sizes], "results", f"{listed} values")


def _values(pair: Decomposition, eps: float) -> int:
    return len(_law(pair, eps))


def _law(pair: Decomposition, eps: float) -> dict[float, float]:
    """The law of the GPARV, its values to nine decimals."""
    law: dict[float, float] = {}
    for value, mass in zip(*pair.gparv(eps), strict=True):
        if mass > 1e-15:
            law[round(float(value), 9)] = law.get(round(float(value), 9), 0.0) + float(mass)
    return law


def lower_domain(_: Evidence) -> Judgement:
    """The lower bound's GPARV over D values, from the matrix of all outputs, against D = 3."""
    distances = {}
    for (name, make), eps0 in itertools.product(_OVER_DOMAINS.items(), _EPS0):
        laws = {}
        for size in (3, 4, 6, 8):
            a, b, c = make(eps0, domain_size=size).matrix()[:3]
            laws[size] = _law(Decomposition(a, b, c), eps0 / 10.0)
            values = {*laws[3], *laws[size]}
            distances[f"{name}, ε₀ = {eps0:g}, D = {size}"] = max(
                abs(laws[3].get(value, 0.0) - laws[size].get(value, 0.0)) for value in values
            )
    return of_cases(
        [distance <= 1e-14 for distance in distances.values()],
        "laws",
        f"probabilities differ by at most {max(distances.values()):.1g}, which is rounding",
    )


def limit_rate(_: Evidence) -> Judgement:
    """How far the blanket's mass γ over D values is from its limit, times 2^D, as D grows."""
    scaled = {}
    for (name, make), eps0 in itertools.product(_OVER_DOMAINS.items(), _EPS0):
        limit = math.fsum(make(eps0).blanket().c)
        for size in range(3, 13):
            gamma = math.fsum(make(eps0, domain_size=size).blanket().c)
            scaled[name, eps0, size] = 2.0**size * abs(gamma / limit - 1.0)
    steps = [
        scaled[name, eps0, size + 1] <= at * (1.0 + 1e-9)
        for (name, eps0, size), at in scaled.items()
        if size < 12
    ]
    return of_cases(
        steps,
        "steps of D",
        f"2^D times the distance from the limit is at most {max(scaled.values()):.3g}, and no "
        "larger at a larger D",
    )


def uniform_others(_: Evidence) -> Judgement:
    """ε where others' values are uniform, against ε where all hold a third value: k-RR."""
    gains = {}
    for k, eps0, n in itertools.product((4, 10, 100), (0.1, 1.0, 4.0), _USERS):
        randomizer = KRR(k, eps0)
        a, b = randomizer.matrix()[:2]
        uniform = Decomposition(a, b, np.full(k, 1.0 / k))
        third = epsilon(randomizer.dataset_pairs()["third"], n, _DELTA)
        setting = f"{k}-RR, ε₀ = {eps0:g}, n = {n}"
        gains[setting] = 1.0 - epsilon(uniform, n, _DELTA).upper / third.lower
    return _smaller(gains)


def four_points(blanket: Decomposition) -> Decomposition:
    """The corrected stronger clone of Section 3.3 of a randomizer with ratios e^ε₀, 1 and e^−ε₀.

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


def four_point_clone(_: Evidence) -> Judgement:
    """ε of the four points against the standard clone's, for the paper's mechanisms."""
    gains = {}
    for (name, make), eps0, n in itertools.product(_MECHANISMS.items(), _EPS0, _USERS):
        pair = four_points(make(eps0).blanket())
        clone = epsilon(standard_clone(eps0), n, _DELTA)
        setting = f"{name}, ε₀ = {eps0:g}, n = {n}"
        gains[setting] = 1.0 - epsilon(pair, n, _DELTA).upper / clone.lower
    return _smaller(gains)


def _smaller(gains: Mapping[str, float]) -> Judgement:
    """A claim that ε is smaller in every setting, by the shares `gains`."""
    least, largest = (choose(gains, key=gains.__getitem__) for choose in (min, max))
    return of_cases(
        [gain > 0.0 for gain in gains.values()],
        "settings",
        f"{percentage(gains[least], up=False)} to {percentage(gains[largest], up=False)} less",
        f"least: {least}; largest: {largest}",
    )


# The counts of two values of k-RR among n reports, one of which is the first value.

Law = Mapping[tuple[int, int], Fraction]
_RATIO = Fraction(2)  # e^ε₀


def blanket_counts(k: int, n: int) -> Law:
    """That of n − 1 others, who report either value with the blanket's probability or neither."""
    p = 1 / (_RATIO + k - 1)
    return {
        (i + 1, j): math.comb(n - 1, i)
        * _binomial(n - 1 - i, p / (1 - p), j)
        * p**i
        * (1 - p) ** (n - 1 - i)
        for i in range(n)
        for j in range(n - i)
    }


def corrected_counts(k: int, n: int, left: int) -> Law:
    """N others report from the blanket, and N₁ of the N − N₀ + `left` that are not the first."""
    gamma = k / (_RATIO + k - 1)
    law: dict[tuple[int, int], Fraction] = {}
    for drawn in range(n):
        for i in range(drawn + 1):
            share = _binomial(n - 1, gamma, drawn) * _binomial(drawn, Fraction(1, k), i)
            trials = max(drawn - (i + 1) + left, 0)
            for j in range(trials + 1):
                mass = share * _binomial(trials, Fraction(1, k - 1), j)
                law[i + 1, j] = law.get((i + 1, j), Fraction(0)) + mass
    return law


def dependent_counts(_: Evidence) -> Judgement:
    """The independent law and the corrected one against the right one."""
    n, holds, distances = 6, [], []
    for k in (2, 3, 10):
        right = blanket_counts(k, n)
        p = 1 / (_RATIO + k - 1)
        independent = {
            (i + 1, j): _binomial(n - 1, p, i) * _binomial(n - 1, p, j)
            for i, j in itertools.product(range(n), repeat=2)
        }
        distances.append(
            [_distance(right, one) for one in (independent, corrected_counts(k, n, 0))]
        )
        holds.append(distances[-1][0] > 0 and distances[-1][1] == 0)
    first, second = (
        f"{float(min(found)):.2g} to {float(max(found)):.2g}"
        for found in zip(*distances, strict=True)
    )
    judged = of_cases(
        holds,
        "values of k",
        f"the total variation distance from the right law is {first} for independent counts, and "
        f"{second} for the correction as printed",
        f"of n = {n} users at e^ε₀ = {_RATIO}",
    )
    # That the counts depend on each other holds everywhere.
    return judged if judged.reproduced else replace(judged, verdict=IN_PART)


def _binomial(trials: int, chance: Fraction, count: int) -> Fraction:
    return math.comb(trials, count) * chance**count * (1 - chance) ** (trials - count)


def _distance(one: Law, other: Law) -> Fraction:
    """Total variation."""
    keys = {*one, *other}
    return sum(
        (max(Fraction(0), one.get(x, Fraction(0)) - other.get(x, Fraction(0))) for x in keys),
        Fraction(0),
    )


# "Nearly match": in a panel that spans two decades 5 % is about two widths of a line.
NEARLY_MATCH = at_most(0.05)
# "Indistinguishable": in such a panel 1 % is less than the width of a line.
INDISTINGUISHABLE = at_most(0.01)


INTRODUCTION, CLAIMS = claims(
    __package__,
    {
        "improvement": throughout(below_baselines, at_least(0.10)),
        "improvement_peak": lambda evidence: peak(
            below_baselines(evidence), claimed=0.50, nearly=0.45, half=0.25
        ),
        "outperforms": throughout(below_baselines, POSITIVE),
        "tightness": throughout(above_lower, NEARLY_MATCH),
        "clone_vs_bennett": throughout(below("blanket_bennett", "clone"), POSITIVE),
        "clone_vs_generic": throughout(below("clone", GENERIC), POSITIVE),
        "joint_vs_generic": throughout(joint_below_clone, at_least(0.25)),
        "joint": throughout(fall_with_k, POSITIVE),
        "k_fold": throughout(fold_below_joint, at_least(-0.0005)),
        "parallel": throughout(between_parts, POSITIVE),
        "rappor_domain": throughout(domain_matters, INDISTINGUISHABLE),
        "hamming": throughout(below_full_distance, POSITIVE),
        "subsampling": throughout(subsampled_above_lower, NEARLY_MATCH),
        "worst_dataset": worst_dataset,
        "lower_support": lower_support,
        "lower_domain": lower_domain,
        "limit_rate": limit_rate,
        "uniform_others": uniform_others,
        "four_point_clone": four_point_clone,
        "dependent_counts": dependent_counts,
        "algorithm_step": precise_step,
        "algorithm_error": error_falls,
        "seconds_curve": partial(quick, claimed=30.0),
    },
)
