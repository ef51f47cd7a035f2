"""Protocols whose parameters follow from the ε that their authors claim, and separate cohorts."""

import math

import mpmath
import pytest

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import OverN, Setting
from shufflebounds.curves import curve, specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import messages
from shufflebounds.protocols.histograms import SeparateHistograms
from shufflebounds.subjects.base import InfeasibleError
from shufflebounds.subjects.reports import Reports


@pytest.mark.parametrize("target", [0.2, 0.7, 1.5, 6.0])
@pytest.mark.parametrize(("n", "blankets"), [(10**5, 1), (10**5, 3), (10**12, 1)])
def test_flips_are_the_smaller_root_and_claim_the_target(target, n, blankets):
    found = messages.designed_cheu_zhilyaev(target, n, 1e-7, blankets)
    with mpmath.workdps(40):
        need = mpmath.mpf(33) / 5 * mpmath.coth(mpmath.mpf(target) / 2) ** 2
        need *= mpmath.log(4 / mpmath.mpf(1e-7)) / (n * blankets)
        root = (1 - mpmath.sqrt(1 - 4 * need)) / 2
    assert found.flip == pytest.approx(float(root), rel=1e-12)
    assert found.original_epsilon(n, 1e-7) == pytest.approx(target, rel=1e-9)


def test_too_few_messages_have_no_flip():
    """At n = 10⁴, 10⁵ and δ = 0.01/n: below ε′ = 0.406 and 0.136."""
    for n, least in ((10**4, 0.406), (10**5, 0.136)):
        messages.designed_cheu_zhilyaev(least * 1.01, n, 0.01 / n)
        with pytest.raises(InfeasibleError, match=r"^no flip gives epsilon = .* messages at delta"):
            messages.designed_cheu_zhilyaev(least * 0.99, n, 0.01 / n)


@pytest.mark.parametrize("delta", [1e-6, OverN(0.01)])
@pytest.mark.parametrize("target", [0.01, 0.5, 1.5])
def test_users_of_balls_into_bins_are_the_fewest(target, delta):
    n = messages.designed_balls_into_bins_users(target, delta, bins=64, special=2, blankets=2)
    protocol = messages.designed_balls_into_bins(target, delta, bins=64, special=2, blankets=2)

    def claimed(users):
        at = delta.at(users) if isinstance(delta, OverN) else delta
        return math.sqrt(32 * math.log(2 / at) * 32 / (2 * users)), at

    assert claimed(n)[0] <= target * (1 + 1e-12)
    assert claimed(n - 1)[0] > target
    assert protocol.original_epsilon(n, claimed(n)[1]) == pytest.approx(target, rel=1e-3)


def test_points_without_a_protocol_stay_empty():
    made = specification.read(
        '{"quantity": "epsilon", "bound": "blanket", "k_joint": 1, '
        '"mechanism": {"type": "cheu_zhilyaev_designed"}, "delta": {"over_n": 0.01}, "n": 10000, '
        '"x": {"target": [0.1, 0.5]}, "rtol": 0.001}'
    )
    made.check()
    computed = curve.compute(CurveName("a", "b", "c"), made)
    empty, found = computed.points
    assert empty.answer.shortfall.startswith("no flip gives epsilon = 0.1")
    assert not found.answer.shortfall
    assert 0.0 < found.answer.enclosure.upper < 0.5
    never = specification.read(made.text().replace("[0.1, 0.5]", "[0.1, 0.2]"))
    with pytest.raises(ValueError, match=r"^no flip gives"):
        never.check()


def test_separate_levels_have_their_share_of_the_users():
    protocol = SeparateHistograms(2.0, 64, 8)
    assert protocol.draws(1000) == 166
    for name, pair in (
        ("blanket", sb.KRR(8, 2.0).blanket()),
        ("lower", sb.KRR(8, 2.0).dataset_pair()),
    ):
        found = BOUNDS[name].answer(protocol, "epsilon", Setting(n=1000, delta=1e-6))
        assert found.enclosure == sb.epsilon(pair, n=166, delta=1e-6)
    with pytest.raises(ValueError, match=r"^n must leave a user for each level of 64, got 5$"):
        protocol.draws(5)
    for arguments, message in [
        ((2.0, 48, 2), "domain_size must be a power of 2, got 48"),
        ((2.0, 64, 3), "nodes must be a power of 2, got 3"),
        ((2.0, 64, 128), "nodes must be an integer from 2 to 64, got 128"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}$"):
            SeparateHistograms(*arguments)


def test_the_smaller_of_two_blanket_bounds():
    blanket = sb.KRR(10, 2.0)
    for suffix in ("", "_generic"):
        found = {
            name: BOUNDS[f"blanket_{name}{suffix}"].answers(
                Reports(blanket),
                "epsilon",
                [Setting(n=n, delta=1e-6) for n in (300, 3000, 10**6)],
            )
            for name in ("best", "hoeffding", "bennett")
        }
        for best, one, two in zip(*found.values(), strict=True):
            assert best.enclosure.upper == min(one.enclosure.upper, two.enclosure.upper)
            assert best.enclosure.lower == min(one.enclosure.lower, two.enclosure.lower)
