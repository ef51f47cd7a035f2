"""Prove D(ε) ≤ δ of a blanket of n users in ball arithmetic; needs python-flint alone.

    python verify/verify.py CLAIM.json

A claim is {"mechanism": name or rows of probabilities, its parameters, "n": …, "eps": …,
"delta": …}. Exit code 0: proven, 1: not proven. For any θ, η, h > 0 and M (docs/engine.md,
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
PARAMETERS = {
    "krr": {"k", "eps0"},
    "duchi": {"eps0"},
    "blh": {"eps0", "domain_size"},
    "oue": {"eps0", "domain_size"},
    "rappor": {"eps0", "domain_size"},
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
    """The claim, its numbers exact fractions."""
    claim = json.loads(
        text,
        parse_float=number,
        parse_int=number,
        parse_constant=not_finite,
        object_pairs_hook=unique,
    )
    if not isinstance(claim, dict) or "mechanism" not in claim:
        raise ValueError("a claim is an object that names its mechanism")
    name = claim["mechanism"]
    if isinstance(name, str) and name not in PARAMETERS:
        raise ValueError(f"the mechanism {name} is not known")
    own = PARAMETERS[name] if isinstance(name, str) else set()
    if claim.keys() != {"mechanism", "n", "eps", "delta"} | own:
        raise ValueError(f"the keys are not mechanism, n, eps, delta and {sorted(own)}")
    for key in claim.keys() - {"mechanism"}:
        if not isinstance(claim[key], Fraction) and not (key == "domain_size" and not claim[key]):
            raise ValueError(f"{key} is no number")
    if isinstance(claim.get("domain_size"), bool | str | list | dict):
        raise ValueError("domain_size is no number")
    whole(claim, "n", 1, 10**15)
    if not (0 <= claim["eps"] <= 100 and 0 < claim["delta"] < 1):
        raise ValueError("eps or delta is out of range")
    if "eps0" in own and not 0 < claim["eps0"] <= 100:
        raise ValueError("eps0 is out of range")
    return claim


def whole(claim, key, least, most):
    if claim[key].denominator != 1 or not least <= claim[key] <= most:
        raise ValueError(f"{key} is not a whole number from {least} to {most}")
    return int(claim[key])


def blankets(claim):
    """Components (a, b, c) as balls, of every pair of inputs that may be the worst."""
    name = claim["mechanism"]
    if isinstance(name, list):
        return of_matrix(name)
    e = ball(claim["eps0"]).exp()
    if name in ("krr", "duchi"):
        k = whole(claim, "k", 2, 2**53) if name == "krr" else 2
        p = 1 / (e + k - 1)
        rest = (k - 2) * p
        return [[(e * p, p, p), (p, e * p, p)] + [(rest, rest, rest)] * (k > 2)]
    odds = {"blh": arb(1), "oue": e, "rappor": (ball(claim["eps0"]) / 2).exp()}[name]
    size = claim["domain_size"]
    # That the bits of all other values are 1, where no input need be unlikely; 0 in the limit.
    ones = arb(0) if size is None else (1 + odds) ** -(whole(claim, "domain_size", 2, 10**6) - 2)
    found = []
    for one, two in itertools.product((True, False), repeat=2):
        share = arb(1)
        for bit in (one, two):
            share *= 1 / (1 + odds) if bit else odds / (1 + odds)
        zero = share * (1 + odds) / (odds + e)  # law of a report, given an input whose bit is 0
        a, b = (zero * e if bit else zero for bit in (one, two))
        least = zero * e if one and two else zero
        found.append((a * ones, b * ones, least * ones))
        if size is None or size > 2:
            found.append((a * (1 - ones), b * (1 - ones), zero * (1 - ones)))
    return [[part for part in found if not part[0].is_zero()]]


def of_matrix(rows):
    """Rows are inputs; they have to sum to 1 exactly."""
    if not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows) or len(rows) < 2:
        raise ValueError("the matrix is no table of two rows or more")
    if not all(isinstance(x, Fraction) and x >= 0 for row in rows for x in row):
        raise ValueError("the matrix holds what is no probability")
    if any(sum(row) != 1 for row in rows):
        raise ValueError("a row of the matrix does not sum to 1 exactly")
    least = [min(column) for column in zip(*rows, strict=True)]
    return [
        [tuple(map(ball, y)) for y in zip(one, two, least, strict=True) if y[0] or y[1]]
        for one, two in itertools.combinations(rows, 2)
    ]


def divergence(parts, n, eps, precision):
    """A ball whose upper end is no less than D(ε)."""
    e = ball(eps).exp()
    excess = arb(0)
    for a, b, c in parts:
        if c.is_zero():
            excess += (a - e * b).max(arb(0))
    law = [((a - e * b) / c, c) for a, b, c in parts if not c.is_zero()]
    # What is exactly 0 may join the rest; what may be anything else may not.
    law = [(g, c) for g, c in law if not g.is_zero()]
    rest = 1 - sum((c for _, c in law), arb(0))
    if not law:
        return excess
    theta, spread = tilt([(float(g.mid()), float(c.mid())) for g, c in law], float(rest.mid()), n)
    eta, h = precision / theta, 2 * math.pi / (12 * spread + 30 / theta)
    modes = math.ceil(9 / eta / h)
    if modes > MOST_MODES:
        raise ValueError(f"{modes} modes are too many")
    theta, eta, h = arb(theta), arb(eta), arb(h)

    def generating(z):
        return rest + sum((c * (z * g).exp() for g, c in law), acb(0))

    def term(m):
        z = acb(theta, m * h)
        return (generating(z) ** n * (eta**2 * z**2 / 2).exp() / z**2).real

    total = term(0) + 2 * sum((term(m) for m in range(1, modes + 1)), arb(0))
    last = modes * h
    tail = generating(acb(theta)).real ** n * (eta**2 * (theta**2 - last**2) / 2).exp()
    tail /= arb.pi() * eta**2 * last**3
    return excess + (h / (2 * arb.pi()) * total + tail) / n


def tilt(law, rest, n):
    """θ near the least of n log M_G(θ) − 2 log θ, and the deviation of S there: only a choice."""
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
    return theta, math.sqrt(max(0.0, n * moments(theta)[2]))


def verdict(claim):
    """Whether D ≤ δ of all pairs of inputs, in both directions; never true by default."""
    ctx.prec = 192
    n, eps, delta = int(claim["n"]), claim["eps"], ball(claim["delta"])
    pairs = blankets(claim)
    sides = [side for one in pairs for side in (one, [(b, a, c) for a, b, c in one])]
    if not sides or not all(sides):
        return False, "there is nothing to sum"
    for side in sides:
        for precision in (0.02, 0.005):
            found = divergence(side, n, eps, precision)
            if found <= delta:
                break
        else:
            return False, f"D is in {found.str(12)} by this bound"
    return True, "D(ε) ≤ δ of every blanket, in both directions"


def main():
    """Print the verdict on a claim file."""
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            proven, why = verdict(read(file.read()))
    except Exception as error:  # whatever went wrong, nothing is proven
        proven, why = False, f"{type(error).__name__}: {error}"
    print(f"{'proven' if proven is True else 'not proven'}: {why}")
    return 0 if proven is True else 1


if __name__ == "__main__":
    sys.exit(main())
