"""The log-linear histogram of durations and amounts, with the buckets of the store."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

_SUB_BITS = 4
_SUB_COUNT = 1 << _SUB_BITS


def _bucket_of(value: int) -> int:
    if value < _SUB_COUNT:
        return max(value, 0)
    slot = value.bit_length() - _SUB_BITS
    return slot * _SUB_COUNT + ((value >> (slot - 1)) & (_SUB_COUNT - 1))


def _bucket_low(bucket: int) -> int:
    slot, sub = divmod(bucket, _SUB_COUNT)
    return (_SUB_COUNT + sub) << (slot - 1) if slot else sub


def _bucket_high(bucket: int) -> int:
    """The largest value of the bucket."""
    slot = bucket // _SUB_COUNT
    return _bucket_low(bucket) + ((1 << (slot - 1)) if slot else 1) - 1


def _cancel(change: dict[int, int], bucket: int) -> None:
    """Take what `bucket` has below 0 from the nearest buckets that have something."""
    debt = -change.pop(bucket)
    for near in sorted((b for b, n in change.items() if n > 0), key=lambda b: abs(b - bucket)):
        paid = min(debt, change[near])
        change[near] -= paid
        debt -= paid
        if not debt:
            return


class DurationHistogram:
    """How many durations (or amounts) fell where, log-linear.

    Values 0 to 15 have a bucket each; above, every octave has 16 buckets of equal width.  So a bucket is at most 1/16
    of its lowest value wide, which bounds the error of a quantile at 3.2 %.

    Parameters
    ----------
    counts
        How many values per bucket, by the bucket's number; copied.  Buckets are numbered as in ``docs/format.md``.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self._counts: dict[int, int] = {b: n for b, n in counts.items() if n > 0} if counts else {}

    @property
    def count(self) -> int:
        """Number of values recorded."""
        return sum(self._counts.values())

    def record(self, value: int, times: int = 1) -> None:
        """Add `value` (nanoseconds for durations, at least 0), `times` times."""
        bucket = _bucket_of(int(value))
        self._counts[bucket] = self._counts.get(bucket, 0) + times

    def quantile(self, q: float) -> float | None:
        """The value below which the share `q` (0 to 1) lies, linear inside its bucket; None when empty."""
        if not self._counts:
            return None
        rank = min(max(q, 0.0), 1.0) * self.count
        below = 0.0
        value = 0.0
        for bucket in sorted(self._counts):
            inside = self._counts[bucket]
            low, high = _bucket_low(bucket), _bucket_high(bucket)
            if rank <= below + inside:
                return low + (high - low) * ((rank - below) / inside)
            below += inside
            value = float(high)
        return value

    @property
    def min_bound(self) -> int | None:
        """Lowest value of the lowest bucket in use: no recorded value is below it.  None when empty."""
        return _bucket_low(min(self._counts)) if self._counts else None

    @property
    def max_bound(self) -> int | None:
        """Highest value of the highest bucket in use: no recorded value is above it.  None when empty."""
        return _bucket_high(max(self._counts)) if self._counts else None

    def merge(self, other: DurationHistogram) -> None:
        """Add the counts of `other`, which stays as it is."""
        for bucket, n in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + n

    def difference(self, earlier: DurationHistogram) -> DurationHistogram:
        """What came since `earlier`, an older copy of this one; counts do not go below 0.

        Both may have been converted from clock ticks with slightly different factors, so that an old value stands one
        bucket further on.  Such a pair of one too few and one too many cancels out.
        """
        change = {b: n - earlier._counts.get(b, 0) for b, n in self._counts.items()}
        for bucket, n in earlier._counts.items():
            if bucket not in change:
                change[bucket] = -n
        for bucket in [b for b, n in change.items() if n < 0]:
            _cancel(change, bucket)
        return DurationHistogram(change)

    def copy(self) -> DurationHistogram:
        """An independent copy."""
        return DurationHistogram(self._counts)

    def buckets(self) -> Iterator[tuple[int, int, int]]:
        """``(lowest value, highest value, count)`` of each bucket in use, in order."""
        for bucket in sorted(self._counts):
            yield _bucket_low(bucket), _bucket_high(bucket), self._counts[bucket]

    def to_dict(self) -> dict[str, int]:
        """Count by bucket number, as JSON can hold it."""
        return {str(bucket): n for bucket, n in sorted(self._counts.items())}

    @classmethod
    def from_dict(cls, data: Mapping[str, int]) -> DurationHistogram:
        """The opposite of ``to_dict``."""
        return cls({int(bucket): int(n) for bucket, n in data.items()})

    @classmethod
    def from_buckets(cls, rows: Iterable[Iterable[int]]) -> DurationHistogram:
        """From ``[lowest value, width, count]`` rows, the form in which the core prints them."""
        counts: dict[int, int] = {}
        for low, _width, n in rows:
            bucket = _bucket_of(int(low))
            counts[bucket] = counts.get(bucket, 0) + int(n)
        return cls(counts)

    def scaled(self, factor: float) -> DurationHistogram:
        """Each count times `factor`, rounded: for phases of which only a sample was measured."""
        return DurationHistogram({b: round(n * factor) for b, n in self._counts.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DurationHistogram):
            return NotImplemented
        return self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<DurationHistogram of {self.count}, {self.min_bound}..{self.max_bound}>"

    def __getstate__(self) -> dict[int, int]:
        return self._counts

    def __setstate__(self, state: dict[int, int]) -> None:
        self._counts = state
