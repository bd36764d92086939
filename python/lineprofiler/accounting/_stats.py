"""Trees of phases in memory: what was recorded, as plain Python objects.

These are results.  Recording itself happens in the extension and never touches them.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lineprofiler.accounting._histogram import DurationHistogram


class CounterStats:
    """One counter of one phase.

    Attributes
    ----------
    total : int
        Sum of all amounts, of any size.
    adds : int
        How many times something was added.
    min, max : int
        Smallest and largest amount added.
    amounts, negative_amounts : DurationHistogram
        The amounts from 0 on, and the amounts below 0 without their sign.
    """

    __slots__ = ("adds", "amounts", "max", "min", "negative_amounts", "total")

    def __init__(
        self,
        total: int,
        adds: int,
        min: int,
        max: int,
        amounts: DurationHistogram | None = None,
        negative_amounts: DurationHistogram | None = None,
    ) -> None:
        self.total = total
        self.adds = adds
        self.min = min
        self.max = max
        self.amounts = amounts if amounts is not None else DurationHistogram()
        self.negative_amounts = negative_amounts if negative_amounts is not None else DurationHistogram()
        if adds > 0 and not self.amounts.count and not self.negative_amounts.count:
            # All amounts were equal, so the store kept no histogram.
            (self.amounts if min >= 0 else self.negative_amounts).record(abs(min), adds)

    def add(self, n: int) -> None:
        """Add the amount `n`."""
        self.min = n if not self.adds else min(self.min, n)
        self.max = n if not self.adds else max(self.max, n)
        self.total += n
        self.adds += 1
        (self.amounts if n >= 0 else self.negative_amounts).record(abs(n))

    def quantile(self, q: float) -> float | None:
        """The amount below which the share `q` (0 to 1) of the adds lies; None when nothing was added."""
        below, above = self.negative_amounts.count, self.amounts.count
        rank = q * (below + above)
        if rank < below:
            value = self.negative_amounts.quantile(1 - rank / below)
            value = None if value is None else -value
        else:
            value = self.amounts.quantile((rank - below) / above) if above else None
        return None if value is None else min(max(value, self.min), self.max)

    def copy(self) -> CounterStats:
        """An independent copy."""
        return CounterStats(
            self.total, self.adds, self.min, self.max, self.amounts.copy(), self.negative_amounts.copy()
        )

    def merge(self, other: CounterStats) -> None:
        """Add `other`, which stays as it is."""
        if other.adds:
            self.min = other.min if not self.adds else min(self.min, other.min)
            self.max = other.max if not self.adds else max(self.max, other.max)
        self.total += other.total
        self.adds += other.adds
        self.amounts.merge(other.amounts)
        self.negative_amounts.merge(other.negative_amounts)

    def difference(self, earlier: CounterStats | None) -> CounterStats | None:
        """What was added since `earlier`; None when nothing was.

        The smallest and largest amount are those of the interval, to the bounds of the histogram's buckets, which are
        exact below 16.
        """
        if earlier is None:
            return self.copy() if self.adds else None
        adds = self.adds - earlier.adds
        if adds <= 0:
            return None
        up = self.amounts.difference(earlier.amounts)
        down = self.negative_amounts.difference(earlier.negative_amounts)
        lows = [-h for h in (down.max_bound,) if h is not None] or [b for b in (up.min_bound,) if b is not None]
        highs = [b for b in (up.max_bound,) if b is not None] or [-h for h in (down.min_bound,) if h is not None]
        low = max(lows[0], self.min) if lows else self.min
        high = min(highs[0], self.max) if highs else self.max
        return CounterStats(self.total - earlier.total, adds, low, high, up, down)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CounterStats):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<CounterStats total={self.total} adds={self.adds} {self.min}..{self.max}>"


class PhaseStats:
    """What one path of phases came to.  All times are whole nanoseconds.

    ``wall_ns`` is the time between entering and leaving, summed over entries, entries that are still open included with
    their time so far.  ``suspended_ns`` is the part of it during which the frame that holds the phase (a coroutine, a
    generator) was suspended.  From these:

    * active = wall - suspended
    * self = active - what phases on top of this one took (``child_wall_ns``), at least 0
    * wait = active - CPU over finished entries, at least 0; None when CPU time was not measured

    Where entries were left out by ``sample=``, the numbers are estimates, scaled up, and ``sample_stride`` is not 0.

    Parameters
    ----------
    calls
        Finished entries.
    wall_ns, cpu_ns, child_wall_ns
        See above; ``cpu_ns`` is None when it was not measured.
    hist
        Wall time of the finished entries.
    counters
        Total per counter.
    sample_stride
        One entry in how many was measured; 0 when all were.
    counter_min, counter_max
        Smallest and largest amount added per counter.
    async_entries
        Entries around device work that was only submitted.
    open, open_ns
        Entries that are open, and their time so far.
    suspended_ns
        See above.
    unmeasured
        Finished entries whose CPU and suspended time are unknown.
    min_ns, max_ns
        Shortest and longest finished entry; None when there is none.
    counter_stats
        The counters with all that is known of them; derived from the totals when left out.
    """

    __slots__ = (
        "async_entries",
        "calls",
        "child_wall_ns",
        "counter_stats",
        "cpu_ns",
        "hist",
        "max_ns",
        "min_ns",
        "open",
        "open_ns",
        "sample_stride",
        "suspended_ns",
        "unmeasured",
        "wall_ns",
    )

    def __init__(
        self,
        calls: int = 0,
        wall_ns: int = 0,
        cpu_ns: int | None = 0,
        child_wall_ns: int = 0,
        hist: DurationHistogram | None = None,
        counters: Mapping[str, int] | None = None,
        sample_stride: int = 0,
        counter_min: Mapping[str, int] | None = None,
        counter_max: Mapping[str, int] | None = None,
        async_entries: int = 0,
        *,
        open: int = 0,
        open_ns: int = 0,
        suspended_ns: int = 0,
        unmeasured: int = 0,
        min_ns: int | None = None,
        max_ns: int | None = None,
        counter_stats: Mapping[str, CounterStats] | None = None,
    ) -> None:
        self.calls = calls
        self.wall_ns = wall_ns
        self.cpu_ns = cpu_ns
        self.child_wall_ns = child_wall_ns
        self.hist = hist if hist is not None else DurationHistogram()
        self.sample_stride = sample_stride
        self.async_entries = async_entries
        self.open = open
        self.open_ns = open_ns
        self.suspended_ns = suspended_ns
        self.unmeasured = unmeasured
        self.min_ns = min_ns
        self.max_ns = max_ns
        self.counter_stats: dict[str, CounterStats] = dict(counter_stats or {})
        for name, total in (counters or {}).items():
            low = (counter_min or {}).get(name, total)
            high = (counter_max or {}).get(name, total)
            self.counter_stats.setdefault(name, CounterStats(total, 1, low, high))

    @property
    def counters(self) -> dict[str, int]:
        """Total per counter."""
        return {name: counter.total for name, counter in self.counter_stats.items()}

    @property
    def counter_min(self) -> dict[str, int]:
        """Smallest amount added, per counter."""
        return {name: counter.min for name, counter in self.counter_stats.items()}

    @property
    def counter_max(self) -> dict[str, int]:
        """Largest amount added, per counter."""
        return {name: counter.max for name, counter in self.counter_stats.items()}

    @property
    def active_ns(self) -> int:
        """Wall time less suspended time."""
        return max(0, self.wall_ns - self.suspended_ns)

    @property
    def self_ns(self) -> int:
        """Active time that no phase below took."""
        return max(0, self.active_ns - self.child_wall_ns)

    @property
    def wait_ns(self) -> int | None:
        """Active time of finished entries that was not spent on a CPU; None when not measured."""
        if self.cpu_ns is None:
            return None
        return max(0, self.active_ns - self.open_ns - max(0, self.cpu_ns))

    def quantile(self, q: float) -> float | None:
        """Wall time in ns below which the share `q` (0 to 1) of the finished entries lies; None without any."""
        value = self.hist.quantile(q)
        if value is None:
            return None
        if self.min_ns is not None and self.max_ns is not None:
            value = min(max(value, self.min_ns), self.max_ns)
        return value

    def record(self, wall_ns: int, cpu_ns: int | None = None, child_wall_ns: int = 0) -> None:
        """Add one finished entry; ``cpu_ns=None`` makes the CPU time of the whole phase unmeasured."""
        self.calls += 1
        self.wall_ns += wall_ns
        self.cpu_ns = None if cpu_ns is None or self.cpu_ns is None else self.cpu_ns + cpu_ns
        self.child_wall_ns += child_wall_ns
        self.hist.record(wall_ns)
        self.min_ns = wall_ns if self.min_ns is None else min(self.min_ns, wall_ns)
        self.max_ns = wall_ns if self.max_ns is None else max(self.max_ns, wall_ns)

    def add_count(self, name: str, n: int = 1) -> None:
        """Add `n` to the counter `name`."""
        counter = self.counter_stats.get(name)
        if counter is None:
            self.counter_stats[name] = CounterStats(n, 1, n, n)
        else:
            counter.add(n)

    def copy(self) -> PhaseStats:
        """An independent copy."""
        twin = PhaseStats.__new__(type(self))
        for name in PhaseStats.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.hist = self.hist.copy()
        twin.counter_stats = {name: counter.copy() for name, counter in self.counter_stats.items()}
        return twin

    def merge(self, other: PhaseStats) -> None:
        """Add `other`, which stays as it is."""
        was_empty = not self.calls and not self.open and not self.wall_ns
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if was_empty:
            self.cpu_ns = other.cpu_ns
        elif other.calls or other.open:
            self.cpu_ns = None if self.cpu_ns is None or other.cpu_ns is None else self.cpu_ns + other.cpu_ns
        self.sample_stride = max(self.sample_stride, other.sample_stride)
        if other.min_ns is not None:
            self.min_ns = other.min_ns if self.min_ns is None else min(self.min_ns, other.min_ns)
        if other.max_ns is not None:
            self.max_ns = other.max_ns if self.max_ns is None else max(self.max_ns, other.max_ns)
        self.hist.merge(other.hist)
        for key, counter in other.counter_stats.items():
            mine = self.counter_stats.get(key)
            if mine is None:
                self.counter_stats[key] = counter.copy()
            else:
                mine.merge(counter)

    def difference(self, earlier: PhaseStats | None) -> PhaseDelta:
        """What happened since `earlier`, an older copy of this phase; None stands for the beginning."""
        before = earlier if earlier is not None else PhaseStats()
        cpu = None if self.cpu_ns is None or before.cpu_ns is None else self.cpu_ns - before.cpu_ns
        delta = PhaseDelta(cpu_ns=cpu, sample_stride=self.sample_stride)
        for name in _ADDED:
            setattr(delta, name, max(0, getattr(self, name) - getattr(before, name)))
        delta.open = self.open
        delta.open_ns = min(self.open_ns, delta.wall_ns)
        delta.hist = self.hist.difference(before.hist)
        low, high = delta.hist.min_bound, delta.hist.max_bound
        if low is not None and high is not None:
            delta.min_ns = low if self.min_ns is None else max(low, self.min_ns)
            delta.max_ns = high if self.max_ns is None else min(high, self.max_ns)
        for key, counter in self.counter_stats.items():
            change = counter.difference(before.counter_stats.get(key))
            if change is not None:
                delta.counter_stats[key] = change
        return delta

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        data: dict[str, Any] = {
            name: getattr(self, name) for name in PhaseStats.__slots__ if name not in ("hist", "counter_stats")
        }
        data["hist"] = self.hist.to_dict()
        data["counters"] = self.counters
        data["counter_min"] = self.counter_min
        data["counter_max"] = self.counter_max
        data["counter_adds"] = {name: counter.adds for name, counter in self.counter_stats.items()}
        data["counter_amounts"] = {
            name: [counter.amounts.to_dict(), counter.negative_amounts.to_dict()]
            for name, counter in self.counter_stats.items()
        }
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PhaseStats:
        """The opposite of ``to_dict``; keys that are missing count as 0 or empty."""
        stats = cls(
            hist=DurationHistogram.from_dict(data.get("hist", {})),
            counters=data.get("counters", {}),
            counter_min=data.get("counter_min", {}),
            counter_max=data.get("counter_max", {}),
        )
        for name in PhaseStats.__slots__:
            if name in data and name not in ("hist", "counter_stats"):
                setattr(stats, name, data[name])
        for name, adds in data.get("counter_adds", {}).items():
            up, down = data.get("counter_amounts", {}).get(name, ({}, {}))
            known = stats.counter_stats[name]
            stats.counter_stats[name] = CounterStats(
                known.total,
                adds,
                known.min,
                known.max,
                DurationHistogram.from_dict(up),
                DurationHistogram.from_dict(down),
            )
        return stats

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PhaseStats):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in PhaseStats.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        extra = f" open={self.open}" if self.open else ""
        return (
            f"<{type(self).__name__} calls={self.calls} wall_ns={self.wall_ns} self_ns={self.self_ns}"
            f" cpu_ns={self.cpu_ns}{extra} counters={self.counters}>"
        )


# What adds up when two phases are joined.
_ADDED = ("calls", "wall_ns", "child_wall_ns", "async_entries", "open", "open_ns", "suspended_ns", "unmeasured")


class PhaseDelta(PhaseStats):
    """What happened in a phase during an interval: every figure is of the interval.

    ``min_ns`` and ``max_ns``, and those of counters, are the bounds of the histogram's buckets that the interval
    touched: at most 1/16 off, and exact below 16.  ``open`` is how many entries are open at the end of the interval.
    """

    __slots__ = ()


class PhaseTree(dict[tuple[str, ...], PhaseStats]):
    """Phases by their path, a tuple of names as the program gave them.

    The key ``()`` is there when something was counted outside any phase.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"PhaseTree({super().__repr__()})"


def merge_trees(
    *trees: Mapping[tuple[str, ...], PhaseStats] | Iterable[Mapping[tuple[str, ...], PhaseStats]],
) -> PhaseTree:
    """One tree that holds the sum of all.

    Parameters
    ----------
    trees
        Trees, or one iterable of trees.  They stay as they are, and nothing in the result belongs to them.
    """
    merged = PhaseTree()
    for tree in trees:
        for each in [tree] if isinstance(tree, Mapping) else tree:
            for path, stats in each.items():
                mine = merged.get(path)
                if mine is None:
                    merged[path] = stats.copy()
                else:
                    mine.merge(stats)
    return merged


def tree_difference(now: PhaseTree, earlier: PhaseTree) -> PhaseTree:
    """What happened between two copies of one tree; phases in which nothing did are left out."""
    result = PhaseTree()
    for path, stats in now.items():
        delta = stats.difference(earlier.get(path))
        if delta.calls or delta.open or delta.counter_stats:
            result[path] = delta
    return result
