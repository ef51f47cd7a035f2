"""Prove D(ε) ≤ δ of a blanket, or D(ε) ≥ δ of two datasets, in ball arithmetic.

    python verify/verify.py CLAIM.json        (needs python-flint alone)

A claim is {"bound": "blanket" or "pair", "mechanism": name or rows of probabilities, its
parameters, "n": …, "eps": …, "delta": …}, with "datasets": [x₁⁰, x₁¹, what all others hold] for a
pair; a file holds one or a list of them. Exit code 0: all proven, 1: not. docs/verification.md
has the proofs. For any θ, η, h > 0 and M (docs/engine.md,
sections 1 to 4), with z_m = θ + imh, T = Mh and g = (a − e^ε b)/c,

    D(ε) ≤ Σ_{c=0}(a − e^ε b)₊ + (1/n)[(h/2π) Σ_{|m| ≤ M} Re(M_G(z_m)ⁿ e^{η²z_m²/2}/z_m²) + tail],
    tail ≤ M_G(θ)ⁿ e^{η²θ²/2 − η²T²/2}/(πη²T³),   M_G(z) = 1 − Σc + Σ c e^{zg}.

How θ, η, h and M are chosen decides how close the bound is, never whether it holds.
"""

import itertools
import json
import math
import sys
from fractions import Fraction

from flint import acb, arb, ctx, fmpq

MOST_MODES = 200_000
BOUNDS = ("blanket", "pair")
PARAMETERS = {
    "krr": {"k", "eps0"},
    "duchi": {"eps0"},
    "blh": {"eps0", "domain_size"},
    "oue": {"eps0", "domain_size"},
    "rappor": {"eps0", "domain_size"},
    "hadamard": {"eps0", "domain_size"},
    "local_hash": {"eps0", "domain_size", "hash_values"},
    "subset": {"eps0", "domain_size", "subset_size"},
}


def ball(x):
    """The number itself, enclosed."""
    return arb(fmpq(x.numerator, x.denominator))


def number(text):
    """An exact decimal of the claim."""
    if len(text) > 400 or abs(int(text.lower().partition("e")[2] or 0)) > 400:
        raise ValueError(f"the number {text[:20]} is too long or too large")
    return Fraction(text)


def unique(pairs):
    """A JSON object, in which no key may come twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def not_finite(text):
    raise ValueError(f"{text} is no number")


def read(text):
    """The claims, their numbers exact fractions."""
    claims = json.loads(
        text,
        parse_float=number,
        parse_int=number,
        parse_constant=not_finite,
        object_pairs_hook=unique,
    )
    return [checked(claim) for claim in (claims if isinstance(claims, list) else [claims])]


def checked(claim):
    """The claim, if it has all that it needs and nothing else."""
    if not isinstance(claim, dict) or "mechanism" not in claim:
        raise ValueError("a claim is an object that names its mechanism")
    name = claim["mechanism"]
    if isinstance(name, str) and name not in PARAMETERS:
        raise ValueError(f"the mechanism {name} is not known")
    if not isinstance(name, str | list) or claim.get("bound") not in BOUNDS:
        raise ValueError(f"bound is none of {', '.join(BOUNDS)}")
    own = PARAMETERS[name] if isinstance(name, str) else set()
    own = own | {"mechanism", "bound", "n", "eps", "delta"}
    own |= {"datasets"} if claim["bound"] == "pair" else set()
    if claim.keys() != own:
        raise ValueError(f"the keys are not {', '.join(sorted(own))}")
    for key in own - {"mechanism", "bound", "datasets"}:
        if not isinstance(claim[key], Fraction) and not (key == "domain_size" and unbounded(claim)):
            raise ValueError(f"{key} is no number")
    whole(claim, "n", 1, 10**15)
    if not (0 <= claim["eps"] <= 100 and 0 < claim["delta"] < 1):
        raise ValueError("eps or delta is out of range")
    if "eps0" in own and not 0 < claim["eps0"] <= 100:
        raise ValueError("eps0 is out of range")
    if isinstance(name, list):
        check_matrix(name)
    if "datasets" in own:
        check_datasets(claim)
    return claim


def unbounded(claim):
    """Whether the domain is the limit of many values, which null stands for."""
    return claim["domain_size"] is None and claim["mechanism"] != "subset"


def check_datasets(claim):
    """The victim's two inputs, and the one that all others hold."""
    name, given = claim["mechanism"], claim["datasets"]
    if not isinstance(given, list) or len(given) != 3:
        raise ValueError("datasets are no three inputs")
    if isinstance(name, list):
        known = len(name)
    else:
        known = 3 if name == "duchi" else min(3, most(claim))
        if given[:2] != [0, 1]:
            raise ValueError("the victim's inputs are 0 and 1, as all pairs are alike")
    for x in given:
        if not isinstance(x, Fraction) or x.denominator != 1 or not 0 <= x < known:
            raise ValueError(f"datasets name what is none of the {known} inputs")


def whole(claim, key, least, most):
    if claim[key].denominator != 1 or not least <= claim[key] <= most:
        raise ValueError(f"{key} is not a whole number from {least} to {most}")
    return int(claim[key])


def check_matrix(rows):
    """Rows are inputs; they have to sum to 1 exactly."""
    if not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows) or len(rows) < 2:
        raise ValueError("the matrix is no table of two rows or more")
    if not all(isinstance(x, Fraction) and x >= 0 for row in rows for x in row):
        raise ValueError("the matrix holds what is no probability")
    if any(sum(row) != 1 for row in rows):
        raise ValueError("a row of the matrix does not sum to 1 exactly")


def laws(claim, inputs):
    """Classes of outputs as (key, laws of so many inputs, least law), the masses as balls.

    The key says what inputs 0 and 1 make of an output and whether it is the least likely one of
    some value: what stays as it is where other values change places.
    """
    name = claim["mechanism"]
    if isinstance(name, list):
        columns = zip(*name, strict=True)
        found = [(key, list(map(ball, y)), ball(min(y))) for key, y in enumerate(columns)]
        return [one for one in found if any(not x.is_zero() for x in one[1])]
    e = ball(claim["eps0"]).exp()
    if name == "duchi":
        p = 1 / (e + 1)
        rows = [(e * p, p, arb(0.5)), (p, e * p, arb(0.5))]
        return [(key, list(row[:inputs]), p) for key, row in enumerate(rows)]
    if name == "krr":
        k = whole(claim, "k", 2, 2**53)
        p = 1 / (e + k - 1)
        own = [[e * p if x == y else p for x in range(inputs)] for y in range(inputs)]
        found = [(min(y, 2), row, p) for y, row in enumerate(own)]
        rest = (k - inputs) * p
        return found + [(2, [rest] * inputs, rest)] * (k > inputs)
    size, found = claim["domain_size"], []
    if size is not None:
        size = whole(claim, "domain_size", 2, 10**6)
    for bits in itertools.product((True, False), repeat=inputs):
        share, ones = chance(name, claim, e, bits, size)
        if not share.is_zero():
            row = [share * e if bit else share for bit in bits]
            parts = [(False, 1 - ones), (True, ones)] if all(bits) else [(False, arb(1))]
            found += [
                ((bits[:2], every), [x * part for x in row], share * part * (e if every else 1))
                for every, part in parts
                if not part.is_zero()
            ]
    return found


def chance(name, claim, e, bits, size):
    """What an input whose bit is 0 makes of outputs in which some inputs have these bits.

    And the share of them in which the bits of all values are 1, where no input is unlikely. The
    bit of a value is what makes an output e times as likely: its hash or its bit is 1, its row of
    the Hadamard matrix is + in this column, or the subset has it.
    """
    inputs, none = len(bits), arb(0)
    if name == "hadamard":
        # Inputs 0, 1, 2 have rows 1, 2 and 3, the product of these; input 3 has row 4.
        if inputs > 2 and bits[2] != (bits[0] == bits[1]):
            return none, none
        kinds = 4 if inputs < 4 else 8
        order = None if size is None else 2 ** size.bit_length()
        return 2 / (kinds * (e + 1)), none if order is None else arb(kinds) / order
    if name == "subset":
        held = whole(claim, "subset_size", 1, size - 1) if size else 0
        if not held:
            raise ValueError("a subset needs the size of its domain")
        total = math.comb(size - 1, held - 1) * e + math.comb(size - 1, held)
        if not 0 <= held - sum(bits) <= size - inputs:
            return none, none
        return math.comb(size - inputs, held - sum(bits)) / total, none
    odds = {"blh": arb(1), "oue": e, "rappor": (ball(claim["eps0"]) / 2).exp()}.get(name)
    if name == "local_hash":
        odds = arb(whole(claim, "hash_values", 2, 2**53) - 1)
    share = (1 + odds) / (odds + e)
    for bit in bits:
        share *= 1 / (1 + odds) if bit else odds / (1 + odds)
    return share, none if size is None else (1 + odds) ** (inputs - size)


def split(parts, eps):
    """Σ_{c=0}(a − e^ε b)₊ and the values and masses of G but for those that are exactly 0."""
    e = ball(eps).exp()
    excess = sum(((a - e * b).max(arb(0)) for a, b, c in parts if c.is_zero()), arb(0))
    law = [((a - e * b) / c, c) for a, b, c in parts if not c.is_zero()]
    return excess, [(g, c) for g, c in law if not g.is_zero()]


def divergence(parts, n, eps, precision, room=30):
    """Two balls: D(ε) is at least the first and at most the second."""
    excess, law = split(parts, eps)
    rest = 1 - sum((c for _, c in law), arb(0))
    if not law:
        return excess, excess
    if math.comb(n + len(law), len(law)) <= MOST_MODES:
        found = excess + enumerated(law, rest, n) / n
        return found, found
    theta, spread = tilt(floats(law), float(rest.mid()), n)

    def generating(z):
        return rest + sum((c * (z * g).exp() for g, c in law), acb(0))

    total, density, tails, (theta, eta, h) = series(
        lambda z: generating(z) ** n, theta, 12 * spread + room / theta, precision
    )
    # What the repetition of (Y)₊ with the period P adds, Y = S + ηZ: from the left and the right.
    period = 2 * arb.pi() / h
    q = (-theta * period).exp()
    wrapped = (total + tails[0]) * q / (1 - q) + period * q / (1 - q) ** 2
    right = []
    for steps in (0.25, 0.5, 1, 2, 4, 8):
        s = theta + arb(steps) / arb(spread + 1 / float(theta))
        w = (-(s - theta) * period).exp()
        moment = generating(acb(s)).real ** n * (eta**2 * s**2 / 2).exp()
        right.append(moment / (s * arb(1).exp()) * w / (1 - w))
    right = min((x for x in right if x.is_finite()), key=lambda x: float(x.mid()))
    smoothed = eta**2 * (density + tails[1])
    least = total - tails[0] - wrapped - right - smoothed
    return excess + least / n, excess + (total + tails[0]) / n


def series(power, theta, period, precision):
    """(h/2π) Σ F/z² and (h/2π) Σ F, |m| ≤ M, F = power e^{η²z²/2}; what is left out; the grid."""
    eta, h = precision / theta, 2 * math.pi / period
    modes = math.ceil(9 / eta / h)
    if modes > MOST_MODES:
        raise ValueError(f"{modes} modes are too many")
    theta, eta, h = arb(theta), arb(eta), arb(h)
    total = density = arb(0)
    for m in range(modes + 1):
        z = acb(theta, m * h)
        factor, smooth = power(z), (eta**2 * z**2 / 2).exp() * (2 if m else 1)
        total += (factor * smooth / z**2).real
        density += (factor * smooth).real
    last = modes * h
    tail = abs(power(acb(theta))) * (eta**2 * (theta**2 - last**2) / 2).exp()
    tail /= arb.pi() * eta**2 * last
    scale = h / (2 * arb.pi())
    return scale * total, scale * density, (tail / last**2, tail), (theta, eta, h)


def enumerated(law, rest, n):
    """E[S₊] over all counts of the values."""

    def summed(j, left, weight, value):
        if j == len(law):
            return weight * rest**left * value.max(arb(0))
        (g, c), total = law[j], arb(0)
        for count in range(left + 1):
            total += summed(j + 1, left - count, weight, value)
            weight, value = weight * c * (left - count) / (count + 1), value + g
        return total

    return summed(0, n, arb(1), arb(0))


def floats(law):
    return [(float(g.mid()), float(c.mid())) for g, c in law]


def tilt(law, rest, n):
    """θ near the least of n log M_G(θ) − 2 log θ, and the deviation of S there: a choice."""
    largest = max(abs(g) for g, _ in law)

    def moments(s):
        w = [c * math.exp(s * g) for g, c in law]
        mass = rest + sum(w)
        mean = sum(x * g for x, (g, _) in zip(w, law, strict=True)) / mass
        square = sum(x * g * g for x, (g, _) in zip(w, law, strict=True)) / mass
        return mass, mean, square - mean**2

    low, high = math.log(1e-12 / largest), math.log(600 / largest)
    for _ in range(80):
        middle = (low + high) / 2
        if n * moments(math.exp(middle))[1] < 2 / math.exp(middle):
            low = middle
        else:
            high = middle
    theta = math.exp(low)
    variance = moments(theta)[2]
    return theta, math.sqrt(max(0.0, n * variance))


def verdict(claim):
    """Whether the claim holds, and why; never true by default."""
    ctx.prec = 192
    n, eps, delta = int(claim["n"]), claim["eps"], ball(claim["delta"])
    if claim["bound"] == "pair":
        x0, x1, x2 = (int(x) for x in claim["datasets"])
        parts = [(y[x0], y[x1], y[x2]) for _, y, _ in laws(claim, 2 if x2 < 2 else 3)]
        return pair_verdict(parts, n, eps, delta)
    asked = every_pair(claim)
    if not asked or not all(asked):
        return False, "there is nothing to sum"
    for side in asked:
        for precision in (0.02, 0.005):
            parts = [(row[0], row[1], least) for _, row, least in side]
            found = divergence(parts, n, eps, precision)[1]
            if found <= delta:
                break
        else:
            return False, f"D is in {found.str(12)} by this bound"
    return True, f"D(ε) ≤ δ by the bound {claim['bound']}, in both directions"


def pair_verdict(parts, n, eps, delta):
    """Two datasets differ by δ or more in one of the two directions."""
    found = None
    for side in (parts, [(b, a, c) for a, b, c in parts]):
        for precision in (0.02, 0.005):
            found = divergence(side, n, eps, precision, 60)[0]
            if found >= delta:
                return True, "D(ε) ≥ δ of these two datasets, in one direction"
    return False, f"D is at least {found.str(12)} by this sum"


def every_pair(claim):
    """What outputs say of every pair of inputs that may be the worst, in both orders."""
    name = claim["mechanism"]
    if isinstance(name, list):
        order = itertools.permutations(range(len(name)), 2)
        columns = laws(claim, len(name))
        orders = [[x0, x1, *range(len(name))] for x0, x1 in order]
    else:
        columns, orders = laws(claim, 2), [[0, 1], [1, 0]]
    return [
        [(key, [row[x] for x in order], least) for key, row, least in columns] for order in orders
    ]


def most(claim):
    """How many inputs tell all that other users may hold."""
    own = claim["k"] if claim["mechanism"] == "krr" else claim["domain_size"]
    kinds = 4 if claim["mechanism"] == "hadamard" else 3
    return kinds if own is None else int(min(own, kinds))


def main():
    """Print the verdict on each claim of a file."""
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            found = [verdict(claim) for claim in read(file.read())]
        if not found:
            raise ValueError("there is no claim")
    except Exception as error:  # whatever went wrong, nothing is proven
        found = [(False, f"{type(error).__name__}: {error}")]
    for proven, why in found:
        print(f"{'proven' if proven is True else 'not proven'}: {why}")
    return 0 if all(proven is True for proven, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
