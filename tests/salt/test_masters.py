"""Two real masters of one repository notice that they serve different commits, and can be pinned to a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.salt.conftest import INVENTORY, bus, until
from tests.salt.test_master_git import git, in_repository, make_repository, push

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite


def test_masters_that_serve_different_commits(make_site: MakeSite) -> None:
    one = make_site(id="m1")
    other = make_site(id="m2")
    served, shared = make_repository(one), one.folder / "shared"
    shared.mkdir()
    push(one, INVENTORY)
    git(one.folder / "clone", "tag", "v1")
    git(one.folder / "clone", "push", "-q", "origin", "v1")
    for site in (one, other):
        site.options |= in_repository(str(served))
        watch = {"interval": 0.5, "settle": 0.5, "agree_dir": str(shared), "agree_after": 4}
        site.master_options["engines"] = [{"reclass": watch}]
        site.restart_master()
    answer = until(lambda: (found := one.runner("reclass.agree")).code == 0 and found)
    assert answer.data["problems"] == []
    [(source, both)] = answer.data["inventories"].items()
    assert (source, sorted(both)) == (str(served), ["m1", "m2"])
    [first] = {found["revision"] for found in both.values()}
    assert first.endswith(" of master")
    assert one.runner("reclass.agree", f"folder={one.folder}").code == 1
    without = one.runner("reclass.agree", "folder=/gone")
    assert without.data == "reclass: '/gone' is no folder: all masters must share it"

    # One is pinned to the tag, and the other goes on.
    other.restart_master(git_revision="v1")
    push(one, {"classes/common": "applications: [common]\nparameters: {text: second}\n"})
    with bus(one, "master") as heard:
        [event] = until(lambda: heard("reclass/agree"))
    [problem] = event["data"]["problems"]
    assert problem.startswith(f"the masters differ in '{served}' for longer than 4 seconds: 'm1' serves ")
    assert problem.endswith(f"'m2' serves {first.removesuffix('master')}v1")
    assert f"[WARNING ] {problem}" in one.log("master")
    answer = other.runner("reclass.agree")
    assert (answer.code, answer.data["problems"]) == (1, [problem]), answer

    # Both are pinned: they agree, and stay at the tag.
    one.restart_master(git_revision="v1")
    until(lambda: "all masters agree again" in other.log("master"))
    push(one, {"classes/common": "applications: [common]\nparameters: {text: third}\n"})
    answer = until(lambda: (found := one.runner("reclass.agree")).code == 0 and found)
    assert {found["revision"] for found in answer.data["inventories"][str(served)].values()} == {
        f"{first.removesuffix('master')}v1"
    }
    assert other.runner("reclass.node_pillar", "web1").data["web1"]["text"] == "hello"
