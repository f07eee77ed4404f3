"""A master with several workers, under load, answers each request with what the files said at that time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import long
from tests.salt.load import clients
from tests.salt.load.history import History
from tests.salt.load.inventory import Inventory, Wrong
from tests.salt.load.run import GROWTH, dump_stacks, load, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from tests.salt.conftest import MakeSite


# A busy machine takes minutes.
@long
@pytest.mark.timeout(1800)
def test_answers_under_load(make_site: MakeSite) -> None:
    site = make_site()
    prepare(site)
    figures = load(site, 120, step=30)
    # After so few requests there is still something to load for the first time.
    problems = list(figures.problems(site, growth=2 * GROWTH))
    assert not problems, "\n".join([*problems[:5], site.log("master")[-20000:] if figures.failures else ""])
    asked = {kind for kind, _ in figures.answers}
    assert asked == {"pillar", "top", "runner", "reactor"}
    assert figures.answers.total() >= 120
    assert all(figures.answers[kind, "right"] for kind in asked), figures.answers
    assert len(figures.changes) == 9, "each kind of change was made"
    # If an answer is missing, the log shows the stack of each thread of the master.
    dump_stacks(site)
    assert "(most recent call first)" in site.log("master")


class Bus:
    """A bus of events on which a reactor begins and ends jobs for some nodes."""

    def __init__(self, rounds: list[dict[str, tuple[str, ...]]]) -> None:
        # What follows an event for a node, the first time and later.
        self.rounds = rounds
        self.fired: list[str] = []
        self.events: list[dict[str, Any]] = []

    def fire_event(self, data: dict[str, str], tag: str) -> None:
        node = data["node"]
        round_ = self.rounds[self.fired.count(node)]
        self.fired.append(node)
        for word in round_[node]:
            job = {"user": "Reactor", "fun_args": [{"minion": node}]}
            asked = {"tag": tag, "data": data}
            self.events.append(asked if word == "asked" else {"tag": f"salt/run/1/{word}", "data": job})

    def get_event(self, wait: int, full: bool) -> dict[str, Any] | None:
        return self.events.pop(0) if self.events else None


ANSWERED = ("asked", "new", "ret")


@pytest.mark.parametrize(
    ("rounds", "fired", "failure"),
    [
        ([{"n1": ANSWERED, "n2": ANSWERED}], 2, None),
        # Salt lost it: once more, for this one alone.
        ([{"n1": ANSWERED, "n2": ("asked",)}, {"n2": ANSWERED}], 3, None),
        # It hangs.
        ([{"n1": ANSWERED, "n2": ("asked", "new")}], 2, "no answer; on the bus: asked, begun"),
        ([{"n1": ("asked",), "n2": ("asked", "new")}], 2, "no answer; on the bus: asked"),
        # It did not even come to the bus.
        ([{"n1": ANSWERED, "n2": ()}], 2, "no answer; on the bus: nothing"),
        ([{"n1": ANSWERED, "n2": ("asked",)}, *[{"n2": ("asked",)}] * 2], 4, "no answer; on the bus: asked"),
    ],
)
def test_an_event_is_fired_again_if_salt_lost_it_and_never_hides_a_job_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
    rounds: list[dict[str, tuple[str, ...]]],
    fired: int,
    failure: str | None,
) -> None:
    monkeypatch.setattr(clients, "SECONDS", 0.05)
    bus = Bus(rounds)
    answers = list(clients.react(bus, {"n1", "n2"}))
    assert sorted(answer["node"] for answer in answers) == ["n1", "n2"]
    failures = [answer["failure"] for answer in answers if "failure" in answer]
    assert failures[:1] == ([failure] if failure else []) or failure in failures
    assert len(bus.fired) == fired


def test_an_error_is_right_only_while_files_deserved_it(tmp_path: Path) -> None:
    inventory = Inventory(tmp_path, 4, 1)
    start = time.monotonic()
    inventory.history.unrest((start + 1, start + 2))
    inventory.history.begin({"nodes/n3": None}, start + 5)
    during, after, gone = (start, start + 1.5), (start + 3, start + 4), (start + 5, start + 6)

    def judge(node: str, error: str, span: tuple[float, float]) -> set[str]:
        return inventory.judge_pillar(node, {"_errors": [error]}, span)

    missing = "reclass: node 'n1': no class 'feature.f0' in '/x' (class-not-found)"
    assert judge("n1", missing, during) == {"class-not-found"}
    assert judge("n3", "reclass: no node 'n3' in '/x' (node-not-found)", gone) == {"node-not-found"}
    top = {"base": ["reclass-failed--class-not-found--node-n1--see-the-log-of-the-master"]}
    assert inventory.judge_top("n1", top, during) == {"class-not-found"}
    for error, span in [
        (missing, after),
        ("reclass: no node 'n3' in '/x' (node-not-found)", after),
        ("reclass: node 'n1': something else (yaml-syntax)", during),
        ("reclass: internal error (Panic)", during),
        ("reclass: node 'n1': 'v000001' (class-not-found)", during),
    ]:
        with pytest.raises(Wrong):
            judge("n3" if "n3" in error else "n1", error, span)


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
def test_the_judge_distinguishes_right_from_wrong(
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
