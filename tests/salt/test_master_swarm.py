"""A master with three workers and 200 minions: a commit reaches those that it touches, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import long
from tests.salt.conftest import ROOT, until
from tests.salt.test_master_git import in_repository, make_repository, push

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.salt.conftest import MakeSite, Site

NAMES = [f"n{number:03}" for number in range(200)]
WEB, FRAGILE = NAMES[:20], NAMES[100:105]
CANARIES = NAMES[:2]
SOUND = "classes: [common]\nparameters: {extra: 1}\n"
BROKEN = "classes: [common]\nparameters: {extra: '${gone}'}\n"


def web(text: str) -> dict[str, str]:
    return {"classes/web": f"classes: [common]\nparameters: {{text: {text}}}\n"}


class Minions:
    """The 200 minions, and the pillars that they got."""

    def __init__(self, site: Site) -> None:
        self.site, self.read = site, 0
        self.notes = site.folder / "notes"
        self.pillars: dict[str, dict[str, Any]] = {}

    def got(self) -> list[str]:
        """The minions that got a pillar since the last call, in order."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        new, self.read = lines[self.read :], len(lines)
        for line in map(json.loads, new):
            self.pillars[line["minion"]] = line["pillar"]
        return [json.loads(line)["minion"] for line in new]

    def texts(self, names: list[str]) -> set[Any]:
        return {self.pillars[name].get("text") for name in names}

    @contextmanager
    def refreshed(self, names: list[str], what: str) -> Iterator[None]:
        """Each of these minions, and no other, gets a pillar once, by what happens inside."""
        assert self.got() == []
        begun = time.monotonic()
        count = self.site.log("master").count("pillars refreshed: ")
        yield
        seen: list[str] = []

        def done() -> bool:
            seen.extend(self.got())
            return len(seen) >= len(names) and self.site.log("master").count("pillars refreshed: ") > count

        until(done, 300)
        took = time.monotonic() - begun
        # Whoever gets one without a reason would get it with the others.
        time.sleep(2)
        seen.extend(self.got())
        assert sorted(seen) == sorted(names)
        print(f"{what}: {len(seen)} of {len(NAMES)} minions got a pillar, after {took:.1f} s")


@contextmanager
def minions(site: Site) -> Iterator[Minions]:
    swarm = Minions(site)
    config = site.configure_minion(NAMES[0])
    begun = time.monotonic()
    command = [sys.executable, "-m", "tests.salt.load.swarm", str(swarm.notes), str(site.folder / "master")]
    with (site.folder / "swarm").open("wb") as output:
        process = subprocess.Popen([*command, str(config), *NAMES], cwd=ROOT, stdout=output, stderr=output)
    try:
        seen: set[str] = set()
        until(lambda: seen.update(swarm.got()) or len(seen) == len(NAMES), 600)
        print(f"start: {len(seen)} minions got their pillar in {time.monotonic() - begun:.1f} s")
        yield swarm
    finally:
        process.kill()
        process.wait()
        print((site.folder / "swarm").read_text()[-2000:])


def held(site: Site) -> list[str]:
    """The problems that `reclass.check` has with the newest commit."""
    problems: list[str] = site.runner("reclass.check").data["problems"]
    return [
        problem for problem in problems if " that it breaks: " in problem or " is served to none, " in problem
    ]


# A busy machine takes minutes.
@long
@pytest.mark.timeout(1800)
def test_a_commit_reaches_the_minions_that_it_touches(make_site: MakeSite) -> None:
    site = make_site(
        in_repository(git_fetch_timeout=60, serve="tested"),
        engines=[{"reclass": {"interval": 1, "settle": 0.5, "refresh": "affected"}}],
    )
    make_repository(site)
    classes = {"classes/common": "parameters: {common: 1}\n", "classes/fragile": SOUND, **web("one")}
    of_node: Callable[[str], str] = lambda name: (  # noqa: E731
        "web" if name in WEB else "fragile" if name in FRAGILE else "common"
    )
    push(site, {**classes, **{f"nodes/{name}": f"classes: [{of_node(name)}]\n" for name in NAMES}})
    site.restart_master()
    with minions(site) as swarm:
        with swarm.refreshed(WEB, "edit of one class"):
            push(site, web("two"))
        assert swarm.texts(WEB) == {"two"}

        # Five of 200 nodes break: they keep their pillar, and the others get the commit.
        with swarm.refreshed(WEB, "5 of 200 break, serve: tested"):
            push(site, {**web("three"), "classes/fragile": BROKEN})
        [problem] = held(site)
        assert problem.startswith("the newest revision is not served to 5 nodes ("), problem
        assert site.salt(FRAGILE[0], "saltutil.refresh_pillar").code == 0
        assert swarm.got() == FRAGILE[:1]
        assert swarm.pillars[FRAGILE[0]]["extra"] == 1
        push(site, {"classes/fragile": SOUND})
        until(lambda: held(site) == [])
        assert swarm.got() == []

        # The same commit is served to none.
        site.restart_master(serve="whole")
        push(site, {**web("four"), "classes/fragile": BROKEN})
        until(lambda: held(site))
        time.sleep(3)
        assert swarm.got() == []
        with swarm.refreshed(WEB, "the commit after it, serve: whole"):
            push(site, {"classes/fragile": SOUND})
        assert swarm.texts(WEB) == {"four"}

        # A trial is promoted, and another one aborted.
        site.restart_master(serve="tested", canary={"match": f"{CANARIES[0][:-1]}[01]"})
        with swarm.refreshed(CANARIES, "trial"):
            push(site, web("five"))
        assert (swarm.texts(CANARIES), swarm.texts(WEB)) == ({"five"}, {"four", "five"})
        with swarm.refreshed(WEB[2:], "promote"):
            assert site.runner("reclass.promote").code == 0
        assert swarm.texts(WEB) == {"five"}
        with swarm.refreshed(CANARIES, "another trial"):
            push(site, web("six"))
        with swarm.refreshed(CANARIES, "abort"):
            assert site.runner("reclass.abort").code == 0
        assert swarm.texts(WEB) == {"five"}
        drift = site.runner("reclass.drift")
        assert (drift.code, drift.data["compared"], drift.data["differ"]) == (0, 200, 0), drift
