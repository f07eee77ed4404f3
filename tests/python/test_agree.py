"""Masters that serve different revisions notice it by the records in a folder that they share."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from saltext.reclass import _agree, _functions_fleet
from saltext.reclass._salt import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "a1b2c3d4 of main", "b2c3d4e5 of main"


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000.0
        monkeypatch.setattr(time, "time", lambda: self.now)


class Master:
    """A master whose engine looks when the test says so."""

    def __init__(self, name: str, folder: Path) -> None:
        self.masters = _agree.Masters({"id": name}, str(folder), 120)
        self.fired: list[list[str]] = []

    def serves(self, revision: str, source: str = "repo") -> None:
        served = [(source, revision, "2026-11-27T05:00:00+00:00")]
        self.masters.look(served, lambda data, tag: self.fired.append([tag, *data["problems"]]))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_masters_that_differ_for_too_long_are_a_problem_until_they_agree(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    logger = SimpleNamespace(warning=lambda form, text: lines.append(text), info=lines.append)
    monkeypatch.setattr(_agree, "log", logger)
    one, other = Master("m/1", tmp_path), Master("m2", tmp_path)
    one.serves(OLD)
    other.serves(OLD)
    report = _agree.report(tmp_path, 120)
    assert (report["problems"], report["differ"]) == ([], {})
    known = {"revision": OLD, "since": "2026-11-27T05:00:00+00:00"}
    assert report["inventories"] == {"repo": {"m/1": known, "m2": known}}
    # The other one stays behind, while the first one goes on.
    for number in range(4):
        clock.now += 40
        one.serves(f"{number}{NEW}")
        other.serves(OLD)
    assert _agree.report(tmp_path, 120)["differ"] == {"repo": 120}
    assert (one.fired, other.fired) == ([], [])
    clock.now += 1
    one.serves(NEW)
    other.serves(OLD)
    sentence = (
        f"the masters differ in 'repo' for longer than 120 seconds: 'm/1' serves {{}}, 'm2' serves {OLD}"
    )
    assert one.fired == [[_agree.TAG, sentence.format(NEW)]]
    assert lines == [sentence.format(NEW), sentence.format(NEW)]
    clock.now += 5
    one.serves(NEW)
    # Once is enough.
    assert len(one.fired) == 1
    other.serves(NEW)
    one.serves(NEW)
    assert one.fired[1:] == other.fired[1:] == [[_agree.TAG]]
    assert lines[2:] == ["all masters agree again"] * 2
    # The next difference counts from its own beginning.
    clock.now += 600
    one.serves(OLD)
    other.serves(NEW)
    assert _agree.report(tmp_path, 120)["differ"] == {"repo": 0}


def test_old_records_and_masters_without_an_inventory_are_problems(clock: Clock, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="all masters must share it"):
        _agree.report(tmp_path / "gone", 120)
    assert _agree.report(tmp_path, 120)["problems"] == [f"no master has written a record into '{tmp_path}'"]
    one, other = Master("m1", tmp_path), Master("m2", tmp_path)
    other.serves(OLD)
    clock.now += 121
    one.serves(NEW)
    # An old record says nothing about now.
    report = _agree.report(tmp_path, 120)
    assert report["problems"] == ["master 'm2' has written no record for longer than 120 seconds"]
    assert (report["ages"], report["differ"]) == ({"m1": 0, "m2": 121}, {})
    assert one.fired == [[_agree.TAG, *report["problems"]]]
    for _ in range(4):
        other.serves(OLD, "another")
        one.serves(NEW)
        clock.now += 60
    begin = "the masters differ in"
    assert _agree.report(tmp_path, 120)["problems"] == [
        f"{begin} 'another' for longer than 120 seconds: 'm1' serves nothing, 'm2' serves {OLD}",
        f"{begin} 'repo' for longer than 120 seconds: 'm1' serves {NEW}, 'm2' serves nothing",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"master": 1, "time": 0, "serves": {"x": {}}}', "\xff"])
def test_a_file_that_is_no_record_is_a_problem_and_no_failure(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))
    one = Master("m1", tmp_path)
    one.serves(OLD)
    [problem] = _agree.report(tmp_path, 120)["problems"]
    assert problem.startswith(f"'{tmp_path}/x.json' is no record of a master (")
    assert one.fired == [[_agree.TAG, problem]]


@pytest.mark.parametrize(
    ("engines", "found"),
    [
        ([{"reclass": {"agree_dir": "/x", "agree_after": 5}}], ("/x", 5)),
        ({"watch": {"engine_module": "reclass", "agree_dir": "/x"}}, ("/x", 120)),
        ([{"other": {"agree_dir": "/x"}}, "reclass", {"reclass": None}], (None, 120)),
        (None, (None, 120)),
    ],
)
def test_the_runner_finds_the_options_of_the_engine(engines: Any, found: tuple[str | None, float]) -> None:
    assert _agree.options({"engines": engines}) == found


@pytest.mark.parametrize("given", ["x", "", None, True, -1, "nan", "inf"])
def test_seconds_are_a_number(given: Any) -> None:
    assert _agree.seconds("after", "1.5") == 1.5
    with pytest.raises(RefusedError, match="'after' must be a number of seconds, not "):
        _agree.seconds("after", given)
    place: Any = SimpleNamespace(opts={"engines": [{"reclass": {"agree_dir": "/x"}}]})
    if given is not None:
        with pytest.raises(RefusedError, match="'after'"):
            _functions_fleet.agree(place, after=given)
