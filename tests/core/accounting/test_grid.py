"""Grids that several threads extend at once: every point where it belongs."""

import sys
from threading import Barrier, Thread

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.accounting.problem import Problem
from shufflebounds.accounting.round_laws import CrowdGrid, Grid, Points
from shufflebounds.core.datasets import both_directions

THREADS = 8


@pytest.fixture
def impatient():
    """Threads that are interrupted at every opportunity."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    yield
    sys.setswitchinterval(before)


def at_once(work):
    barrier = Barrier(THREADS)

    def wait_and_work():
        barrier.wait()
        work()

    threads = [Thread(target=wait_and_work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("impatient")
def test_no_thread_shifts_the_points_of_another():
    """At a point beyond its own, a lower end would not be one."""
    blanket = sb.KRR(10, 1.0).blanket()
    for n in range(1000, 1010):
        shared, alone = (Grid(Problem.of(blanket, n), Points(0.01, 1e-3)) for _ in range(2))
        at_once(lambda nodes=shared: nodes.reach(1e-9))
        size = alone.reach(1e-9)
        assert list(shared.nodes.values()) == list(alone.nodes.values())
        assert [len(nodes) for nodes in shared.nodes.values()] == [size]


@pytest.mark.usefixtures("impatient")
def test_nor_those_that_hold_for_all_datasets():
    mechanism = sb.BLH(2.0)
    crowds = tuple(both_directions(mechanism.crowds()))

    def fresh():
        points = Points(0.2, 1e-3)
        blanket = Grid(Problem.of(mechanism.blanket(), 100), points)
        return CrowdGrid((blanket,), crowds, 100, points)

    shared, alone = fresh(), fresh()
    at_once(lambda: shared.upper(1e-6))
    assert np.array_equal(shared.upper(1e-6), alone.upper(1e-6))
    assert shared.bounds == alone.bounds
