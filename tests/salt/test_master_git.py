"""A real master whose inventory is in git: it serves what was pushed, and goes on when git is away."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
import time
from typing import TYPE_CHECKING, Any

from tests.salt.conftest import INVENTORY

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
    tree = {"repo": "../served.git", "branch": "master", "cache_dir": "../cache", "lock_dir": "../lock"}
    options = {
        "storage_type": "yaml_git",
        "nodes_uri": {**tree, "root": "nodes"},
        "classes_uri": {**tree, "root": "classes"},
        "git_fetch_interval": 1,
        "git_fetch_timeout": 60,
        "stale_log_interval": 1,
    }
    site = make_site(options)
    served = site.folder / "served.git"
    served.mkdir()
    git(served, "init", "-q", "--bare", "-b", "master")
    git(site.folder, "clone", "-q", str(served), "clone")
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
