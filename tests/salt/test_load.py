"""A master with several workers, under load, answers each request with what the files said at that time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.salt.load.history import History
from tests.salt.load.run import WORKERS, load, prepare

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite


def test_answers_under_load(make_site: MakeSite) -> None:
    site = make_site()
    prepare(site)
    figures = load(site, 120, step=60)
    assert not figures.wrong, figures.wrong[0]
    assert not figures.failures, figures.failures[0] + site.log("master")[-3000:]
    # What was asked again is what Salt says that it did not look at.
    assert figures.turned_away <= figures.tokens
    asked = {kind for kind, _ in figures.answers}
    assert asked == {"pillar", "top", "runner", "reactor"}
    assert figures.answers.total() >= 120
    assert all(figures.answers[kind, "right"] for kind in asked), figures.answers
    assert len(figures.changes) == 9, "each kind of change was made"
    # The workers and the reactor; none of them has ended, and what they have open is what it was.
    lasting = figures.first.keys() & figures.last.keys()
    assert len(lasting) >= WORKERS, figures
    for process in lasting:
        first, last = figures.first[process].descriptors, figures.last[process].descriptors
        assert last["anon_inode:inotify"] <= 1
        assert last.total() <= first.total() + 3, (first, last)
        assert not [name for name in last if str(site.inventory) in name]


@pytest.mark.parametrize(
    ("versions", "span", "right"),
    [
        ({"a": "1", "b": "1"}, (0, 1), True),
        ({"a": "2", "b": "1"}, (2, 2.5), True),
        # While the change was under way, both could be met.
        ({"a": "1", "b": "1"}, (2, 2.5), True),
        ({"a": "1", "b": "1"}, (1, 9), True),
        # Stale: it was replaced before the request.
        ({"a": "1", "b": "1"}, (3.5, 9), False),
        # From the future.
        ({"a": "2", "b": "1"}, (0, 1.5), False),
        # A mixture: each of them was there in this time, but not at once.
        ({"a": "1", "b": "2"}, (0, 6.9), False),
        ({"a": "1", "b": "2"}, (0, 9), True),
        ({"a": "2", "b": "2"}, (0, 9), True),
        # It went, and came back.
        ({"a": None}, (6.5, 9), True),
        ({"a": None}, (0, 5), False),
        ({"a": "1"}, (4, 9), True),
        ({"a": "1"}, (4, 6), False),
    ],
)
def test_the_judge_tells_right_from_wrong(
    versions: dict[str, str | None], span: tuple[float, float], right: bool
) -> None:
    history = History()
    for begin, end, change in [
        (0.0, 0.0, {"a": "1", "b": "1"}),
        (2.0, 3.0, {"a": "2"}),
        (4.0, 4.5, {"b": "2"}),
        (6.2, 6.4, {"a": None}),
        (7.0, 7.5, {"a": "1"}),
    ]:
        history.begin(change, begin)
        history.end(change, end)
    assert history.could_be_met(versions, span) is right
