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
from saltext.reclass import Inventory, _fleet, _functions_checks, _functions_fleet, _turns, _watch
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


def test_a_folder_that_is_never_at_rest_is_looked_at_all_the_same(
    watch: _watch.Watch, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        assert len(waits) < 100
        write({"nodes/web2": f"parameters: {{a: {len(waits)}}}"})

    monkeypatch.setattr(_watch, "time", SimpleNamespace(sleep=sleep))
    write({"classes/common": "parameters: {a: {x: 3}}"})
    event = watch.look(2)
    assert event is not None
    assert (event["names"], waits) == (["web1", "web2"], [2] * 10)


def test_the_first_look_is_of_the_state_at_its_end(
    git_site: GitSite, logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git_site.commit({"nodes/web1": "classes: [c]\n", "classes/c": "parameters: {a: 1}\n"})
    looks: list[int] = []
    look_at_nodes = _watch.Watch._look_at_nodes

    def look(*of: Any) -> Any:
        found = look_at_nodes(*of)
        looks.append(1)
        if len(looks) == 1:
            git_site.commit({"classes/c": "parameters: {a: 2}\n"})
        return found

    monkeypatch.setattr(_watch.Watch, "_look_at_nodes", look)
    seen = _watch.Watch({**git_site.settings, "serve": "tested"}, {"__role": "master"}, {})
    assert seen.look(0) is None
    newest = git_site.git("rev-parse", "--short=8", "HEAD")
    assert seen.revision == f"{newest} of master"
    [line] = [line for line in logged if "without a pillar" in line]
    assert line == f"INFO revision {newest} of master: 1 nodes, 0 without a pillar"
    assert seen.look(0) is None
    assert len(looks) == 2


@pytest.mark.parametrize("serve", ["tested", "whole"])
def test_an_event_names_what_minions_have_and_what_is_refused(
    serve: str, git_site: GitSite, tmp_path: Path, logged: list[str]
) -> None:
    nodes = {f"nodes/{name}": "classes: [c]\n" for name in ("web1", "web2")}
    git_site.commit({**nodes, "nodes/db1": "parameters: {b: 1}\n", "classes/c": "parameters: {a: 1}\n"})
    settings = {**git_site.settings, "serve": serve}
    opts = {"cachedir": str(tmp_path / "master"), "cache": "localfs", "__role": "master"}
    seen = _watch.Watch(settings, opts, {})
    assert seen.look(0) is None
    good = seen.revision
    git_site.commit({"classes/c": "parameters: {a: '${gone}'}\n"})
    bad = f"{git_site.git('rev-parse', '--short=8', 'HEAD')} of master"
    event = seen.look(0)
    assert event is not None
    [held] = event["held"]
    assert held["nodes"] == ["web1", "web2"]
    assert (event["old"], event["breaks"]) == (good, [])
    line = logged[-1]
    metrics = seen.metrics(False)[1] or {}
    if serve == "whole":
        assert (event["new"], event["refused"], event["differ"]) == (good, bad, 0)
        assert line.startswith(f"WARNING revision {good}, as {bad} is served to none (")
    else:
        # Most nodes keep the earlier one, and db1 has the newest.
        assert (event["new"], "refused" in event) == (good, False)
        assert line.startswith(f"WARNING revision {good}, with the newest not served to web1, web2 (")
    assert f"({held['problem']}): 0 of 3 nodes change, 0 break" in line
    numbers = (metrics["nodes_held"], metrics["commit_refused"], metrics["nodes_failing"])
    assert numbers == (2, int(serve == "whole"), 0)
    # A held node has a pillar.
    place: Any = SimpleNamespace(
        opts={**opts, "ext_pillar": [{"reclass": settings}]}, with_grains=lambda settings, _: settings
    )
    [status] = _functions_fleet.status(place)["inventories"]
    assert (status["revision"], status["failing"], status["nodes"]) == (good, 0, 3)
    delivery = status["delivery"]
    assert (delivery["fetched"], delivery["tested"], delivery["served"]) == (bad, bad, good)
    assert (delivery["held"], delivery["is_served"]) == ([held], serve == "tested")
    place = SimpleNamespace(
        settings=lambda *_: settings,
        earlier=lambda _: None,
        failed=pytest.fail,
        is_read_by_people=lambda: False,
    )
    answer = _functions_checks.validate_pillar(place)
    begin = f"held: the pillar is of an earlier commit, as {bad} breaks the node: "
    assert answer == {"db1": "", **dict.fromkeys(("web1", "web2"), begin + held["problem"])}
    git_site.commit({"classes/c": "parameters: {a: 3}\n"})
    event = seen.look(0)
    assert event is not None
    assert ("held" in event, "refused" in event, event["names"]) == (False, False, ["web1", "web2"])
    assert logged[-1].startswith("INFO")


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
    git_site.commit({"classes/c": "parameters: {a: 3}\n"})
    event = seen.look(0)
    assert event is not None
    assert inventory.end_trial(False) == event["trial"]["revision"]
    ended = seen.look(0)
    assert ended is not None
    assert (ended["refused"], ended["new"]) == (event["trial"]["revision"], event["new"])
    assert f", as {ended['refused']} is served to none: " in logged[-1]


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


def test_a_node_that_most_commits_do_not_have_is_compared_and_counted(git_site: GitSite) -> None:
    nodes = {f"nodes/{name}": "classes: [c]\n" for name in ("web1", "web2")}
    git_site.commit({**nodes, "classes/c": "parameters: {a: 1}\n"})
    settings = {**git_site.settings, "serve": "tested"}
    inventory = Inventory(**settings)
    assert inventory.nodes() == ["web1", "web2"]
    # Most nodes keep the earlier commit, which does not have the new ones.
    git_site.commit({"classes/c": "classes: [gone]\n", "nodes/db1": "{}\n", "nodes/db2": "classes: [gone]\n"})
    pillar = inventory.pillar("db1")
    place: Any = SimpleNamespace(
        salt={"cache.pillar": lambda tgt: {"db1": pillar}},
        settings=lambda *_: settings,
        earlier=lambda _: None,
        opts={},
        with_code=lambda answer, _: answer,
    )
    assert _functions_fleet.drift(place, "db1")["names"] == []
    assert inventory.nodes() == ["db1", "db2", "web1", "web2"]
    place = SimpleNamespace(
        opts={"ext_pillar": [{"reclass": settings}], "__role": "master"},
        with_grains=lambda settings, _: settings,
    )
    [status] = _functions_fleet.status(place)["inventories"]
    assert (status["nodes"], status["failing_nodes"]) == (4, ["db2"])
    assert {name: inventory.status()[name] for name in ("nodes", "failing")} == {"nodes": 4, "failing": 1}


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
    metrics = [watch.metrics(failed)[1] or {} for failed in (False, True)]
    assert [one["nodes_failing"] for one in metrics] == [0, len(watch.nodes)]


def test_a_first_look_that_fails_has_metrics(write: Write, tmp_path: Path) -> None:
    base = write(SITE)
    metrics = tmp_path / "reclass.prom"
    seen = engine({"inventory_base_uri": str(base), "metrics_file": str(metrics)}, tmp_path)
    (base / "nodes").rename(base / "gone")
    seen.metrics.take()
    assert not metrics.exists()
    seen.looks[0].take()
    seen.metrics.take()
    assert "reclass_processes" in metrics.read_text()
    assert "reclass_nodes" not in metrics.read_text()
    (base / "gone").rename(base / "nodes")
    seen.looks[0].take()
    seen.metrics.take()
    assert "reclass_nodes" in metrics.read_text()


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


def engine(settings: dict[str, Any], tmp_path: Path, runners: Any = None, **given: Any) -> _turns.Engine:
    opts = {"ext_pillar": [{"reclass": settings}], "cache": "localfs", "__role": "master"}
    opts["cachedir"] = str(tmp_path / "cache")
    options = _turns.Options.of({"interval": 0.01, "settle": 0, **given})
    return _turns.Engine(opts, runners or {}, options)


def until(is_there: Callable[[], Any]) -> Any:
    """What is there at last."""
    end = time.monotonic() + 60
    while not (found := is_there()):
        assert time.monotonic() < end
        time.sleep(0.005)
    return found


def test_the_engine_outlives_an_inventory_that_cannot_be_read(
    write: Write, tmp_path: Path, logged: list[str]
) -> None:
    base = write(SITE)
    away = tmp_path / "away"
    seen = engine({"inventory_base_uri": str(base)}, tmp_path)
    [look] = seen.looks
    look.take()
    (base / "nodes").rename(away)
    look.take()
    look.take()
    away.rename(base / "nodes")
    write({"nodes/web1": "classes: [gone]"})
    look.take()
    look.take()
    event = seen.events.get_nowait()
    assert (event["breaks"], seen.events.empty()) == (["web1"], True)
    [failure] = [line for line in logged if "cannot be watched" in line]
    assert "directory-not-found" in failure
    assert logged[-1] == "INFO the inventory is watched again"
    assert logged[-2].startswith("WARNING revision ")
    assert logged[-2].endswith(": 1 of 3 nodes changes, 1 breaks")


@pytest.mark.parametrize("error", [OSError(5, "no"), SystemExit(2), KeyError("x"), RefusedError("wrong")])
def test_whatever_a_turn_raises_is_no_end_and_one_line(error: BaseException, logged: list[str]) -> None:
    raised: list[BaseException | None] = [error, error, None, error, ValueError("other"), None, None]

    def work() -> None:
        if now := raised.pop(0):
            raise now

    turn = _turns.Turn(work, "it does not work", "it works again")
    failed = []
    while raised:
        turn.take()
        failed.append(bool(turn.failed))
    assert failed == [True, True, False, True, True, False, False]
    first = [line for line in logged if "ValueError" not in line]
    assert [line == "INFO it works again" for line in first] == [False, True, False, True]


def test_each_turn_goes_on_while_others_hang(write: Write, tmp_path: Path, logged: list[str]) -> None:
    """A minion that does not answer, and an event bus that fails, hold neither looks nor metrics."""
    release, asked = threading.Event(), threading.Event()

    def execute(tgt: list[str], fun: str, **_: Any) -> dict[str, Any]:
        if fun == "saltutil.refresh_pillar":
            asked.set()
            assert release.wait(60)
        return minions()[1](tgt, fun)

    metrics = tmp_path / "reclass.prom"
    settings = {"inventory_base_uri": str(write(SITE)), "metrics_file": str(metrics)}
    seen = engine(settings, tmp_path, {"salt.execute": execute}, refresh="affected")
    fired: list[dict[str, Any]] = []

    def fire(event: dict[str, Any], tag: str) -> None:
        assert tag == "reclass/revision/new"
        fired.append(event)
        if len(fired) == 1:
            raise OSError
        if len(fired) == 3:
            raise KeyboardInterrupt

    def steps() -> None:
        until(metrics.exists)
        write({"nodes/web1": "parameters: {a: 1}"})
        until(asked.is_set)
        write({"nodes/web2": "parameters: {a: 1}"})
        until(lambda: len(fired) == 2)
        metrics.unlink()
        until(metrics.exists)
        assert not release.is_set()
        write({"nodes/web2": "parameters: {a: 2}"})

    others = set(threading.enumerate())
    step = threading.Thread(target=steps, daemon=True)
    with patch.object(_fleet, "accepted", return_value={"web1", "web2"}):
        step.start()
        with pytest.raises(KeyboardInterrupt):
            seen.run(fire)
        step.join(60)
        assert [event["names"] for event in fired] == [["web1"], ["web2"], ["web2"]]
        release.set()
        # All of its threads end.
        until(lambda: set(threading.enumerate()) <= others)
    assert any("internal error (OSError)" in line for line in logged)


def test_a_commit_is_tested_while_a_look_hangs(
    git_site: GitSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git_site.commit({"nodes/web1": "classes: [c]\n", "classes/c": "parameters: {a: 1}\n"})
    release, hangs = threading.Event(), threading.Event()

    def look(_: Any, settle: float) -> dict[str, Any] | None:
        if hangs.is_set():
            return {"names": [], "breaks": [], "removed": [], "paths": {}}
        hangs.set()
        assert release.wait(60)
        return None

    monkeypatch.setattr(_watch.Watch, "look", look)
    settings = {**git_site.settings, "serve": "tested"}
    seen = engine(settings, tmp_path)
    served = Inventory(**settings)
    tested: list[Any] = []

    def steps() -> None:
        until(hangs.is_set)
        git_site.commit({"classes/c": "parameters: {a: 2}\n"})
        newest = f"{git_site.git('rev-parse', '--short=8', 'HEAD')} of master"
        # This asks for what is known and tests nothing.
        tested.append(until(lambda: (served.last_delivery() or {}).get("tested") == newest))
        release.set()

    def fire(*_: Any) -> None:
        raise KeyboardInterrupt

    step = threading.Thread(target=steps, daemon=True)
    step.start()
    with pytest.raises(KeyboardInterrupt):
        seen.run(fire)
    step.join(60)
    assert tested == [True]


def test_a_rollout_yields_to_a_newer_revision_which_takes_over_who_is_left(logged: list[str]) -> None:
    asked, answer = minions()
    names = MINIONS
    event = {"names": names, "breaks": [], "removed": []}

    def execute(tgt: list[str], fun: str, **given: Any) -> dict[str, Any]:
        if fun == "saltutil.refresh_pillar" and tgt == ["a1"]:
            rollout.events.put({"names": ["b1", "c1"], "breaks": [], "removed": ["b3"]})
        return answer(tgt, fun, **given)

    def refresh(*named: Any, **more: Any) -> dict[str, Any]:
        return _fleet.refresh(*named, execute, {*MINIONS, "c1"}, ["a1"], 2, **more)

    rollout = _turns.Rollout(refresh)
    rollout.events.put(event)
    rollout.work()
    assert logged[-1] == "INFO pillars refreshed: 1; stopped: a newer revision is served"
    assert rollout.left == {"a2", "b1", "b2", "b3"}
    rollout.work()
    assert logged[-1] == "INFO pillars refreshed: 4"
    groups = [tgt for fun, tgt in asked if fun == "saltutil.refresh_pillar"]
    assert groups == [["a1"], ["a2", "b1"], ["b2", "c1"]]
    assert rollout.left == set()


def test_a_refresh_that_fails_is_taken_over_by_the_next_one(logged: list[str]) -> None:
    refreshed: list[list[str]] = []

    def refresh(names: list[str], *_: Any, **__: Any) -> dict[str, Any]:
        refreshed.append(names)
        if len(refreshed) == 1:
            raise RefusedError("no key can be read")
        return {"minions": dict.fromkeys(names, "failed: no answer"), "refreshed": 0}

    rollout = _turns.Rollout(refresh)
    turn = _turns.Turn(rollout.work, "pillars cannot be refreshed", "pillars are refreshed again")
    for name in ("a", "b", "c"):
        rollout.events.put({"names": [name], "breaks": [], "removed": []})
        turn.take()
    # Who did not answer is drift, and not tried for ever.
    assert refreshed == [["a"], ["a", "b"], ["c"]]
    assert "ERROR pillars refreshed: 0; a: failed: no answer; b: failed: no answer" in logged


def test_the_engine_says_once_that_it_cannot_write_and_reads_what_is_damaged(
    write: Write, tmp_path: Path, logged: list[str]
) -> None:
    metrics = tmp_path / "prom/reclass.prom"
    settings = {"inventory_base_uri": str(write(SITE)), "metrics_file": str(metrics)}
    seen = engine(settings, tmp_path)
    drift = tmp_path / "cache/reclass/drift.p"
    damaged = [b"\xc1", b"", b"\x93\x01\x02\x03", b"\x81\xa1a\xa1b", b"\x81\xa1a\x81\xaddrift_minions\xa1x"]
    seen.looks[0].take()
    # The folder of the metrics is not there, and then it is.
    seen.metrics.take()
    seen.metrics.take()
    metrics.parent.mkdir()
    seen.metrics.take()
    assert "reclass_drift" not in metrics.read_text()
    for content in damaged:
        drift.write_bytes(content)
        metrics.unlink()
        seen.metrics.take()
        seen.metrics.take()
        assert "reclass_nodes" in metrics.read_text()
        assert "reclass_drift" not in metrics.read_text()
    _fleet.remember_drift(seen.opts, str(tmp_path / "inventory"), 2)
    seen.metrics.take()
    assert 'reclass_drift_minions{inventory="' in metrics.read_text()
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

    monkeypatch.setattr(_turns, "time", SimpleNamespace(sleep=sleep))
    with pytest.raises(KeyboardInterrupt):
        _turns.run({}, {}, print, given)
    [line] = logged
    assert line.startswith(f"ERROR the engine watches nothing: {reason}")
