"""Prove D(ε) ≤ δ of all datasets, or D(ε) ≥ δ of two, in ball arithmetic.

This needs python-flint alone. docs/verification.md says what a claim is, and has the proofs. Exit
code 0: all claims are proven, 1: not all, 2: there is no such file. How θ, η, h, M, heads, cells
and losses are chosen, partly in floats, decides how close a bound is, never whether it holds.
"""

import argparse
import contextlib
import functools
import itertools
import json
import math
import pathlib
import sys
import time
from fractions import Fraction

from flint import acb, arb, arb_poly, ctx, fmpq

MOST_WORK = 1_000_000  # exponentials of one sum
MOST_VALUES = 8_000  # of one sum, which has at least 124 modes
MOST_TERMS = 100_000  # values of the sums of all pairs of rows of a matrix
SMOOTHINGS = (0.1, 0.02, 0.004, 0.001)  # ηθ
HEADS = list(itertools.product((10, 8, 6, 14, 20, 28, 4), (0.2, 0.07)))  # on average, and ηθ
PARAMETERS = {
    **{name: {"eps0"} for name in ("duchi", "laplace", "clone", "stronger_clone")},
    **{name: {"eps0", "domain_size"} for name in ("blh", "oue", "rappor", "hadamard")},
    "krr": {"eps0", "k"},
    "local_hash": {"eps0", "domain_size", "hash_values"},
    "subset": {"eps0", "domain_size", "subset_size"},
    "joint": {"parts"},
}
TINY = Fraction(1, 10**9)
REAL = {"eps": (0, 100), "eps0": (TINY, 100), "rate": (TINY, 1), "delta": (TINY**33, 1 - TINY)}
WHOLE = {"n": (1, 10**15), "k": (2, 2**53), "hash_values": (2, 2**53), "domain_size": (2, 10**6)}
WHOLE |= {"subset_size": (1, 10**6), "datasets": (0, 99), "reports": (1, 64), "rounds": (1, 10**4)}
ONCE = dict.fromkeys(("reports", "rate", "rounds"), Fraction(1))
FEW_USERS = 30  # whose sums smoothing changes most
ctx.prec = 192


def refuse(why):
    """End with a reason."""
    raise ValueError(why)


def ball(x):
    """The number itself, enclosed."""
    return arb(fmpq(x.numerator, x.denominator))


def number(text):
    """An exact decimal of the claim."""
    if len(text) > 400 or abs(int(text.lower().partition("e")[2] or 0)) > 400:
        refuse("a number is too long or too large")
    return Fraction(text)


def record(pairs):
    """An object of the file, whose keys are all different."""
    return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("a key comes twice")


def read(text):
    """The claims, their numbers exact fractions."""
    hooks = {"parse_float": number, "parse_int": number, "object_pairs_hook": record}
    claims = json.loads(text, **hooks)
    claims = claims if isinstance(claims, list) else [claims]
    return [checked(x) for x in claims] or refuse("there is no claim")


def checked(claim):
    """The claim, if it has all that it needs and nothing else."""
    name = claim.get("mechanism") if isinstance(claim, dict) else None
    if not (isinstance(name, list) or (isinstance(name, str) and name in PARAMETERS)):
        refuse(f"a claim names a mechanism: {', '.join(PARAMETERS)} or rows of probabilities")
    claim, bound = {**ONCE, "also": []} | claim, claim.get("bound")
    if bound not in (("blanket",) if "clone" in name else ("blanket", "all", "pair")):
        refuse("bound is none of blanket, all and pair, or not one of this mechanism")
    own = {"n", "eps", "delta", "also", *ONCE, *PARAMETERS.get(str(name), ())}
    own |= {"datasets"} if bound == "pair" else set()
    if claim.keys() != own | {"bound", "mechanism"}:
        refuse(f"the keys are not bound, mechanism, {', '.join(sorted(own))}")
    check_also(claim["also"])
    claim |= {"parts": checked_parts(claim)} if name == "joint" else {}
    for key in own - {"also", "parts"}:
        least, most = (WHOLE | REAL)[key]
        for x in claim[key] if key == "datasets" else [claim[key]]:
            is_limit = x is None and key == "domain_size" and name != "subset"  # many values
            is_number = isinstance(x, Fraction) and (key in REAL or x.denominator == 1)
            if not (is_limit or (is_number and least <= x <= most)):
                refuse(f"{key} is no number from {float(least)} to {float(most)}, or not whole")
    if isinstance(name, list):
        if len(name) < 2 or not all(
            isinstance(x, Fraction) and x >= 0 for row in name for x in row
        ):
            refuse("the matrix is no table of probabilities, one row an input, two at least")
        terms = len(name) ** (3 if bound == "all" else 2) * len(name[0])
        if terms * (3000 if are_several(claim) else 1) > MOST_TERMS:
            refuse(f"a matrix of {len(name)} rows of {len(name[0])} is too large for this claim")
        if not all(len(row) == len(name[0]) and abs(sum(row) - 1) <= TINY for row in name):
            refuse("a row of the matrix does not sum to 1, up to 1e-9, or is shorter than others")
        claim["mechanism"] = [[x / sum(row) for x in row] for row in name]
    if name == "subset" and claim["subset_size"] >= claim["domain_size"]:
        refuse("a subset has fewer values than the domain")
    if claim["reports"] > 1 and (isinstance(name, list) or "clone" in name or bound == "all"):
        refuse("of several reports only blankets and pairs of named mechanisms are attempted")
    if (are_several(claim) and bound != "blanket") or (bound == "all" and claim["n"] == 1):
        refuse("several rounds are attempted by the blanket only, and so is one user")
    if bound == "pair":
        *victim, others = claim["datasets"]
        if len(victim) != 2 or max(*victim, others) >= (3 if name == "duchi" else tracked(claim)):
            refuse("datasets are no three inputs that this mechanism has")
        isinstance(name, list) or victim == [0, 1] or refuse("the victim's inputs are 0 and 1")
    return claim


def are_several(claim):
    """Whether the claim is about several rounds."""
    return claim["rounds"] > 1 or bool(claim["also"])


def check_also(also):
    """Refuse further rounds that are no list of pairs [users, rounds]."""
    for pair in also if isinstance(also, list) else [also]:
        if not (isinstance(pair, list) and len(pair) == 2):
            refuse("also is no list of pairs [n, rounds]")
        for key, x in zip(("n", "rounds"), pair, strict=True):
            least, most = WHOLE[key]
            if not (isinstance(x, Fraction) and x.denominator == 1 and least <= x <= most):
                refuse("also has a number that is out of range, or not whole")


def checked_parts(claim):
    """The parts of a joint, if each is so many reports of a named mechanism."""
    parts, common = claim["parts"], {key: claim[key] for key in ("bound", "n", "eps", "delta")}
    if claim["bound"] != "blanket" or claim["reports"] != 1:
        refuse("of a joint of different parts only the blanket is attempted, sent once")
    if not (isinstance(parts, list) and parts and all(isinstance(x, dict) for x in parts)):
        refuse("parts is no list of mechanisms")
    for part in parts:
        name = str(part.get("mechanism"))
        if name == "joint" or "clone" in name or not isinstance(part.get("mechanism"), str):
            refuse("a part is no report of a named mechanism")
        if part.keys() & {*common, "rate", "rounds", "also"}:
            refuse("a part has a key of the whole claim")
    return [checked({**common, **part}) for part in parts]


def tracked(claim):
    """How many inputs tell all that users may hold."""
    name, size = claim["mechanism"], claim.get("k", claim.get("domain_size", 2))
    return len(name) if isinstance(name, list) else int(min(size or 4, 3 + (name == "hadamard")))


def outputs(claim, inputs, outer):
    """What a user sends: (key, probabilities given so many inputs, then the least of any input)."""
    if claim["mechanism"] == "joint":
        return sampled(claim, together([outputs(x, inputs, outer) for x in claim["parts"]]))
    one = laplace(claim, outer) if claim["mechanism"] == "laplace" else single(claim, inputs)
    total = {(0,) * len(one[0][0]): [arb(1)] * len(one[0][1])}
    for _ in range(int(claim["reports"])):
        grown = {}
        for (key, row), (new, factors) in itertools.product(total.items(), one):
            key = tuple(map(sum, zip(key, new, strict=True)))
            row = [x * y for x, y in zip(row, factors, strict=True)]
            grown[key] = [x + y for x, y in zip(row, grown.get(key, [0] * len(row)), strict=True)]
            len(grown) <= MOST_VALUES or refuse(f"outputs of over {MOST_VALUES} kinds are too many")
        total = grown
    return sampled(claim, list(total.items()))


def together(parts):
    """What users send who send a report of every part; each keeps its own key."""
    math.prod(map(len, parts)) <= MOST_VALUES or refuse(f"over {MOST_VALUES} outputs are too many")
    return [
        (tuple(key for key, _ in row), [math.prod(x, start=arb(1)) for x in columns])
        for row in itertools.product(*parts)
        for columns in [zip(*(masses for _, masses in row), strict=True)]
    ]


def sampled(claim, found):
    """What users send with the probability rate, else nothing."""
    rate, size = ball(claim["rate"]), len(found[0][1])
    found = [(key, [rate * x for x in row]) for key, row in found]
    return found + [(("nothing",), [1 - rate] * size)] * (claim["rate"] < 1)


def single(claim, inputs):
    """One report. An entry of a key says of an input, or of the least, how often e is a factor."""
    name = claim["mechanism"]
    if isinstance(name, list):
        columns = enumerate(zip(*name, strict=True))
        return [((y, 0, 0), [*map(ball, row), ball(min(row))]) for y, row in columns]
    e, found = ball(claim["eps0"]).exp(), []
    if name in ("duchi", "clone", "stronger_clone"):
        p, half = 1 / (e + 1), arb(0.5)
        rows, least = [(e * p, p, half), (p, e * p, half)], half / e if name == "clone" else p
        return [((1 - y, y, 0), [*row[:inputs], least]) for y, row in enumerate(rows)]
    for bits in itertools.product((1, 0), repeat=inputs):
        share, ones = chance(claim, e, bits)
        for every, part in ((0, 1 - ones), (1, ones)) if all(bits) else ((0, arb(1)),):
            if not (share * part).is_zero():
                key = (*bits, every)
                found.append((key, [share * part * (e if x else 1) for x in key]))
    return found


def chance(claim, e, bits):
    """The probability, given a value whose bit is 0, of outputs in which inputs have these bits.

    And the share in which all values have bit 1. That bit makes an output e times as likely: a hash
    or bit is 1, the Hadamard row is + in this column, or the report is the value or a set with it.
    """
    name, size, inputs = claim["mechanism"], int(claim.get("domain_size") or 0), len(bits)
    if name == "krr":
        k = int(claim["k"])
        return {0: k - inputs, 1: 1}.get(sum(bits), 0) / (e + k - 1), arb(0)
    if name == "hadamard":
        # Inputs 0, 1, 2 have rows 1, 2 and 3, the product of these; input 3 has row 4.
        fits, kinds = inputs < 3 or bits[2] == (bits[0] == bits[1]), 4 if inputs < 4 else 8
        return 2 * fits / (kinds * (e + 1)), arb(kinds) / 2 ** size.bit_length() if size else arb(0)
    if name == "subset":
        held, ones = int(claim["subset_size"]), sum(bits)
        sets = math.perm(held, ones) * math.perm(size - held, inputs - ones)
        return sets * size / (math.perm(size, inputs) * (held * e + size - held)), arb(0)
    odds = {"blh": arb(1), "oue": e, "rappor": (ball(claim["eps0"]) / 2).exp()}.get(name)
    odds = arb(int(claim["hash_values"]) - 1) if odds is None else odds
    share = (1 + odds) / (odds + e)
    for bit in bits:
        share *= 1 / (1 + odds) if bit else odds / (1 + odds)
    return share, (1 + odds) ** (inputs - size) if size else arb(0)


def laplace(claim, outer):
    """Laplace noise on 0 or 1, in cells: mass goes to both ends (outer, upper) or is united."""
    last = 2 * math.ceil(max(48, 32 * claim["eps0"]) / claim["reports"])
    eps0, step = ball(claim["eps0"]), ball(claim["eps0"] / last)
    share = (-eps0 / 2).exp() * ((step / 2).tanh() if outer else (step / 2).sinh())
    places = range(-last + (not outer), last + 1, 2)
    masses = [(i, share / 2 if abs(i) == last else share, (i * step / 2).exp()) for i in places]
    rows = [(i, mass * root, mass / root) for i, mass, root in masses]
    rows += [(last, arb(0.5), (-eps0).exp() / 2), (-last, (-eps0).exp() / 2, arb(0.5))]
    return [((max(i, 0), max(-i, 0), 0), [a, b, b if i > 0 else a]) for i, a, b in rows]


def split(parts, eps):
    """Σ_{c=0}(a − e^ε b)₊, the values and masses of G, E e^{zG}."""
    e = ball(eps).exp()
    excess = sum(((a - e * b).max(arb(0)) for a, b, c in parts if c.is_zero()), arb(0))
    law = [((a - e * b) / c, c) for a, b, c in parts if not c.is_zero()]
    return excess, law, lambda z: 1 + sum((c * ((z * g).exp() - 1) for g, c in law), acb(0))


def divergence(parts, n, eps, precision, room=12):
    """Two balls: D(ε) of a decomposition is at least the first and at most the second."""
    excess, law, generating = split(parts, eps)
    if all(g <= 0 for g, _ in law):
        return excess, excess
    aim, power = (len(law), *tilt([law], n), precision, room), lambda z: generating(z) ** n
    total, density, tail, (theta, eta, h, last) = series(power, *aim)
    # What the repetition of (Y)₊ with the period P adds, Y = S + ηZ: from the left and the right.
    period = 2 * arb.pi() / h
    s = theta + 2 / arb(aim[2] + 1 / aim[1])
    q, w = (-theta * period).exp(), ((theta - s) * period).exp()
    wrapped = (total + tail) * q / (1 - q) + period * q / (1 - q) ** 2
    wrapped += power(acb(s)).real * (eta**2 * s**2 / 2 - 1).exp() / s * w / (1 - w)
    smoothed = eta**2 * (density + tail * last**2)
    return excess + (total - tail - wrapped - smoothed) / n, excess + (total + tail) / n


def series(power, size, theta, spread, precision, room, part=lambda z: z.real):
    """(h/2π) Σ F/z² and (h/2π) Σ F, |m| ≤ M, F = power e^{η²z²/2}; what is left out; the grid."""
    eta, h = precision / theta, 2 * math.pi / (12 * spread + room / theta)
    modes = math.ceil(6.5 / eta / h)
    modes * size <= MOST_WORK or refuse(f"{modes} modes of {size} values are too many")
    theta, eta, h, total, density = arb(theta), arb(eta), arb(h), arb(0), arb(0)
    for m in range(modes + 1):
        z = acb(theta, m * h)
        term = power(z) * (eta**2 * z**2 / 2).exp() * (2 if m else 1)
        total, density = total + part(term / z**2), density + part(term)
    scale, last = h / (2 * arb.pi()), modes * h
    tail = abs(power(acb(theta))) * (eta**2 * (theta**2 - last**2) / 2).exp() / last**3
    tail /= arb.pi() * eta**2
    return scale * total, scale * density, tail, (theta, eta, h, last)


def tilt(laws, n):
    """θ near the least of the largest estimate of E[S₊], and the deviation of S there: a choice."""
    laws = [[(float(g), float(c)) for g, c in law] for law in laws if law]
    largest = max(abs(g) for law in laws for g, _ in law)

    def estimate(t):
        found, theta = [], math.exp(t)
        for law in laws:
            k = math.log1p(sum(c * math.expm1(theta * g) for g, c in law))
            spread = math.sqrt(n * sum(c * math.exp(theta * g - k) * g * g for g, c in law))
            y = theta * spread / 2**0.5
            found.append((n * k - t - math.log(y + math.sqrt(y * y + 4 / math.pi)), spread))
        return max(found)

    low, high = math.log(1e-12 / largest), math.log(600 / largest)
    for _ in range(90):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if estimate(one) < estimate(two) else (one, high)
    return math.exp(low), estimate(low)[1]


def all_datasets(parts, n, eps, heads, precision):
    """Theorem 3: D(ε) of every dataset is at most this ball."""
    kinds = [(key[:2] + key[-1:], row) for key, row in parts]  # all that tells of the victim
    used = shares(kinds, eps, heads / (n - 1))
    share = sum((used[kind] * row[-1] for kind, row in kinds), arb(0))

    def without(x, whole=1):
        return [(row[0], row[1], (row[x] - used[kind] * row[-1]) / whole) for kind, row in kinds]

    others = [split(without(x), eps) for x in range(len(parts[0][1]) - 1)]
    tilted, found = tilt([law for _, law, _ in others], n), []
    for excess, law, generating in others:
        size, power = len(law), lambda z, f=generating: acb((share + abs(f(z) - share)) ** n)
        total, _, tail, _ = series(power, size, *tilted, precision, 12, abs)
        found.append(excess + (total + tail) / n)
    left = divergence(without(-1, 1 - share), n, eps, SMOOTHINGS[0])[1]
    return functools.reduce(arb.max, found) + (1 - share) ** (n - 1) * left


def shares(rows, eps, wanted):
    """Of every kind of output how much of its least probability heads use: a choice below 1."""
    e, least = ball(eps).exp(), [(kind, float(row[-1])) for kind, row in rows]
    heights = {kind: float(abs(row[0] - e * row[1]) / row[-1]) for kind, row in rows}

    def at(level):  # 0 where the height is no number
        found = {kind: min(0.9, max(0.0, 1 - x / level)) for kind, x in heights.items()}
        return found, sum(found[kind] * c for kind, c in least)

    low, high = -600.0, 600.0
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (low, middle) if at(math.exp(middle))[1] >= wanted else (middle, high)
    return at(math.exp(high))[0]


def composed(claim, sides):
    """D(ε) of rounds is at most this ball: the convolution of pairs with losses ±iΔ."""
    kinds, eps = [(claim["n"], claim["rounds"]), *claim["also"]], ball(claim["eps"])
    total, start_time = sum(int(times) for _, times in kinds), time.monotonic()

    def curve(n, eps):
        found = (next(ends({**claim, "n": n}, x, eps)) for x in sides)
        return functools.reduce(arb.max, found).upper()

    firsts = [curve(n, Fraction(0)) for n, _ in kinds]
    squares = sum(int(t) * float(x) ** 2 for x, (_, t) in zip(firsts, kinds, strict=True))
    step = Fraction(math.sqrt(squares / total)) / 16
    least = float(claim["delta"]) / (total * 10**5)
    points, done = sum(expected(float(x), float(step), least) for x in firsts), len(kinds)
    law, start, floor = [arb(1)], 0, ball(claim["delta"]) / 10**12
    for first, (n, times) in zip(firsts, kinds, strict=True):
        heights = [first]
        while heights[-1] * total * 10**5 > ball(claim["delta"]) and len(heights) < 1000:
            left = (time.monotonic() - start_time) / done * max(points - done, 0)
            tell(f"point {done} of about {max(points, done)} of the curve, {left:.0f} s left")
            heights.append(curve(n, len(heights) * step))
            done += 1
        masses, last = dominating(heights, step), len(heights) - 1
        power, first_loss = [arb(1)], 0
        for bit in map(int, f"{int(times):b}"):  # masses left out count as infinite losses
            grown = arb_poly(power) ** 2 * arb_poly(masses) ** bit
            power, first_loss = kept(grown, 2 * first_loss - bit * last, floor)
        law, start = kept(arb_poly(law) * arb_poly(power), start + first_loss, floor)
    step = ball(step)
    shares = (p * (eps - i * step).exp().min(arb(1)) for i, p in enumerate(law, start))
    return 1 - sum(shares, arb(0))


def expected(first, step, least):
    """About how many points a curve has that falls from `first` to `least`, if it is normal."""
    spread, count = first * math.sqrt(2 * math.pi), 1
    while first > 0 and count < 1000:
        x = count * step / spread
        height = math.exp(-x * x / 2) / math.sqrt(2 * math.pi) - x * math.erfc(x / 2**0.5) / 2
        if spread * height <= least:
            break
        count += 1
    return count


def dominating(heights, step):
    """The masses of the losses −NΔ to NΔ of a pair whose profile is above a curve's heights."""
    last, t = len(heights) - 1, [ball(i * step).exp() for i in range(len(heights))]

    def slope(i, j):
        return (heights[j] - heights[i]) / (t[j] - t[i])

    # Its profile is linear between points of the curve that are convex, each of them above D.
    convex, masses = [0], [arb(0)] * (2 * last + 1)
    for j in range(1, last + 1):
        while len(convex) > 1 and not slope(*convex[-2:]) < slope(convex[-1], j):
            convex.pop()
        convex.append(j)
    slopes = [*itertools.starmap(slope, itertools.pairwise(convex)), arb(0)]
    for k, i in enumerate(convex):
        mass = t[i] * (slopes[k] - slopes[k - 1]) if i else 1 - heights[0] + 2 * slopes[0]
        masses[last + i], masses[last - i] = mass, mass / t[i]
    all(mass >= 0 for mass in masses) or refuse("the curve is not convex")
    return masses


def kept(law, start, floor):
    """The masses without those up to floor on either side, and the first of their losses."""
    large = [i for i, p in enumerate(law.coeffs()) if p > floor] or refuse("no loss is likely")
    return law.coeffs()[large[0] : large[-1] + 1], start + large[0]


def ends(claim, parts, eps):
    """Balls above D(ε) of the first two laws in rows, each by other choices; of a pair below."""
    n, delta, is_lower = int(claim["n"]), ball(claim["delta"]), claim["bound"] == "pair"
    room = 12 - is_lower * min(0, math.log(n * claim["delta"]))
    for choice in HEADS if claim["bound"] == "all" else SMOOTHINGS[are_several(claim) :]:
        with contextlib.suppress(ValueError, ArithmeticError):
            if claim["bound"] == "all":
                yield all_datasets(parts, n, eps, *choice)
            else:
                law = [(row[0], row[1], row[-1]) for _, row in parts]
                below, above = divergence(law, n, eps, choice, room)
                yield below if is_lower else above
                if above < delta if is_lower else below > delta:
                    return  # it is false, and no other choice will do


def pairs(claim):
    """What outputs say of the pairs of inputs that may be the worst, of others, and the least."""
    name, bound = claim["mechanism"], claim["bound"]
    x0, x1, *others = [int(x) for x in claim.get("datasets", (0, 1))]
    named = tracked(claim) if bound == "all" else 1 + max(x0, x1, *others)
    rows = range(len(name) if isinstance(name, list) else named)
    orders = [[x, y, *({*rows} - {x, y}), -1] for x, y in itertools.permutations(rows, 2)]
    orders = [[x0, x1, *others], [x1, x0, *others]] if others else orders
    orders = orders[:1] if isinstance(name, str) and bound != "pair" else orders
    parts = outputs(claim, len(rows), bound != "pair")
    return [[(key, [row[x] for x in order]) for key, row in parts] for order in orders]


def verdict(claim):
    """Whether the claim holds, and why; never true by default."""
    delta, eps, is_lower = ball(claim["delta"]), claim["eps"], claim["bound"] == "pair"
    asked = [ends(claim, parts, eps) for parts in pairs(claim)]
    asked = [itertools.chain(*asked)] if is_lower else asked
    asked = [[composed(claim, pairs(claim))]] if are_several(claim) else asked
    for balls in asked:
        found = []
        for end in balls:
            found.append(end)
            if end >= delta if is_lower else end <= delta:
                break
        else:
            few = ", which is coarse for so few users" if claim["n"] <= FEW_USERS else ""
            closest = max(found, default=None) if is_lower else min(found, default=None)
            proved = f"D(ε) {'≥' if is_lower else '≤'} {closest.str(4)}" if found else "nothing"
            return False, f"{proved} is all that this program proves, by its smoothing{few}"
    if is_lower:
        return True, "D(ε) ≥ δ of two datasets: no smaller ε is valid; assumed: nothing"
    rounds = " and all rounds together" if are_several(claim) else ""
    worst = "" if isinstance(claim["mechanism"], list) else ", and inputs 0 and 1 are the worst"
    given = f"n users report independently{worst}"
    return bool(asked), f"D(ε) ≤ δ of all datasets{rounds}; assumed: {given}"


def attempt(ask, *what):
    """What is asked; whatever goes wrong, nothing is proven."""
    try:
        return ask(*what)
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


def tell(text):
    """Replace the line of progress, on standard error if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def restated(claim):
    """The claim in words, its numbers as they are written."""
    name, told = claim["mechanism"], ("mechanism", "bound", "eps", "delta")
    settings = [f"{key} = {x}" for key, x in claim.items() if key not in told]
    settings = [text.replace("'", "").replace("None", "null") for text in settings]
    sent = ", ".join([name if isinstance(name, str) else f"{len(name)} rows", *settings])
    return f"{claim['bound']} of {sent}: ε = {claim['eps']} at δ = {claim['delta']}"


def main(path):
    """Print each claim of a file, the verdict on it, and what was proved and assumed."""
    text = attempt(lambda: pathlib.Path(path).read_text(encoding="utf-8"))
    claims = attempt(read, text) if isinstance(text, str) else text
    if not isinstance(claims, list):
        print(f"not proven: {claims[1]}")
        return 2 - pathlib.Path(path).exists()
    written, proofs = json.loads(text, parse_float=str, parse_int=str), []
    written = written if isinstance(written, list) else [written]
    for place, (claim, words) in enumerate(zip(claims, written, strict=True), 1):
        tell(f"claim {place} of {len(claims)}")
        proven, why = attempt(verdict, claim)
        tell("")
        proofs.append(proven is True)
        print(f"{'proven' if proofs[-1] else 'not proven'}: {restated(words)}")
        print(f"  {why}{'' if proofs[-1] else '. The claim may be true'}.", flush=True)
    return 0 if all(proofs) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claim", help="what `shufflebounds epsilon … --claim CLAIM.json` writes")
    sys.exit(main(parser.parse_args().claim))
