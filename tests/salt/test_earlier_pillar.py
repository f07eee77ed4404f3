"""What pillars, tops and the runner do with the pillar so far (`propagate_pillar_data_to_reclass`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import salt.version

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite, Site

FILES = {
    "nodes/web1": """
        classes: [common, role.web]
        parameters: {address: '${fromsls:a}', text: '${early}', list: [node]}
    """,
    "nodes/bad1": "classes: [common, 'role.${fromsls:role}']\nparameters: {text: hello, address: x}",
    "nodes/bad2": "classes: [common, 'role.${fromsls:role::web}']\nparameters: {text: hello, address: x}",
    "nodes/good1": """
        classes: [common, kind, 'role.${role}']
        parameters: {text: hello, address: '${fromsls:a}'}
    """,
    "classes/kind": "parameters: {role: web}",
    "nodes/stranger": "parameters: {a: '${nobody:says}'}",
}
SLS = {"top": "base:\n  '*': [data]\n", "data": "fromsls: {a: 10.0.0.1, role: web}\nlist: [sls]\n"}
# An entry of ext_pillar before ours.
EARLIER = {"cmd_yaml": "printf 'early: hello'"}


def master(make_site: MakeSite) -> Site:
    site = make_site({"propagate_pillar_data_to_reclass": True})
    site.write(FILES)
    site.write(SLS, "pillar", ".sls")
    reclass = {"inventory_base_uri": str(site.inventory), **site.options}
    site.master_options = {
        "pillar_roots": {"base": [str(site.folder / "pillar")]},
        "ext_pillar": [EARLIER, {"reclass": reclass}],
    }
    return site


def changes(answer: Any) -> dict[str, Any]:
    return {state["name"]: state["result"] for state in answer.values()}


def test_a_highstate_with_a_master(make_site: MakeSite) -> None:
    site = master(make_site)
    site.start_master()
    for function in ["state.apply", "state.highstate"]:
        answer = site.call("web1", function, "test=True")
        assert answer.code == 0, answer
        assert changes(answer.data) == {"hello": None, "10.0.0.1:80": None}
    assert site.call("good1", "state.show_top").data == {"base": ["common", "web"]}
    assert changes(site.call("good1", "state.apply", "test=True").data) == {
        "hello": None,
        "10.0.0.1:80": None,
    }

    # The runner shows what the minion gets.
    pillar = site.call("web1", "pillar.items").data
    shown = site.runner("reclass.show_pillar", "web1")
    assert shown.code == 0, shown
    assert shown.data == pillar == site.runner("pillar.show_pillar", "web1").data
    assert (pillar["list"], pillar["listen"]) == (["sls", "node"], "10.0.0.1:80")
    assert site.runner("reclass.node_pillar", "web1").data == {"web1": pillar}
    assert site.runner("reclass.show_top", "web1").data == {"base": ["common", "web"]}
    assert site.runner("reclass.validate_pillar", "web1").data == {"web1": ""}
    answer = site.runner("reclass.show_pillar", "stranger")
    assert answer.code != 0
    assert "no parameter 'nobody'" in answer.text + answer.errors

    # The name of a class may not need what a top does not have, default or not: with the pillar it is
    # another class.
    for minion in ["bad1", "bad2"]:
        assert site.runner("reclass.show_pillar", minion).data["listen"]
        answer = site.call(minion, "state.apply", "test=True")
        assert answer.code != 0
        assert "reclass-failed--class-needs-pillar--" in answer.text
        log = site.log("master")
        assert f"{minion}.yml" in log
        assert "and a top has no earlier pillar (class-needs-pillar)" in log

    site.write({"data": "fromsls: {{ gone['x'] }}\n"}, "pillar", ".sls")
    answer = site.runner("reclass.show_pillar", "web1")
    assert answer.code != 0
    assert "the pillar before reclass fails" in answer.text + answer.errors


@pytest.mark.parametrize("first", [False, True])
def test_reclass_before_the_sls_files(make_site: MakeSite, first: bool) -> None:
    site = master(make_site)
    site.master_options["ext_pillar_first"] = first
    site.write({"nodes/web1": "parameters: {a: '${fromsls:a::none}', b: '${early}', c: ours}"})
    site.start_master()
    pillar = site.runner("pillar.show_pillar", "web1").data
    assert pillar["a"] == ("none" if first else "10.0.0.1")
    shown = site.runner("reclass.show_pillar", "web1").data
    assert {key: shown[key] for key in "abc"} == {key: pillar[key] for key in "abc"}


def test_a_highstate_without_a_master(make_site: MakeSite) -> None:
    site = make_site()
    site.write(FILES)
    site.write(SLS, "pillar", ".sls")
    reclass = {"inventory_base_uri": str(site.inventory), "propagate_pillar_data_to_reclass": True}
    site.configure_minion(
        "web1",
        file_client="local",
        file_roots={"base": [str(site.folder / "states" / "base")]},
        pillar_roots={"base": [str(site.folder / "pillar")]},
        ext_pillar=[EARLIER, {"reclass": reclass}],
        master_tops={"reclass": reclass},
    )
    if salt.version.__saltstack_version__.major < 3007:
        # It asks no module for the tops of a minion without a master.
        site.write({"top": "base:\n  '*': [common, web]\n"}, "states/base", ".sls")
    for function in ["state.apply", "state.highstate"]:
        answer = site.call("web1", "--local", function, "test=True")
        assert answer.code == 0, answer
        assert changes(answer.data) == {"hello": None, "10.0.0.1:80": None}


def test_several_inventories(make_site: MakeSite) -> None:
    site = make_site()
    second = site.folder / "second"
    site.write(
        {"nodes/web1": "parameters: {text: second, seen: '${listen}'}", "classes/none": "{}"}, "second"
    )
    both = [
        {"reclass": {"inventory_base_uri": str(site.inventory)}},
        EARLIER,
        {"reclass": {"inventory_base_uri": str(second), "propagate_pillar_data_to_reclass": True}},
    ]
    site.master_options = {"ext_pillar": both}
    site.start_master()
    answer = site.runner("reclass.show_pillar", "web1")
    assert answer.code == 0, answer
    assert answer.data["text"] == "hello"
    for chosen in ["2", str(second)]:
        # What the first one gives is in the pillar so far of the second.
        shown = site.runner("reclass.show_pillar", "web1", f"inventory={chosen}").data
        assert (shown["text"], shown["seen"]) == ("second", "10.0.0.1:80")
        assert site.runner("reclass.nodes", f"inventory={chosen}").data == ["web1"]
        assert site.runner("reclass.explain", "web1", "text", f"inventory={chosen}").code == 0
    for chosen in ["3", "0", "/elsewhere"]:
        answer = site.runner("reclass.nodes", f"inventory={chosen}")
        assert answer.code != 0
        assert "ext_pillar has no inventory" in answer.text + answer.errors
    # That of the last one, in the pillar that minions get.
    assert site.runner("pillar.show_pillar", "web1").data["__reclass__"]["applications"] == []
