"""The groups of a refresh, the names of revisions, and what the engine of a master sees, without a master."""

from __future__ import annotations

import json
import logging
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from saltext.reclass import Inventory, _fleet, _functions_fleet, _watch
from saltext.reclass._salt import RefusedError

if TYPE_CHECKING:
    from tests.conftest import GitSite

Write = Callable[[dict[str, str]], Path]

SITE = {
    "nodes/web1": "classes: [common]\nparameters: {b: {c: 1, d: hunter2}}",
    "nodes/web2": "classes: [common]",
    "nodes/db1": "parameters: {a: {1: x, '1': y}}",
    "classes/common": "parameters: {a: {x: 1, y: 2}}",
}
MINIONS = ["a1", "a2", "b1", "b2", "b3"]


def minions(
    failing: str = "", broken: str = ""
) -> tuple[list[tuple[str, list[str]]], Callable[..., dict[str, Any]]]:
    """Salt's `salt.execute`, with the questions that it was asked."""
    asked: list[tuple[str, list[str]]] = []

    def execute(tgt: list[str], fun: str, **_: Any) -> dict[str, Any]:
        asked.append((fun, tgt))
        answers = {"test.ping": True, "saltutil.refresh_pillar": True, "slsutil.renderer": "False"}
        found = {name: answers[fun] for name in tgt if name != failing or fun == "test.ping"}
        return found | ({broken: "True"} if fun == "slsutil.renderer" and broken in tgt else {})

    return asked, execute


@pytest.mark.parametrize(
    ("canary", "batch", "groups"),
    [
        (None, None, [MINIONS]),
        ("b*", None, [["b1", "b2", "b3"], ["a1", "a2"]]),
        (["b2", "other"], 2, [["b2"], ["a1", "a2"], ["b1", "b3"]]),
        ("1%", "50%", [["a1"], ["a2", "b1", "b2"], ["b3"]]),
        ("other", 100, [MINIONS]),
    ],
)
def test_groups(canary: Any, batch: Any, groups: list[list[str]]) -> None:
    asked, execute = minions()
    done = _fleet.refresh([*MINIONS, "gone"], [], execute, {*MINIONS, "other"}, canary, batch)
    assert done["groups"] == groups
    assert done["minions"] == {**dict.fromkeys(MINIONS, "refreshed"), "gone": "not connected"}
    assert [tgt for fun, tgt in asked if fun == "saltutil.refresh_pillar"] == groups
    assert (done["refreshed"], done["stopped"], done["retcode"]) == (5, False, 0)


@pytest.mark.parametrize("given", ["x", "0", "-1", "5%%", "10.5%", True])
def test_a_share_is_a_number_or_a_percentage(given: Any) -> None:
    with pytest.raises(RefusedError):
        _fleet.refresh(MINIONS, [], minions()[1], set(MINIONS), None, given)


@pytest.mark.parametrize("given", [1, 5, "5", 0.5, True, "0%", "x%", "wbe1*", ["wbe1"], []])
def test_canaries_are_refused_that_are_none(given: Any) -> None:
    asked, execute = minions()
    with pytest.raises(RefusedError, match=r"'canary' (must be a glob .* from 1%|names no minion)"):
        _fleet.refresh(MINIONS, [], execute, set(MINIONS), given)
    assert asked == []


@pytest.mark.parametrize(
    ("failing", "broken", "answer"),
    [("b1", "", "failed: no answer"), ("", "b1", "failed: the pillar has errors")],
)
def test_a_failure_leaves_the_next_groups_out(failing: str, broken: str, answer: str) -> None:
    asked, execute = minions(failing, broken)
    done = _fleet.refresh(MINIONS, [], execute, set(MINIONS), "a*", 2)
    assert done["minions"] == {
        "a1": "refreshed",
        "a2": "refreshed",
        "b1": answer,
        "b2": "refreshed",
        "b3": "left out: another one failed",
    }
    assert (done["stopped"], done["retcode"]) == (True, 1)
    assert ["b3"] not in [tgt for _, tgt in asked]


def test_a_node_that_breaks_is_left_out() -> None:
    for canary, answer in ((None, "refreshed"), ("20%", "refreshed"), ("b*", "left out: another one failed")):
        _, execute = minions()
        done = _fleet.refresh(MINIONS, ["b1"], execute, set(MINIONS), canary)
        assert done["minions"] == {**dict.fromkeys(MINIONS, answer), "b1": "left out: the node has no pillar"}
        assert done["retcode"] == 1


@pytest.fixture
def watch(write: Write, tmp_path: Path) -> _watch.Watch:
    opts = {"cachedir": str(tmp_path / "cache"), "cache": "localfs", "__role": "master"}
    seen = _watch.Watch({"inventory_base_uri": str(write(SITE))}, opts, {})
    assert seen.look(0) is None
    assert seen.look(0) is None
    return seen


def test_a_watch_finds_the_nodes_that_a_change_touches(watch: _watch.Watch, write: Write) -> None:
    # A fingerprint is of names and bytes, so a comment is a new revision that changes no node.
    write({"classes/common": "# why\nparameters: {a: {y: 2, x: 1}}"})
    event = watch.look(0)
    assert event is not None
    assert (event["differ"], event["names"], event["old"] != event["new"]) == (0, [], True)
    base = write(
        {
            "classes/common": "parameters: {a: {x: 3}}",
            "nodes/web2": "classes: [gone]",
            "nodes/new": "parameters: {e: swordfish}",
        }
    )
    (base / "nodes/db1.yml").unlink()
    event = watch.look(0)
    assert event is not None
    assert event["source"] == str(base)
    assert (event["nodes"], event["differ"], event["names"]) == (3, 4, ["new", "web1", "web2"])
    assert (event["breaks"], event["removed"], event["paths"]) == (["web2"], ["db1"], {"a:x": 1, "a:y": 1})
    assert "hunter2" not in str(vars(watch)) + str(event)
    assert "swordfish" not in str(vars(watch)) + str(event)
    assert watch.look(0) is None


def test_a_watch_waits_until_a_change_is_complete(
    watch: _watch.Watch, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = iter([{"nodes/web2": "parameters: {a: 2}"}, {}])
    monkeypatch.setattr(_watch, "time", SimpleNamespace(sleep=lambda _: write(next(more))))
    write({"nodes/web1": "parameters: {a: 2}"})
    event = watch.look(1)
    assert event is not None
    assert event["names"] == ["web1", "web2"]


def test_a_commit_of_files_as_they_are_is_a_revision(watch: _watch.Watch) -> None:
    base = watch.source
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
        subprocess.run(["git", *person, *arguments], cwd=base, check=True)
    event = watch.look(0)
    assert event is not None
    assert (event["differ"], event["new"][8:]) == (0, " of main")


def test_an_event_has_the_trial(git_site: GitSite, logged: list[str]) -> None:
    nodes = {f"nodes/{name}": "classes: [c]\n" for name in ("web1", "web2", "db1")}
    git_site.commit({**nodes, "classes/c": "parameters: {a: 1}\n"})
    settings = {
        **git_site.settings,
        "serve": "tested",
        "canary": {"match": "web*"},
        "revision_in_pillar": True,
    }
    seen = _watch.Watch(settings, {"__role": "master"}, {})
    assert seen.look(0) is None
    git_site.commit({"classes/c": "parameters: {a: 2}\n"})
    event = seen.look(0)
    assert event is not None
    assert (event["names"], event["paths"]) == (["web1", "web2"], {"a": 2})
    assert event["trial"]["nodes"] == ["web1", "web2"]
    assert event["trial"]["revision"].endswith(" of master")
    [line] = [line for line in logged if "2 of 3 nodes change" in line]
    assert f", with {event['trial']['revision']} on trial for web1, web2: " in line
    assert seen.look(0) is None
    # The name of the revision is that of the commit that the node gets.
    inventory = Inventory(**settings)
    revisions = [inventory.pillar(name)["__reclass__"]["revision"] for name in ("web1", "web2", "db1")]
    assert revisions == [event["trial"]["revision"]] * 2 + [event["new"]]
    assert inventory.end_trial(True) == event["trial"]["revision"]
    ended = seen.look(0)
    assert ended is not None
    assert ("trial" in ended, ended["names"], ended["new"]) == (False, ["db1"], event["trial"]["revision"])


def test_each_minion_is_compared_with_its_own_revision(git_site: GitSite, tmp_path: Path) -> None:
    nodes = {f"nodes/{name}": "classes: [c]\n" for name in ("web1", "web2", "db1", "db2")}
    git_site.commit({**nodes, "classes/c": "parameters: {a: 1}\n"})
    settings = {**git_site.settings, "serve": "tested", "canary": {"match": "web*"}}
    inventory = Inventory(**settings)
    pillars = {name: {**inventory.pillar(name), "ntp": "x"} for name in ("web1", "web2", "db1", "db2")}
    git_site.commit({"classes/c": "parameters: {a: 2}\n", "nodes/db2": "classes: [gone]\n"})
    asked: list[list[str]] = []

    def execute(names: list[str], *_: Any, **__: Any) -> dict[str, bool]:
        asked.append(names)
        return dict.fromkeys(names, True)

    place: Any = SimpleNamespace(
        opts={"cachedir": str(tmp_path / "master"), "cache": "localfs", "__role": "master"},
        salt={"cache.pillar": lambda tgt: pillars, "salt.execute": execute},
        settings=lambda *_: settings,
        earlier=lambda _: None,
        with_code=lambda answer, _: answer,
        test=lambda _: True,
        context={},
    )
    compared = lambda **given: _functions_fleet.drift(place, **given)  # noqa: E731
    # Two are on trial, one is held and has what it is to have, and one has the revision before.
    assert compared(exclude="ntp")["names"] == ["web1", "web2"]
    assert compared(exclude=["ntp"])["details"]["web1"]["paths"] == ["a"]
    assert compared(only="nt*")["names"] == ["db1", "db2", "web1", "web2"]
    pillars |= {name: {**inventory.pillar(name), "ntp": "x"} for name in ("web1", "web2")}
    assert compared(exclude="ntp")["names"] == []
    with patch.object(_fleet, "accepted", return_value=set(pillars)):
        assert _functions_fleet.refresh(place, exclude="ntp")["groups"] == []
        assert _functions_fleet.refresh(place)["groups"] == [["db1", "db2", "web1", "web2"]]
        done = _functions_fleet.refresh(place, "master~1", "master")
    assert done["minions"]["db2"] == "left out: the node keeps an earlier revision"
    assert (done["groups"], done["retcode"]) == ([["db1", "web1", "web2"]], 0)
    with pytest.raises(RefusedError, match="'exclude' is without 'since'"):
        _functions_fleet.refresh(place, "master~1", exclude="ntp")


def test_of_many_refreshes_one_works_and_one_waits(
    watch: _watch.Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fleet, "accepted", lambda _: set())
    opts = {"cachedir": str(tmp_path / "cache")}
    goes_on, runs, answers = threading.Event(), [], queue.SimpleQueue[Any]()

    def settings(*_: Any) -> dict[str, Any]:
        runs.append(threading.get_ident())
        goes_on.wait(60)
        return watch._settings()

    salt = {"cache.pillar": lambda tgt: {}, "salt.execute": lambda *_, **__: {}}
    place: Any = SimpleNamespace(
        opts=opts, salt=salt, settings=settings, earlier=lambda _: None, test=lambda _: False, context={}
    )

    def event() -> threading.Thread:
        thread = threading.Thread(target=lambda: answers.put(_functions_fleet.refresh(place, merge=True)))
        thread.start()
        return thread

    def until(holds: Callable[[], Any]) -> None:
        while not holds():
            time.sleep(0.01)

    first = event()
    until(lambda: runs)
    others = [event() for _ in range(20)]
    # All but one are told at once, and that one comes after the first.
    merged = [answers.get(timeout=60) for _ in range(19)]
    assert [one["merged"] for one in merged] == [True] * 19
    assert (len(runs), answers.empty()) == (1, True)
    goes_on.set()
    for thread in (first, *others):
        thread.join(60)
    assert len(set(runs)) == len(runs) == 2
    assert ["merged" in answers.get(timeout=60) for _ in range(2)] == [False, False]
    # It is for reactors alone: a person is never left out.
    with _fleet.alone(opts):
        assert "merged" not in _functions_fleet.refresh(place)


def test_numbers_of_an_inventory_that_cannot_be_read(watch: _watch.Watch) -> None:
    failing = [watch.metrics(failed)[1]["nodes_failing"] for failed in (False, True)]
    assert failing == [0, len(watch.nodes)]


def test_an_event_is_bounded(tmp_path: Path) -> None:
    names = [f"node{number}" for number in range(1500)]
    event = {"names": names, "breaks": names[:3], "removed": [], "paths": dict.fromkeys(names, 1)}
    bounded = _watch.bounded(event, tmp_path / "cache")
    assert [len(bounded[key]) for key in ("names", "breaks", "paths")] == [1000, 3, 1000]
    file = Path(bounded["file"])
    assert json.loads(file.read_text()) == event
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert _watch.bounded({**event, "names": [], "paths": {}}, tmp_path).get("file") is None


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(f"{record.levelname} {record.getMessage()}")  # type: ignore[method-assign]
    logger = logging.getLogger("saltext.reclass")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lines
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_the_engine_outlives_an_inventory_that_cannot_be_read(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    base = write(SITE)
    away = tmp_path / "away"

    def steps() -> Iterator[None]:
        (base / "nodes").rename(away)
        yield
        yield
        away.rename(base / "nodes")
        write({"nodes/web1": "classes: [gone]"})
        yield
        yield
        raise KeyboardInterrupt

    step = steps()
    # The pauses between two looks are of one second, those of a change of none.
    sleep = lambda seconds: next(step) if seconds else None  # noqa: E731
    monkeypatch.setattr(_watch, "time", SimpleNamespace(sleep=sleep))
    options = {"ext_pillar": [{"reclass": {"inventory_base_uri": str(base)}}], "cache": "localfs"}
    fired: list[tuple[dict[str, Any], str]] = []
    with pytest.raises(KeyboardInterrupt):
        _watch.run(
            {**options, "cachedir": str(tmp_path / "cache"), "__role": "master"},
            {},
            lambda *event: fired.append(event),
            {"interval": 1, "settle": 0},
        )
    [(event, tag)] = fired
    assert (tag, event["breaks"]) == ("reclass/revision/new", ["web1"])
    [failure] = [line for line in logged if "cannot be watched" in line]
    assert "directory-not-found" in failure
    assert logged[-1].startswith("WARNING revision ")
    assert logged[-1].endswith(": 1 of 3 nodes changes, 1 breaks")


def test_the_engine_says_once_that_it_cannot_write_and_reads_what_is_damaged(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    metrics = tmp_path / "prom/reclass.prom"
    settings = {"inventory_base_uri": str(write(SITE)), "metrics_file": str(metrics)}
    opts = {"ext_pillar": [{"reclass": settings}], "cache": "localfs", "__role": "master"}
    opts["cachedir"] = str(tmp_path / "cache")
    drift = tmp_path / "cache/reclass/drift.p"
    damaged = [b"\xc1", b"", b"\x93\x01\x02\x03", b"\x81\xa1a\xa1b", b"\x81\xa1a\x81\xaddrift_minions\xa1x"]

    def steps() -> Iterator[None]:
        # The folder of the metrics is not there, and then it is.
        yield
        yield
        metrics.parent.mkdir()
        yield
        assert "reclass_drift" not in metrics.read_text()
        for content in damaged:
            drift.write_bytes(content)
            yield
            yield
            assert "reclass_nodes" in metrics.read_text()
            assert "reclass_drift" not in metrics.read_text()
            metrics.unlink()
        _fleet.remember_drift(opts, str(tmp_path / "inventory"), 2)
        yield
        assert 'reclass_drift_minions{inventory="' in metrics.read_text()
        raise KeyboardInterrupt

    step = steps()
    sleep = lambda seconds: next(step) if seconds else None  # noqa: E731
    monkeypatch.setattr(_watch, "time", SimpleNamespace(sleep=sleep))
    with pytest.raises(KeyboardInterrupt):
        _watch.run(opts, {}, print, {"interval": 1, "settle": 0})
    lines = [line for line in logged if "metrics" in line]
    assert len(lines) == 2, lines
    assert lines[0].startswith("WARNING the metrics cannot be written: [Errno 2] ")
    assert lines[1] == "INFO the metrics are written again"
    begin = "WARNING what reclass.drift found last cannot be read from the cache of the master ("
    of_drift = [line for line in logged if "drift" in line]
    # One for each kind of damage, and none for a file that is empty.
    assert of_drift
    assert all(line.startswith(begin) for line in of_drift), of_drift
    assert len(of_drift) == len(set(of_drift)) <= len(damaged)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"intervall": 5}, "no option 'intervall'; 'interval' is similar"),
        ({"interval": "x"}, "'interval' must be a number of seconds, not 'x'"),
        ({"interval": "inf"}, "'interval' must be a number of seconds, not 'inf'"),
        ({"settle": -1}, "'settle' must be a number of seconds, not -1"),
        ({"settle": True}, "'settle' must be a number of seconds, not True"),
        ({"settle": None}, "'settle' must be a number of seconds, not None"),
        ({"refresh": "all"}, "'refresh' must be 'affected' or not there, not 'all'"),
        ({"canary": 5}, "'canary' must be a glob"),
        ({"batch": "x%"}, "'batch' must be a number like 50"),
    ],
)
def test_a_wrong_option_of_the_engine_is_one_line_and_no_restart(
    given: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_watch, "time", SimpleNamespace(sleep=sleep))
    with pytest.raises(KeyboardInterrupt):
        _watch.run({}, {}, print, given)
    [line] = logged
    assert line.startswith(f"ERROR the engine watches nothing: {reason}")
