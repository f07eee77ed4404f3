"""A master says what it serves, finds the minions that a change touches, and refreshes these alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import salt.config
import yaml
from saltext.reclass import _fleet

from tests.salt.conftest import bus, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.salt.conftest import MakeSite, Site

ROOT = Path(__file__).resolve().parent.parent.parent
COMMON = "applications: [common]\nparameters: {{text: {text}, released: 2001-02-03}}\n"
SECRETS = ("hunter2", "swordfish")


def commit(site: Site, message: str) -> str:
    git = ["git", "-C", str(site.inventory), "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    start = [] if (site.inventory / ".git").exists() else [["init", "-q", "-b", "main"]]
    for arguments in (*start, ["add", "-A"], ["commit", "-q", "-m", message]):
        subprocess.run([*git, *arguments], env=environment, check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def in_memory(site: Site, minion: str, path: str) -> Any:
    """A value of the pillar that the minion uses, which is not what it would get now."""
    return site.salt(minion, "config.get", path).data[minion]


@pytest.fixture(scope="module")
def fleet(make_site: MakeSite) -> Site:
    """A master whose inventory is a repository, with two minions that run and a third node."""
    site = make_site({"secret_keys": ["secret"]})
    commit(site, "first")
    site.start_master()
    for minion in ("web1", "db1"):
        site.start_minion(
            minion, reclass={"inventory_base_uri": str(site.inventory)}, log_level_logfile="info"
        )
    return site


@pytest.fixture
def clean(fleet: Site) -> Iterator[Site]:
    """The files are those of the last commit, and the minions have their pillars."""
    yield fleet
    for arguments in (["checkout", "-q", "."], ["clean", "-qfd"]):
        subprocess.run(["git", "-C", str(fleet.inventory), *arguments], check=True)
    fleet.salt("*", "saltutil.refresh_pillar", "wait=True")


def test_the_status_names_the_revision_and_the_nodes_that_fail(clean: Site) -> None:
    head = subprocess.run(
        ["git", "-C", clean.inventory, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    answer = clean.runner("reclass.status")
    assert answer.code == 0, answer
    [inventory] = answer.data["inventories"]
    source = {"source": str(clean.inventory), "commits": {"main": head}, "clean": True}
    assert inventory["sources"] == [source]
    assert inventory["revision"] == f"{head[:8]} of main"
    assert (inventory["nodes"], inventory["failing"], inventory["failing_nodes"]) == (3, 0, [])
    assert inventory["configured"] == ["ext_pillar", "master_tops"]
    assert answer.data["engine"] == clean.runner("reclass.versions").data["engine"]

    clean.write({"nodes/dev1": "classes: [gone]\n"})
    [changed] = clean.runner("reclass.status").data["inventories"]
    assert (changed["failing"], changed["failing_nodes"]) == (1, ["dev1"])
    [source] = changed["sources"]
    assert (source["commits"], source["clean"]) == ({"main": head}, False)
    assert changed["revision"] == f"{head[:8]} of main with changes {source['fingerprint'][:8]}"
    # A state begins when its last file changes.
    assert changed["since"] >= inventory["since"]
    assert clean.runner("reclass.status").data["inventories"] == [changed]
    [checked] = clean.runner("reclass.check").data["inventories"]
    assert (checked["revision"], checked["sources"]) == (changed["revision"], changed["sources"])


def test_the_impact_of_a_change(clean: Site) -> None:
    clean.write({"nodes/db1": "classes: [common]\nparameters: {secret: changed1}\n"})
    clean.write({"nodes/dev1": "classes: [gone]\n", "nodes/new1": "classes: [common]\n"})
    answer = clean.runner("reclass.impact", "HEAD")
    assert (answer.code, answer.data.pop("retcode")) == (1, 1), answer
    assert answer.data == {
        "old": "HEAD",
        "new": ".",
        "nodes": 4,
        "differ": 3,
        "names": ["db1", "dev1", "new1"],
        "breaks": ["dev1"],
        "problems": answer.data["problems"],
        "removed": [],
        "applications": {"database": 1},
        "paths": {"applications": 1, "secret": 1},
    }
    [problem] = answer.data["problems"]
    assert problem["nodes"] == ["dev1"]
    assert "nodes/dev1.yml:1:11: no class 'gone'" in problem["problem"]
    assert not [secret for secret in (*SECRETS, "changed1") if secret in answer.text]
    assert clean.runner("reclass.impact", "HEAD", ".", "db*", "form=list").data == "db1"
    refused = clean.runner("reclass.impact", "HEAD", "form=text")
    assert (refused.code, refused.data) == (1, "reclass: 'form' must be 'data' or 'list', not 'text'")


def test_a_refresh_reaches_the_minions_that_a_change_touches_and_no_others(clean: Site) -> None:
    clean.salt("*", "saltutil.refresh_pillar", "wait=True")
    clean.write({"nodes/web1": "classes: [common, role.web]\nparameters: {address: 10.0.0.9}\n"})
    clean.write({"nodes/dev1": "classes: [common]\n"})
    tried = clean.runner("reclass.refresh", "since=HEAD", "test=True")
    assert tried.code == 0, tried
    assert tried.data["minions"] == {"dev1": "not connected", "web1": "would be refreshed"}
    assert in_memory(clean, "web1", "listen") == "10.0.0.1:80"

    with bus(clean, "master") as heard:
        answer = clean.runner("reclass.refresh", "HEAD")
        jobs = {
            event["data"]["fun"]: event["data"]["minions"]
            for event in heard("salt/job/")
            if "minions" in event["data"]
        }
    assert answer.code == 0, answer
    assert answer.data["minions"] == {"dev1": "not connected", "web1": "refreshed"}
    assert jobs["saltutil.refresh_pillar"] == ["web1"]
    assert in_memory(clean, "web1", "listen") == "10.0.0.9:80"

    # Without a revision: those whose pillar in the cache of the master differs.
    clean.write({"classes/common": COMMON.format(text="all")})
    answer = clean.runner("reclass.refresh", "canary=db*", "batch=1")
    assert answer.code == 0, answer
    assert answer.data["groups"] == [["db1"], ["web1"]]
    assert answer.data["minions"] == {"db1": "refreshed", "web1": "refreshed"}
    assert (in_memory(clean, "db1", "text"), in_memory(clean, "web1", "text")) == ("all", "all")
    assert clean.runner("reclass.refresh").data["minions"] == {}


def test_a_refresh_stops_when_one_fails(clean: Site) -> None:
    clean.salt("*", "saltutil.refresh_pillar", "wait=True")
    clean.write({"classes/common": COMMON.format(text="stopped"), "nodes/db1": "classes: [gone]\n"})
    answer = clean.runner("reclass.refresh", "HEAD", "canary=db1")
    assert (answer.code, answer.data["stopped"]) == (1, True), answer
    assert answer.data["minions"]["db1"] == "left out: the node has no pillar"
    assert answer.data["minions"]["web1"] == "left out: another one failed"
    assert in_memory(clean, "web1", "text") == "hello"
    # Its pillar stays; Salt would have replaced it.
    assert in_memory(clean, "db1", "secret") == "swordfish"
    refused = clean.runner("reclass.refresh", "HEAD", "batch=many")
    assert (refused.code, refused.data) == (
        1,
        "reclass: 'batch' must be a number like 50, or a percentage like 10%, from 1%",
    )


def test_drift_has_paths_and_no_values(clean: Site) -> None:
    clean.salt("*", "saltutil.refresh_pillar", "wait=True")
    answer = clean.runner("reclass.drift")
    assert (answer.code, answer.data["compared"], answer.data["differ"]) == (0, 2, 0), answer
    assert clean.runner("reclass.drift", "live=True").data["names"] == []

    clean.write(
        {"nodes/db1": "classes: [common]\napplications: [database]\nparameters: {secret: changed1}\n"}
    )
    answer = clean.runner("reclass.drift")
    assert answer.code == 1, answer
    assert (answer.data["names"], answer.data["breaks"]) == (["db1"], [])
    assert answer.data["details"]["db1"]["paths"] == ["secret"]
    assert answer.data["oldest"] == answer.data["details"]["db1"]["age"]
    assert 0 <= answer.data["oldest"] < 600
    assert clean.runner("reclass.drift", "web*").code == 0
    assert clean.runner("reclass.drift", "exclude=secret").code == 0
    # The master caches a pillar that the minion only asks for; the minion goes on with the old one.
    clean.salt("db1", "pillar.items")
    assert clean.runner("reclass.drift").code == 0
    with bus(clean, "master") as heard:
        alive = clean.runner("reclass.drift", "live=True")
        jobs = [event["data"] for event in heard("salt/job/") if event["data"]["fun"] == "slsutil.renderer"]
    # All minions can read a question: it has neither values nor the names of keys.
    questions = str([job["arg"] for job in jobs if "arg" in job])
    assert "sha256" in questions
    assert "released" not in questions
    published = str(jobs)
    assert alive.code == 1, alive
    assert alive.data["names"] == ["db1"]
    assert (alive.data["silent"], alive.data["compared"]) == (["dev1"], 2)
    assert not [secret for secret in (*SECRETS, "changed1") if secret in answer.text + alive.text + published]


def test_orphans(clean: Site) -> None:
    clean.write({"nodes/db1": "classes: [common]\n"})
    (clean.inventory / "nodes/web1.yml").unlink()
    answer = clean.runner("reclass.orphans")
    assert answer.data == {"keys_without_node": ["web1"], "nodes_without_key": ["dev1"]}, answer


def test_an_edit_is_a_line_in_the_log_and_an_event(clean: Site) -> None:
    (clean.inventory / "classes/cluster").mkdir(exist_ok=True)
    with bus(clean, "master") as heard:
        answer = clean.runner("reclass.set_cluster_param", "secret", "hunter3")
        assert answer.code == 0, answer
        [first] = until(lambda: heard("reclass/edit/"))
        clean.runner("reclass.set_cluster_param", "secret", "hunter4", "test=True")
        clean.runner("reclass.set_cluster_param", "secret", "hunter3")
        assert len(heard("reclass/edit/")) == 1
        clean.runner("reclass.node_delete", "dev1")
        [_, second] = until(lambda: len(heard("reclass/edit/")) == 2 and heard("reclass/edit/"))
    assert (first["tag"], second["tag"]) == ("reclass/edit/set_cluster_param", "reclass/edit/node_delete")
    event = first["data"]
    path = clean.inventory / "classes/cluster/overrides.yml"
    assert (event["subject"], event["done"], event["file"]) == ("parameter 'secret'", "set", str(path))
    digest = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
    assert (event["before"], event["after"]) == (None, digest)
    assert event["user"]
    assert len(event["job"]) == 20
    assert second["data"]["after"] is None
    assert "hunter" not in f"{first}{second}"

    # The execution module and the states have the log of their minion.
    assert clean.salt("web1", "reclass.delete_cluster_param", "secret").code == 0
    present = "{x: {reclass.node_present: [{name: new1}, {classes: [common]}]}}"
    clean.write({"x": present}, "states/base", ".sls")
    assert clean.salt("web1", "state.apply", "x").code == 0
    log = clean.log("web1")
    assert f"edit: parameter 'secret' deleted in '{path}' by delete_cluster_param, user root, job 2" in log
    assert "edit: node 'new1' created in " in log
    assert "by the state node_present, user root" in log
    assert "hunter" not in log


@pytest.fixture(scope="module")
def watched(make_site: MakeSite) -> Site:
    """A master with the engine, the reactor and the orchestration of the example."""
    options: dict[str, Any] = yaml.safe_load((ROOT / "examples/fleet/master.conf").read_text())
    options["engines"] = [{"reclass": {"interval": 0.5, "settle": 0.5}}]
    settings: dict[str, Any] = {"secret_keys": ["secret"]}
    site = make_site(settings, **options)
    settings["metrics_file"] = str(site.folder / "reclass.prom")
    shutil.copytree(ROOT / "examples/fleet", site.folder / "states/base/fleet")
    commit(site, "first")
    site.start_master()
    site.start_minion("web1")
    until(lambda: "3 nodes, 0 without a pillar" in site.log("master"))
    return site


def test_the_engine_writes_the_metrics_of_all_workers(watched: Site) -> None:
    file = watched.folder / "reclass.prom"
    for _ in range(2):
        assert watched.salt("*", "pillar.items").code == 0

    def numbers() -> dict[str, float]:
        text = file.read_text() if file.exists() else ""
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("# ")]
        return {name: float(number) for name, number in lines}

    def answers() -> float:
        return sum(number for name, number in numbers().items() if name.startswith("reclass_answers_total"))

    # At its start the minion asked, too.
    assert until(lambda: answers() >= 3)
    stats = watched.runner("reclass.stats")
    assert stats.code == 0, stats
    assert sum(stats.data["answers"]["pillar"].values()) >= 3
    assert stats.data["inventories"][0]["revision"]
    assert [number for name, number in numbers().items() if name.startswith("reclass_nodes{")] == [3]
    # Drift is that of the last comparison of all minions.
    assert "reclass_drift" not in file.read_text()
    watched.salt("*", "saltutil.refresh_pillar", "wait=True")
    assert watched.runner("reclass.drift").data["differ"] == 0
    until(lambda: "reclass_drift_minions{" in file.read_text())
    [drift] = [number for name, number in numbers().items() if name.startswith("reclass_drift_minions{")]
    [at] = [number for name, number in numbers().items() if name.startswith("reclass_drift_timestamp")]
    assert drift == 0
    assert 0 <= time.time() - at < 60
    assert watched.runner("reclass.stats").data["inventories"][0]["drift_minions"] == 0
    # A common cure, also of workers that answer meanwhile.
    cache = watched.folder / "master/var/cache/salt/master/reclass"
    shutil.rmtree(cache)
    until(lambda: watched.salt("*", "pillar.items").code or answers() > 0)
    processes = watched.runner("reclass.stats").data["processes"]
    assert processes > 0
    # Nothing else of the cache stops the engine.
    (cache / "drift.p").write_bytes(b"\xc1")
    said = "what reclass.drift found last cannot be read"
    lines = until(lambda: watched.log("master").count(said))
    for _ in range(3):
        before = file.stat().st_mtime_ns
        until(lambda before=before: file.stat().st_mtime_ns > before)  # type: ignore[misc]
    assert watched.log("master").count(said) == lines
    assert watched.runner("reclass.drift").data["differ"] == 0
    until(lambda: "reclass_drift_minions{" in file.read_text())


def test_the_engine_tells_the_master_alone_of_a_revision_and_the_reactor_refreshes(watched: Site) -> None:
    assert in_memory(watched, "web1", "text") == "hello"
    with bus(watched, "master") as heard, bus(watched, "web1") as heard_by_minion:
        watched.write({"classes/common": COMMON.format(text="swordfish1")})
        watched.write({"nodes/dev1": "classes: [gone]\n"})
        head = commit(watched, "second")
        until(lambda: in_memory(watched, "web1", "text") == "swordfish1")
        [event] = heard("reclass/revision/new")
        of_minion = heard_by_minion("")
    data = event["data"]
    assert data["new"] == f"{head[:8]} of main"
    assert (data["nodes"], data["differ"], data["breaks"]) == (3, 3, ["dev1"])
    assert (data["names"], data["paths"]) == (["db1", "dev1", "web1"], {"text": 2})
    assert not [secret for secret in SECRETS if secret in str(event)]
    line = f"revision {head[:8]} of main: 3 of 3 nodes change, 1 breaks"
    assert line in watched.log("master")
    # Minions get neither the event nor what it says.
    assert of_minion
    assert not [event for event in of_minion if "reclass/revision" in str(event)]
    sockets = (watched.folder / "master/var/run/salt/master").glob("*event*.ipc")
    assert all(path.stat().st_mode & 0o007 == 0 for path in sockets)


def test_events_that_a_minion_repeats_are_one_refresh(watched: Site) -> None:
    opts = salt.config.master_config(str(watched.folder / "master/master"))

    def refreshes() -> list[dict[str, Any]]:
        events = [event["data"] for event in heard("salt/run/") if event["tag"].endswith("/ret")]
        return [data["return"] for data in events if data["fun"] == "runner.reclass.refresh"]

    with bus(watched, "master") as heard:
        with _fleet.alone(opts) as is_alone:
            assert is_alone
            for _ in range(4):
                assert watched.salt("web1", "event.send", "reclass/revision/new").data["web1"] is True
            until(lambda: len(refreshes()) == 3)
        until(lambda: len(refreshes()) == 4)
        assert [data.get("merged", False) for data in refreshes()] == [True, True, True, False]


def test_an_orchestration_rolls_a_commit_out(watched: Site) -> None:
    watched.write({"nodes/dev1": "classes: [common]\n", "classes/common": COMMON.format(text="third")})
    commit(watched, "third")
    answer = watched.runner("state.orchestrate", "fleet.rollout")
    assert answer.code == 0, str(answer)
    [states] = answer.data["data"].values()
    assert [state["result"] for state in states.values()] == [True, True], answer
    watched.write({"nodes/web1": "classes: [gone]\n"})
    commit(watched, "fourth")
    answer = watched.runner("state.orchestrate", "fleet.rollout")
    assert answer.code == 1, answer
    # No states are applied to a minion that has no pillar.
    [[state]] = [states.values() for states in answer.data["data"].values()]
    assert (state["__id__"], state["result"]) == ("refresh", False), answer


def test_the_engine_ends_with_the_master_and_refreshes_itself_if_it_shall(watched: Site) -> None:
    [first, *_] = re.findall(r"\[(\d+)\] revision ", watched.log("master"))
    process = Path("/proc", first)
    assert process.exists()
    watched.daemons["master"].terminate()
    watched.daemons["master"].wait(60)
    until(lambda: not process.exists(), 60)

    # Without the reactor, the engine can refresh the pillars itself.
    watched.master_options.pop("reactor")
    watched.master_options["engines"][0]["reclass"]["refresh"] = "affected"
    watched.restart_master()
    until(lambda: watched.salt("web1", "test.ping", timeout=5).data == {"web1": True})
    watched.write({"nodes/web1": "classes: [common]\n", "classes/common": COMMON.format(text="fifth")})
    until(lambda: "pillars refreshed: 1" in watched.log("master"))
    assert in_memory(watched, "web1", "text") == "fifth"
