"""What one does with a mechanism's reports: draw them, count their bits, estimate, and its error.

Privacy bounds need none of this. A mechanism overrides the methods with an underscore.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.products import FloatArray
from shufflebounds.core.validation import MAX_ENTRIES, Count
from shufflebounds.estimation import accuracy, sampling
from shufflebounds.estimation.accuracy import Error, Spread, Supports
from shufflebounds.estimation.sampling import checked_values


class Reporter:
    """A mechanism as users and analysts run it.

    By default, it reports a column of its ``matrix()`` of probabilities, and the estimate is the
    best linear one.
    """

    @property
    def label(self) -> str:
        """The mechanism's name in messages."""
        return type(self).__name__

    @property
    def bits(self) -> float:
        """The number of bits of a report; inf for the limit of many values."""
        return math.log2(self._channel_matrix().shape[1])

    def error(self, n: Count, frequencies: ArrayLike | None = None) -> Error:
        """Return the error of the unbiased estimator `estimate`.

        Parameters
        ----------
        n
            Number of users who report, 1 to 10¹⁵.
        frequencies
            Share of the users who hold each value; None leaves it open. For a mechanism that is
            given by its matrix, the estimator is the best linear one for these shares, or for equal
            shares.

        Returns
        -------
        Error
            The error of the shares of all values or, for numbers, of their mean.

        Raises
        ------
        ValueError
            For an argument out of its range, and for a mechanism without an unbiased estimator.

        Notes
        -----
        Proofs: docs/proofs/errors.md.

        Examples
        --------
        >>> f"{sb.OUE(1.0, domain_size=16).error(n=10_000).mse:.4f}"
        '0.0060'
        """
        return self._variances(frequencies).error(validation.users(n), frequencies)

    def errors(self, n: Count) -> tuple[Error, ...]:
        """Return the error of every estimate: one, unless the mechanism has several parts.

        Parameters
        ----------
        n
            Number of users, 1 to 10¹⁵.

        Returns
        -------
        tuple of Error
            See `error`, which raises what this raises.
        """
        return (self.error(n),)

    def users_for_error(self, error: float) -> int:
        """Return the fewest users for a standard error, whatever their inputs are.

        Parameters
        ----------
        error
            The largest `Error.standard_error`: that of the share of users who hold a value, such as
            0.01 for one percent of the users, or of the mean of numbers, in their unit.

        Returns
        -------
        int
            The number of users who report; for several parts, that for the worst of them.

        Raises
        ------
        ValueError
            For an error that is not a finite number above 0 or that 10¹⁵ users do not reach, and
            for a mechanism without an unbiased estimator.

        Notes
        -----
        Proofs: docs/proofs/errors.md.

        Examples
        --------
        >>> sb.KRR(k=10, eps0=1.0).users_for_error(0.01)
        40959
        """
        target = validation.ERROR.check(error)

        def is_met(n: int) -> bool:
            return max(x.standard_error for x in self.errors(n)) <= target

        too_few, enough = 0, validation.MAX_USERS
        if not is_met(enough):
            raise ValueError(f"error must be larger: 10^15 users do not reach {error!r}")
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            too_few, enough = (too_few, middle) if is_met(middle) else (middle, enough)
        return enough

    def sample(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Draw the reports of users for a simulation.

        Parameters
        ----------
        inputs
            The input of each user: an integer from 0, a row with the items of a set, or a number.
        rng
            A generator such as ``np.random.default_rng(1)``. It is not cryptographically secure, so
            the reports of real users need another source.

        Returns
        -------
        ndarray
            One report for each user, in the order of `inputs`, in the mechanism's own form.

        Raises
        ------
        ValueError
            For inputs that the mechanism does not have, and for a mechanism that has no sampler.

        Examples
        --------
        >>> R, rng = sb.KRR(k=4, eps0=3.0), np.random.default_rng(1)
        >>> reports = R.sample(rng.integers(4, size=100_000), rng)
        >>> bool(np.abs(R.estimate(reports) - 0.25).max() < 0.01)
        True
        """
        sampling.require_generator(rng)
        return self._draw_reports(inputs, rng)

    def estimate(self, reports: ArrayLike) -> FloatArray:
        """Estimate shares of users, or the mean of their numbers, from all reports.

        Parameters
        ----------
        reports
            Reports of `sample`, in any order.

        Returns
        -------
        ndarray
            The share of the users who hold each value, or only the mean. It is unbiased, so that a
            share may be below 0. `error` returns its error.

        Raises
        ------
        ValueError
            For reports that the mechanism does not send, and for one without an estimator.

        Examples
        --------
        >>> sb.KRR(k=2, eps0=np.log(3.0)).estimate([0, 0, 0, 1]).tolist()
        [1.0, 0.0]
        """
        supports = self._supports()
        if supports is None:
            return self._estimate(np.asarray(reports))
        if supports.values > MAX_ENTRIES:
            raise ValueError(
                f"{self.label} must have at most {MAX_ENTRIES} values to estimate, "
                f"got {supports.values:g}"
            )
        report_array = np.asarray(reports)
        return supports.shares(self._supporters(report_array), len(report_array))

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return the reports of `sample`. By default they are numbers of columns of the matrix."""
        matrix = self._channel_matrix()
        return sampling.outputs(matrix, checked_values("inputs", inputs, len(matrix)), rng)

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports that support each value, for one with `_supports`."""
        raise NotImplementedError

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the estimate of `estimate`. By default it is the best linear one, equal shares."""
        matrix = self._channel_matrix()
        columns = checked_values("reports", reports, matrix.shape[1])
        counts = np.bincount(columns, minlength=matrix.shape[1])
        best = accuracy.best_linear(matrix, accuracy.uniform(len(matrix)))
        return np.asarray(best @ counts / columns.size)

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Return the variances of an estimate from one report, by supports or by the matrix."""
        supports = self._supports()
        if supports is not None:
            return supports.spread
        return accuracy.of_matrix(self._channel_matrix(), frequencies)

    def _supports(self) -> Supports | None:
        """Return the supports of a mechanism whose reports only support values; else None."""
        return None

    def _channel_matrix(self) -> NDArray[np.float64]:
        """Return the probabilities R(x)(y); raise ValueError for a mechanism without a matrix."""
        if not hasattr(self, "matrix"):
            raise ValueError(
                f"{self.label} has no estimator that is known here: it has neither a matrix() of "
                "probabilities nor an error() of its own"
            )
        return np.asarray(self.matrix())


def refuse_frequencies(reporter: Reporter, frequencies: ArrayLike | None) -> None:
    """Raise ValueError if a mechanism of numbers gets frequencies."""
    if frequencies is not None:
        raise ValueError(
            f"frequencies must be left out of {reporter.label}, which estimates a mean of "
            f"numbers, got {frequencies!r}"
        )
