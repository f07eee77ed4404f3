"""What minions and administrators see, through a real master and a real minion."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite, Site

Edit = Callable[[dict[str, str]], None]

WEB1 = {
    "address": "10.0.0.1",
    "secret": "hunter2",
    "text": "hello",
    "released": "2001-02-03",
    "listen": "10.0.0.1:80",
}
ABOUT_WEB1 = {
    "nodename": "web1",
    "applications": ["common", "web"],
    "classes": ["common", "role.web"],
    "environment": "base",
}


def without_automatic(pillar: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in pillar.items() if key != "_reclass_"}


def changes(answer: Any) -> dict[str, Any]:
    """The result of each state of a `state.apply`, by its name."""
    return {state["name"]: state["result"] for state in answer.values()}


def test_pillar_items(site: Site) -> None:
    answer = site.salt("web1", "pillar.items")
    assert answer.code == 0, answer
    assert without_automatic(answer.data["web1"]) == {**WEB1, "__reclass__": ABOUT_WEB1}


def test_the_modules_are_ours(site: Site) -> None:
    # Salt's own adapter would need the Python program, which is not here.
    assert subprocess.run(
        [sys.executable, "-c", "import reclass"], capture_output=True, check=False
    ).returncode
    report = site.run("salt-call", "web1", "--versions-report")
    assert "saltext-reclass" in report.text


def test_show_top(site: Site) -> None:
    answer = site.salt("web1", "state.show_top")
    assert answer.code == 0, answer
    assert answer.data["web1"] == {"base": ["common", "web"]}


def test_apply_in_test_mode(site: Site) -> None:
    answer = site.salt("web1", "state.apply", "test=True")
    assert answer.code == 0, answer
    assert changes(answer.data["web1"]) == {"hello": None, "10.0.0.1:80": None}


def test_apply(site: Site) -> None:
    answer = site.salt("web1", "state.apply")
    assert answer.code == 0, answer
    assert changes(answer.data["web1"]) == {"hello": True, "10.0.0.1:80": True}


def test_show_pillar(site: Site) -> None:
    answer = site.runner("pillar.show_pillar", "web1")
    assert answer.code == 0, answer
    assert without_automatic(answer.data) == {**WEB1, "__reclass__": ABOUT_WEB1}
    for name in ["../nodes/web1", "${secret}"]:
        answer = site.runner("pillar.show_pillar", name)
        assert "no node" in str(answer.data["_errors"]), answer
        assert "hunter2" not in str(answer)


def test_a_refresh_brings_an_edit(site: Site, inventory: Edit) -> None:
    assert site.salt("web1", "config.get", "text").data == {"web1": "hello"}
    inventory({"classes/common": "applications: [common]\nparameters: {text: good morning}"})
    assert site.salt("web1", "saltutil.refresh_pillar", "wait=True").data == {"web1": True}
    assert site.salt("web1", "config.get", "text").data == {"web1": "good morning"}
    # All workers of the master, not only the one that saw the edit first.
    for _ in range(6):
        assert site.salt("web1", "pillar.items").data["web1"]["text"] == "good morning"
    inventory({"nodes/web1": "applications: [database]\nparameters: {text: good night}"})
    assert site.salt("web1", "state.show_top").data["web1"] == {"base": ["database"]}


def test_another_environment(site: Site) -> None:
    site.start_minion("dev1")
    answer = site.salt("dev1", "state.show_top")
    assert answer.data["dev1"] == {"dev": ["common", "web"]}, answer
    answer = site.salt("dev1", "state.apply", "test=True")
    assert answer.code == 0, answer
    ids = {state["__id__"]: state["name"] for state in answer.data["dev1"].values()}
    assert ids == {"common": "hello", "web in dev": "10.0.9.1:80"}
    assert site.salt("dev1", "pillar.items").data["dev1"]["__reclass__"]["environment"] == "dev"


def test_a_class_that_is_not_there(site: Site, inventory: Edit) -> None:
    inventory({"classes/role/web": "classes:\n  - gone\nparameters: {listen: x}"})
    where = f"{site.inventory}/classes/role/web.yml:2:5"
    answer = site.salt("web1", "state.apply")
    assert answer.code != 0
    assert where in answer.text
    assert "no class 'gone'" in answer.text
    assert "web1" in answer.text
    assert "hunter2" not in answer.text

    answer = site.salt("web1", "pillar.items")
    [error] = answer.data["web1"].pop("_errors")
    assert where in error
    assert answer.data["web1"] == {}, "no partial data"

    answer = site.runner("pillar.show_pillar", "web1")
    assert where in str(answer.data["_errors"])
    # Nodes that do not use the class are well.
    assert site.runner("pillar.show_pillar", "db1").data["secret"] == "swordfish"
    # The administrator finds the way to the class in the log of the master.
    log = site.log("master")
    assert f"node 'web1' includes 'role.web' at {site.inventory}/nodes/web1.yml" in log
    assert f"error[class-not-found]: no class 'gone' in '{site.inventory}/classes'" in log
    assert "\n2 │   - gone\n  │     ━━━━\n" in log
    assert "━" not in answer.text
    assert "hunter2" not in log


def test_all_is_well_after_the_error(site: Site) -> None:
    answer = site.salt("web1", "state.apply", "test=True")
    assert answer.code == 0, answer


def test_yaml_that_does_not_parse(site: Site, inventory: Edit) -> None:
    inventory({"classes/common": "parameters:\n  text: [hunter2\n"})
    answer = site.salt("web1", "state.apply")
    assert answer.code != 0
    assert f"{site.inventory}/classes/common.yml:" in answer.text
    assert "hunter2" not in answer.text


def test_a_value_that_cannot_be_carried(site: Site, inventory: Edit) -> None:
    inventory({"nodes/web1": "parameters: {a: {b: [1, 99999999999999999999]}}"})
    answer = site.salt("web1", "pillar.items")
    [error] = answer.data["web1"]["_errors"]
    assert "at 'a:b:1'" in error
    assert "9999" not in error


def test_what_is_too_deep_for_a_minion_is_an_error(site: Site, inventory: Edit) -> None:
    def nested(levels: int) -> str:
        return f"parameters: {{a: {'[' * levels}1{']' * levels}}}"

    # One level is the mapping of the parameters.
    inventory({"nodes/web1": nested(127)})
    assert site.call("web1", "state.show_top").code == 0
    assert site.salt("web1", "pillar.items").data["web1"]["a"]
    assert site.call("web1", "test.ping").code == 0
    inventory({"nodes/web1": nested(128)})
    [error] = site.salt("web1", "pillar.items").data["web1"]["_errors"]
    assert "more than 128 levels" in error
    assert f"{site.inventory}/nodes/web1.yml:1:" in error


def test_orchestration_renders_a_pillar_for_the_master(site: Site) -> None:
    site.write({"base/orchestrate": "nothing:\n  test.nop\n"}, "states", ".sls")
    answer = site.runner("state.orchestrate", "orchestrate")
    assert answer.code == 0, answer
    assert '"result": true' in answer.text


def test_a_minion_without_a_node(site: Site) -> None:
    answer = site.call("stranger", "state.apply")
    assert answer.code != 0
    assert "no node 'stranger'" in answer.text + answer.errors


FORGE = """
    import json, sys
    import salt.channel.client, salt.config
    opts = salt.config.minion_config(sys.argv[1] + "/minion")
    opts["master_uri"] = f"tcp://127.0.0.1:{opts['master_port']}"
    with salt.channel.client.ReqChannel.factory(opts) as channel:
        for claimed in sys.argv[2:]:
            load = {"cmd": "_master_tops", "id": opts["id"], "opts": {**opts, "id": claimed}}
            if hasattr(channel, "auth"):
                load["tok"] = channel.auth.gen_token(b"salt")
            print(json.dumps(channel.send(load, timeout=300)))
"""


def forge(site: Site, *claimed: str) -> list[str]:
    """The answers of the master to the minion `web1` that claims to be others."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORGE), str(site.folder / "web1"), *claimed],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[-len(claimed) :]


def test_a_minion_gets_no_top_but_its_own(site: Site) -> None:
    own, other, path = forge(site, "web1", "db1", "../nodes/db1")
    assert own == '{"base": ["common", "web"]}'
    for answer in (other, path):
        assert '"reclass-failed--refused--' in answer
        assert "database" not in answer
    assert "asked for the top of another id" in site.log("master")


def test_the_worker_of_the_master_survives_all_of_this(site: Site) -> None:
    for _ in range(6):
        assert site.salt("web1", "pillar.items").data["web1"]["listen"] == "10.0.0.1:80"


def test_a_top_that_fails_makes_states_fail(make_site: MakeSite) -> None:
    # Tops alone: no error of a pillar stops the states before.
    site = make_site(ext_pillar=[])
    site.write(
        {"base/top": "base:\n  '*': [plain]\n", "base/plain": "plain:\n  test.nop\n"}, "states", ".sls"
    )
    site.write({"nodes/web1": "classes: [gone]"})
    site.start_master()
    answer = site.call("web1", "state.apply", "test=True")
    assert answer.code != 0, answer
    assert "reclass-failed--class-not-found--" in answer.text
    assert "no-class-gone" in answer.text
    site.write({"nodes/web1": "applications: [database]"})
    answer = site.call("web1", "state.apply", "test=True")
    assert answer.code == 0, answer
    assert {state["__id__"] for state in answer.data.values()} == {"plain", "database"}


@pytest.mark.parametrize("setting", ["empty", "mappings"])
def test_minions_without_a_node_as_the_setting_says(make_site: MakeSite, setting: str) -> None:
    site = make_site({"node_not_found": setting, "class_mappings": ["new* common"]})
    site.start_master()
    pillar = site.call("new1", "pillar.items").data
    top = site.call("new1", "state.show_top").data
    if setting == "empty":
        assert pillar == {}
        assert top == {}
    else:
        assert pillar["text"] == "hello"
        assert pillar["__reclass__"]["classes"] == ["common"]
        assert top == {"base": ["common"]}


def test_environments_that_minions_ask_for(make_site: MakeSite) -> None:
    site = make_site({"allow_adapter_env_override": True})
    site.start_master()
    assert site.call("web1", "state.show_top").data == {"base": ["common", "web"]}
    site.configure_minion("web1", pillarenv="dev", saltenv="dev")
    assert site.call("web1", "state.show_top").data == {"dev": ["common", "web"]}
    assert site.call("web1", "pillar.items").data["__reclass__"]["environment"] == "dev"
    # What the runner shows is what a minion gets that asks for nothing.
    assert site.runner("pillar.show_pillar", "dev1").data["__reclass__"]["environment"] == "dev"
    answer = site.runner("pillar.show_pillar", "dev1", "pillarenv=base")
    assert answer.data["__reclass__"]["environment"] == "base"


def test_masterless_with_the_pillar_so_far(make_site: MakeSite) -> None:
    site = make_site()
    site.write({"nodes/web1": "parameters: {both: [node], ours: [node], seen: '${sls}'}"})
    site.write({"top": "base:\n  '*': [data]\n", "data": "both: [sls]\nsls: 1\n"}, "pillar", ".sls")
    reclass = {"inventory_base_uri": str(site.inventory), "propagate_pillar_data_to_reclass": True}
    site.configure_minion(
        "web1",
        file_client="local",
        pillar_roots={"base": [str(site.folder / "pillar")]},
        ext_pillar=[{"reclass": reclass}],
    )
    # Salt renders twice here, the second time on top of the first.
    pillar = site.call("web1", "--local", "pillar.items").data
    assert "_errors" not in pillar
    assert (pillar["both"], pillar["ours"], pillar["seen"], pillar["sls"]) == (
        ["sls", "node"],
        ["node"],
        1,
        1,
    )


def test_masterless(make_site: MakeSite) -> None:
    site = make_site()
    reclass = {"inventory_base_uri": str(site.inventory)}
    site.configure_minion(
        "web1",
        file_client="local",
        file_roots={"base": [str(site.folder / "states" / "base")]},
        ext_pillar=[{"reclass": reclass}],
        master_tops={"reclass": reclass},
    )
    assert without_automatic(site.call("web1", "--local", "pillar.items").data) == {
        **WEB1,
        "__reclass__": ABOUT_WEB1,
    }
    import salt.version

    if salt.version.__saltstack_version__.major >= 3007:
        # Before, Salt asked no module for the tops of a minion without a master.
        assert site.call("web1", "--local", "state.show_top").data == {"base": ["common", "web"]}
        answer = site.call("web1", "--local", "state.apply", "test=True")
        assert answer.code == 0, answer
        assert changes(answer.data) == {"hello": None, "10.0.0.1:80": None}
