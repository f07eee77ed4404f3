"""A real master whose inventory is in git: it serves what was pushed, and goes on when git is away."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
import time
from typing import TYPE_CHECKING, Any

from tests.salt.conftest import INVENTORY, bus, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.salt.conftest import MakeSite, Site

PERSON = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-C", str(folder), *arguments]
    subprocess.run(command, env={**os.environ, **PERSON}, check=True, capture_output=True)


def in_repository(repo: str = "../served.git", **more: Any) -> dict[str, Any]:
    """The options of an inventory in a repository, which is beside the folder of the inventory."""
    tree = {"repo": repo, "branch": "master", "cache_dir": "../cache", "lock_dir": "../lock"}
    return {
        "storage_type": "yaml_git",
        "nodes_uri": {**tree, "root": "nodes"},
        "classes_uri": {**tree, "root": "classes"},
        "git_fetch_interval": 1,
        **more,
    }


def make_repository(site: Site) -> Path:
    """The repository that a master reads, and the clone ``clone`` that pushes to it."""
    served = site.folder / "served.git"
    served.mkdir()
    git(served, "init", "-q", "--bare", "-b", "master")
    git(site.folder, "clone", "-q", str(served), "clone")
    return served


def push(site: Site, files: dict[str, str]) -> None:
    """Pushes files, by path without `.yml`, from a clone to the repository of the master."""
    clone = site.folder / "clone"
    for name, text in files.items():
        path = clone / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "change")
    git(clone, "push", "-q", "origin", "HEAD:master")


def pillar(site: Site) -> dict[str, Any]:
    answer = site.salt("web1", "pillar.items")
    assert answer.code == 0, answer
    return dict(answer.data["web1"])


def test_a_master_serves_what_was_pushed(make_site: MakeSite) -> None:
    site = make_site(in_repository(git_fetch_timeout=60, stale_log_interval=1))
    served = make_repository(site)
    push(site, INVENTORY)
    site.start_master()
    site.start_minion("web1")
    before = pillar(site)
    assert (before["text"], before["__reclass__"]["classes"]) == ("hello", ["common", "role.web"])

    push(site, {"classes/common": "applications: [common]\nparameters: {text: pushed}\n"})
    time.sleep(1.1)
    # Each worker of the master sees it.
    for _ in range(6):
        assert pillar(site)["text"] == "pushed"
    assert site.salt("web1", "state.show_top").data["web1"] == {"base": ["common", "web"]}

    answer = site.runner("reclass.check")
    assert answer.code == 0, answer
    [fetched] = answer.data["inventories"][0]["sources"]
    head = subprocess.run(["git", "-C", served, "rev-parse", "master"], capture_output=True, check=True)
    assert fetched["commits"] == {"master": head.stdout.decode().strip()}
    assert fetched["source"] == "../served.git"
    assert 0 <= fetched["age"] < 600
    assert answer.data["inventories"][0]["changes"] == "the repositories are fetched again after 1 s"

    served.rename(site.folder / "away.git")
    time.sleep(1.1)
    # Each worker says it, and again after each interval.
    before = site.log("master").count("is served as it was fetched last")
    for _ in range(6):
        assert pillar(site)["text"] == "pushed"
        time.sleep(0.5)
    stale = [line for line in site.log("master").splitlines() if "is served as it was fetched last" in line]
    assert len(stale) >= before + 4, stale
    assert all(re.search(r"fetched \d+ (second|minute)s? ago$", line) for line in stale), stale
    answer = site.runner("reclass.check")
    assert answer.code == 1, answer
    [problem] = answer.data["problems"]
    assert problem.startswith("'../served.git' is served as it was fetched last: ")
    assert answer.data["remarks"] == []

    (site.folder / "away.git").rename(served)
    push(site, {"classes/common": "applications: [common]\nparameters: {text: again}\n"})
    end = time.monotonic() + 600
    while pillar(site)["text"] != "again" and time.monotonic() < end:
        time.sleep(0.5)
    assert [pillar(site)["text"] for _ in range(6)] == ["again"] * 6
    assert "'../served.git' is fetched again; it was stale for " in site.log("master")


def test_a_commit_is_tested_before_minions_get_it(make_site: MakeSite) -> None:
    """Five of twenty nodes break; then a trial is promoted."""
    site = make_site(in_repository(git_fetch_timeout=60, serve="tested", canary={"match": "web1"}))
    make_repository(site)
    broken = {f"nodes/n{number:02}": "classes: [fragile]\n" for number in range(5)}
    sound = {f"nodes/m{number:02}": "classes: [common]\n" for number in range(15)}
    push(site, {**INVENTORY, **broken, **sound, "classes/fragile": "classes: [common]\n"})
    site.start_master()
    site.start_minion("web1")
    assert pillar(site)["text"] == "hello"

    def of_node(name: str) -> Any:
        return site.runner("reclass.node_pillar", name).data[name]["text"]

    changed = {
        "classes/common": "applications: [common]\nparameters: {text: changed}\n",
        "classes/fragile": "classes: [common]\nparameters: {b: '${gone}'}\n",
    }
    push(site, changed)
    time.sleep(1.1)
    end = time.monotonic() + 60
    while pillar(site)["text"] != "changed" and time.monotonic() < end:
        time.sleep(0.5)
    # The canary has it in each worker, and nobody else has.
    assert [pillar(site)["text"] for _ in range(6)] == ["changed"] * 6
    assert (of_node("m00"), of_node("n00")) == ("hello", "hello")
    answer = site.runner("reclass.check")
    assert answer.code == 1, answer
    [problem] = answer.data["problems"]
    nodes = "5 nodes (n00, n01, n02, n03, n04)"
    assert problem.startswith(f"the newest revision is not served to {nodes} that it breaks: "), problem
    assert "classes/fragile.yml:2:" in problem
    assert any("is on trial with 1 node for " in remark for remark in answer.data["remarks"]), answer

    with bus(site, "master") as heard:
        answer = site.runner("reclass.promote")
        [event] = until(lambda: heard("reclass/edit/"))
    told = event["data"]
    assert (event["tag"], told["function"], told["done"]) == ("reclass/edit/promote", "promote", "promoted")
    assert (told["inventory"], told["revision"]) == ("../served.git", answer.data["revision"])
    assert (bool(told["user"]), len(told["job"])) == (True, 20)
    assert not {"hello", "changed"} & set(map(str, told.values()))
    assert (answer.code, answer.data["served"]) == (0, "all"), answer
    assert answer.data["revision"].endswith(" of master")
    assert (of_node("m00"), of_node("n00"), pillar(site)["text"]) == ("changed", "hello", "changed")
    with bus(site, "master") as heard:
        assert site.runner("reclass.promote").code == 1
        assert heard("reclass/edit/") == []

    push(site, {"classes/fragile": "classes: [common]\n"})
    time.sleep(1.1)
    assert pillar(site)["text"] == "changed"
    answer = site.runner("reclass.abort")
    assert (answer.code, answer.data["served"]) == (0, "none"), answer
    # The log has each line on the terminal and, with a date, in the file.
    lines = [line for line in site.log("master").splitlines() if "breaks 5 nodes" in line and line[0] == "2"]
    assert len(lines) == 1, "\n".join(lines)


def test_folders_in_a_repository_are_served_as_commits(make_site: MakeSite) -> None:
    site = make_site({"git_fetch_interval": 1, "serve": "tested"})
    # The commits are fetched into its home.
    site.environment["HOME"] = str(site.folder)

    def commit() -> None:
        git(site.inventory, "add", "-A")
        git(site.inventory, "commit", "-q", "-m", "change")

    git(site.inventory, "init", "-q", "-b", "main")
    commit()
    site.start_master()
    site.start_minion("web1")
    assert pillar(site)["text"] == "hello"
    site.write({"classes/common": "applications: [common]\nparameters: {text: changed}\n"})
    time.sleep(1.1)
    assert [pillar(site)["text"] for _ in range(6)] == ["hello"] * 6
    commit()
    time.sleep(1.1)
    until(lambda: pillar(site)["text"] == "changed")
    # One worker tests, and the others wait for its decision.
    assert [pillar(site)["text"] for _ in range(6)] == ["changed"] * 6
    site.write({"nodes/web1": "classes: [gone]\n"})
    commit()
    time.sleep(1.1)
    assert [pillar(site)["text"] for _ in range(6)] == ["changed"] * 6
    assert "breaks 1 node, which keeps the one before: " in site.log("master")
    assert "inventory HEAD nodes/web1.yml:1:11: no class 'gone'" in site.log("master")

    # An edit that nobody commits reaches no minion, and says so; nor does that of a reactor.
    edited = site.runner("reclass.node_update", "db1", "parameters={x: 1}")
    unserved = "no minion gets it before it is committed"
    assert edited.code == 0, edited
    assert unserved in edited.data["db1"]["warning"]
    [remark] = [one for one in site.runner("reclass.check").data["remarks"] if "no minion" in one]
    assert remark.endswith(f"as those of '{site.inventory}/nodes/db1.yml'")
    commit()
    rules = "{web: {expression: all, node_class: {value: [common]}}}"
    site.start_minion("new1")
    assert site.salt("new1", "grains.setval", "reclass", "{'a': 1}").code == 0
    site.salt("new1", "saltutil.refresh_pillar", "wait=True")
    classified = site.runner("reclass.classify_minion", "new1", rules, "commit=True")
    assert classified.code == 0, classified
    assert [one for one in site.runner("reclass.check").data["remarks"] if "no minion" in one] == []
    until(lambda: site.salt("new1", "pillar.items").data["new1"].get("text") == "changed")
