"""The history of an inventory turns an answer and the time it took into a verdict.

Each file carries a version. A change of a file has a beginning and an end, and in between nobody can say
which version a reader meets. So a version may be met from the beginning of the change that brought it to the
end of the change that replaced it. An answer is right if there is one moment, between the request and the
answer, at which all the versions in it could be met together: a stale answer has no such moment, nor has
a mixture of two states of the inventory.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Span = tuple[float, float]
"""Two moments of the monotonic clock, in seconds, which all processes of a machine share."""

FOREVER = float("inf")


class History:
    """Which version of which file could be met when; `None` is the version of a file that is not there."""

    def __init__(self) -> None:
        self._spans: dict[str, dict[str | None, list[Span]]] = defaultdict(lambda: defaultdict(list))
        self._now: dict[str, str | None] = {}
        self._unrest: list[Span] = []
        # Those that ask and those that change are different threads.
        self._lock = threading.Lock()

    def begin(self, versions: Mapping[str, str | None], at: float) -> None:
        """A change to these versions begins: they may be met from now on."""
        with self._lock:
            for file, version in versions.items():
                if file not in self._now or self._now[file] != version:
                    self._spans[file][version].append((at, FOREVER))

    def end(self, versions: Mapping[str, str | None], at: float) -> None:
        """The change is done: the versions before it may be met no longer."""
        with self._lock:
            for file, version in versions.items():
                before = self._now.get(file)
                if file in self._now and before != version:
                    start, _ = self._spans[file][before].pop()
                    self._spans[file][before].append((start, at))
                self._now[file] = version

    def unrest(self, span: Span) -> None:
        """In this time files were missing or half written."""
        with self._lock:
            self._unrest.append(span)

    def now(self, file: str) -> str | None:
        """The version of a file."""
        return self._now.get(file)

    def could_be_met(self, versions: Mapping[str, str | None], span: Span) -> bool:
        """Whether there is a moment of the span at which all these versions could be met."""
        with self._lock:
            moments = [span]
            for file, version in versions.items():
                moments = list(_both(moments, self._spans[file][version]))
            return bool(moments)

    def was_unrest(self, span: Span) -> bool:
        """Whether files were missing or half written at a moment of the span."""
        with self._lock:
            return any(_both([span], self._unrest))


def _both(some: Iterable[Span], others: Iterable[Span]) -> Iterable[Span]:
    """The times that are in both."""
    others = list(others)
    for one in some:
        for other in others:
            start, end = max(one[0], other[0]), min(one[1], other[1])
            if start <= end:
                yield start, end
