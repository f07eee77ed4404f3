"""Soft metadata and nodes are read and edited through a real master, minion, runner, state and event."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.salt.conftest import PROGRAMS

if TYPE_CHECKING:
    from tests.salt.conftest import Answer, MakeSite, Site

ROOT = Path(__file__).resolve().parent.parent.parent

OVERRIDES = textwrap.dedent("""\
    # Soft metadata of Prague. Edited by hand and by Salt.
    parameters:
      _param:
        address: '10.0.0.1'   # of the router

        secret: &secret hunter2
        also: *secret
      other: {a: 1, b: [2, 3]}
    # the end""")
FILES = {
    "nodes/web1": """
        classes: [cluster.prague.overrides, role.web]
        parameters: {linux: {system: {cluster: x}}}
    """,
    "nodes/db1": "classes: [gone]",
    "classes/role/web": "applications: [web]\nparameters: {web: {server: {listen: '${_param:address}:80'}}}",
    "classes/cluster/overrides": "parameters: {_param: {outer: 1}}",
}
READING = """class_get class_list cluster_meta_get cluster_meta_list explain get_cluster_param graph_data
    inventory lint list_cluster_params node_get node_list node_pillar soft_meta_get soft_meta_list
    validate_pillar validate_yaml"""
EDITING = """cluster_meta_delete cluster_meta_set delete_cluster_param node_classify node_create node_delete
    node_update set_cluster_param"""


@pytest.fixture(scope="module")
def salt(make_site: MakeSite) -> Site:
    site = make_site(**yaml.safe_load((ROOT / "examples/reactor/master.conf").read_text()))
    # As the example says, `reactor` is a folder of the states.
    shutil.copytree(ROOT / "examples/reactor", site.folder / "states/base/reactor")
    site.start_master()
    site.start_minion("web1", reclass={"inventory_base_uri": str(site.inventory)})
    return site


@pytest.fixture
def overrides(salt: Site) -> Path:
    """The metadata file of Prague, in an inventory that is new for each test."""
    shutil.rmtree(salt.inventory)
    salt.write(FILES)
    path = salt.inventory / "classes/cluster/prague/overrides.yml"
    path.parent.mkdir(parents=True)
    path.write_text(OVERRIDES)
    return path


def run(salt: Site, *arguments: str) -> Any:
    """What a function of the execution module returns."""
    answer = salt.salt("web1", *arguments)
    assert answer.code == 0, answer
    return answer.data["web1"]


def refused(answer: Answer, reason: str) -> None:
    """An error is an error to scripts as well."""
    assert answer.code == 1, answer
    assert reason in answer.text + answer.errors, answer
    assert "Traceback" not in answer.text, answer


def test_every_function_is_documented_with_an_example(salt: Site) -> None:
    answer = salt.salt("web1", "sys.doc", "reclass")
    documented = dict(re.findall(r'"reclass\.(\w+)": "(.*?)(?="reclass\.|\}\s*$)', answer.text, re.DOTALL))
    assert {*READING.split(), *EDITING.split(), "cache_info", "diff", "top"} <= set(documented), answer
    for name, text in documented.items():
        assert "CLI Example:" in text, name
        assert f"salt-call reclass.{name}" in text, name
    command = ["salt-run", "--config-dir", salt.folder / "master", "-d", "reclass"]
    shown = subprocess.run([PROGRAMS / command[0], *command[1:]], capture_output=True, text=True, check=True)
    for name in (
        *READING.split(),
        *EDITING.split(),
        *("cache_info", "classify_minion", "declassify_minion", "diff", "nodes", "show_pillar", "show_top"),
        *("check", "compare", "drift", "impact", "orphans", "refresh", "status", "versions"),
    ):
        assert f"salt-run reclass.{name}" in shown.stdout, name


def test_a_parameter_is_set_in_place_and_the_next_pillar_shows_it(salt: Site, overrides: Path) -> None:
    assert run(salt, "pillar.items")["web"]["server"]["listen"] == "10.0.0.1:80"
    done = run(salt, "reclass.set_cluster_param", "address", "10.0.0.2", "cluster=prague")
    assert (done["changed"], done["old"], done["new"]) == (True, "10.0.0.1", "10.0.0.2")
    assert done["comment"] == "parameter 'address' has been set"
    assert overrides.read_text() == OVERRIDES.replace("10.0.0.1", "10.0.0.2")
    for _ in range(4):  # whichever worker of the master answers
        assert run(salt, "pillar.items")["web"]["server"]["listen"] == "10.0.0.2:80"

    again = run(salt, "reclass.set_cluster_param", "address", "10.0.0.2", "cluster=prague")
    assert (again["changed"], again["diff"]) == (False, "")
    assert again["comment"] == "parameter 'address' is set already"


def test_values_of_any_type(salt: Site, overrides: Path) -> None:
    for text, value in [
        ("5", 5),
        ("1.5", 1.5),
        ("True", True),
        ("[a, {b: c}]", ["a", {"b": "c"}]),
        ("{x: {y: [1]}}", {"x": {"y": [1]}}),
        ("two words", "two words"),
    ]:
        run(salt, "reclass.set_cluster_param", "new", text, "cluster=prague")
        assert run(salt, "reclass.get_cluster_param", "new", "cluster=prague") == value
        assert run(salt, "reclass.delete_cluster_param", "new", "cluster=prague")["old"] == value
        assert overrides.read_text() == OVERRIDES


def test_a_test_says_what_would_be_done(salt: Site, overrides: Path) -> None:
    wanted = run(salt, "reclass.set_cluster_param", "x", "1", "cluster=prague", "test=True")
    assert wanted["comment"] == "parameter 'x' would be set"
    assert overrides.read_text() == OVERRIDES
    done = run(salt, "reclass.set_cluster_param", "x", "1", "cluster=prague")
    assert done["diff"] == wanted["diff"]
    assert [line for line in done["diff"].splitlines() if line[:1] in "+-"][2:] == ["+    x: 1"]


def test_the_functions_of_salt_formula_reclass_for_clusters(salt: Site, overrides: Path) -> None:
    params = {"address": "10.0.0.1", "secret": "hunter2", "also": "hunter2"}
    data = {"parameters": {"_param": params, "other": {"a": 1, "b": [2, 3]}}}
    assert run(salt, "reclass.cluster_meta_list", "cluster=prague") == data
    assert run(salt, "reclass.list_cluster_params", "cluster=prague") == params
    assert run(salt, "reclass.cluster_meta_list") == {"parameters": {"_param": {"outer": 1}}}
    assert run(salt, "reclass.cluster_meta_list", "cluster=vienna") == {}
    assert run(salt, "reclass.cluster_meta_get", "address", "cluster=prague") == {"address": "10.0.0.1"}
    assert run(salt, "reclass.cluster_meta_get", "none", "overrides.yml", "prague") == {}
    assert run(salt, "reclass.get_cluster_param", "none", "default=5") == 5
    refused(salt.salt("web1", "reclass.get_cluster_param", "none"), "no parameter 'none'")

    set_ = ("reclass.cluster_meta_set", "foo", "bar", "overrides.yml", "prague")
    assert run(salt, *set_) == {"foo": "bar"}
    assert run(salt, *set_) == {"foo": "Cluster metadata entry foo already exists and is in correct state"}
    delete = ("reclass.cluster_meta_delete", "foo", "cluster=prague")
    assert run(salt, *delete) == "Cluster metadata entry foo deleted"
    assert run(salt, *delete) == {}
    assert overrides.read_text() == OVERRIDES


def test_the_functions_of_salt_formula_reclass_for_files(salt: Site, overrides: Path) -> None:
    web = {
        "file": f"{salt.inventory}/classes/role/web.yml",
        "params_required": ["address"],
    }
    assert run(salt, "reclass.class_get", "classes.role.web") == {"classes.role.web": web}
    listed = run(salt, "reclass.class_list")
    assert listed[".classes.role.web"] == web
    assert listed[".nodes.web1"]["includes"] == ["cluster.prague.overrides", "role.web"]
    assert listed[".classes.cluster.overrides"]["params_created"] == {"outer": 1}
    address = {
        "created_at": {".classes.cluster.prague.overrides": "10.0.0.1"},
        "required_at": [".classes.role.web"],
    }
    assert run(salt, "reclass.soft_meta_get", "address") == {"address": address}
    assert run(salt, "reclass.soft_meta_list")["address"] == address
    refused(salt.salt("web1", "reclass.soft_meta_get", "nope"), "no soft parameter 'nope'")
    refused(salt.salt("web1", "reclass.class_get", "nope"), "no class 'nope'")
    # One node is broken: the list fails, the validation says which, and the exit code says that.
    refused(salt.salt("web1", "reclass.inventory"), "no class 'gone'")
    answer = salt.salt("web1", "reclass.validate_pillar")
    assert answer.code == 1
    assert answer.data["web1"]["web1"] == ""
    assert f"{salt.inventory}/nodes/db1.yml:1:11: node 'db1': no class 'gone'" in answer.data["web1"]["db1"]
    assert run(salt, "reclass.validate_pillar", "web1") == {"web1": ""}
    (salt.inventory / "nodes/db1.yml").unlink()
    assert run(salt, "reclass.inventory") == {
        "web1": {
            "roles": ["other.a", "other.b", "web.server", "linux.system"],
            "services": ["other", "web", "linux"],
        }
    }
    assert run(salt, "reclass.node_pillar", "web1")["web1"]["__reclass__"]["nodename"] == "web1"
    assert run(salt, "reclass.top", "web1") == {"base": ["web"]}
    explained = run(salt, "reclass.explain", "web1", "web:server:listen")
    assert f"{salt.inventory}/classes/role/web.yml" in str(explained)
    refused(salt.salt("web1", "reclass.diff", "/etc"), "must be revisions of git")
    refused(salt.salt("web1", "reclass.diff", "HEAD"), "cannot read the revision")
    assert salt.salt("web1", "reclass.lint").code == 0
    (salt.inventory / "nodes/db1.yml").write_text("classes: [gone]")
    answer = salt.salt("web1", "reclass.lint")
    assert (answer.code, bool(answer.data["web1"])) == (1, True), answer
    assert {"code", "level", "message", "site"} <= set(answer.data["web1"][0])
    (salt.inventory / "nodes/db1.yml").unlink()
    assert run(salt, "reclass.validate_yaml") is None
    (salt.inventory / "classes/bad.yml").write_text("a: [1\n")
    answer = salt.salt("web1", "reclass.validate_yaml")
    assert answer.code == 1
    [error] = answer.data["web1"]["Errors"]
    assert error.startswith(f"{salt.inventory}/classes/bad.yml:2:1: ")


def test_the_functions_of_salt_formula_reclass_for_nodes(salt: Site, overrides: Path) -> None:
    web1 = {
        "name": "web1",
        "domain": "",
        "cluster": "x",
        "environment": "prd",
        "path": "",
        "classes": ["cluster.prague.overrides", "role.web"],
        "parameters": {},
    }
    assert run(salt, "reclass.node_get", "web1") == {"web1": web1}
    assert run(salt, "reclass.node_list")["web1"] == web1
    made = {
        "name": "web2",
        "domain": "example.com",
        "cluster": "prague",
        "environment": "dev",
        "path": "_generated",
        "classes": ["role.web"],
        "parameters": {"address": "10.0.0.9"},
    }
    create = (
        "reclass.node_create",
        "web2.example.com",
        "path=_generated",
        "cluster=prague",
        "environment=dev",
        "classes=[role.web]",
        'parameters={"address": "10.0.0.9"}',
    )
    nodes = {"rendered": 1, "changed": 1, "broken": 0}
    assert run(salt, *create) == {"web2.example.com": {**made, "nodes": nodes}}
    file = salt.inventory / "nodes/_generated/web2.example.com.yml"
    text = textwrap.dedent("""\
        classes:
          - role.web
        parameters:
          _param:
            address: 10.0.0.9
          linux:
            system:
              name: web2
              domain: example.com
              cluster: prague
              environment: dev
        """)
    assert file.read_text() == text
    assert run(salt, *create) == {"web2.example.com": made}
    assert run(salt, "reclass.node_pillar", "web2.example.com")["web2.example.com"]["web"]["server"] == {
        "listen": "10.0.0.9:80"
    }
    file.write_text("# mine\n" + text)
    salt.write({"classes/common": "applications: []"})
    update = (
        "reclass.node_update",
        "web2.example.com",
        "classes=[common, role.web, common]",
        "parameters={address: x}",
    )
    updated = run(salt, *update)["web2.example.com"]
    assert (updated["classes"], updated["parameters"]) == (["role.web", "common"], {"address": "x"})
    assert (updated["cluster"], updated["nodes"]) == ("prague", nodes)
    assert file.read_text().startswith("# mine\nclasses:\n  - role.web\n  - common\n")
    refused(
        salt.salt("web1", "reclass.node_delete", "web2.example.com", "path=other"), "is not in the folder"
    )
    assert run(salt, "reclass.node_delete", "web2.example.com") == "Node web2.example.com deleted"
    assert not file.exists()
    refused(salt.salt("web1", "reclass.node_delete", "web2.example.com"), "no node 'web2.example.com'")
    refused(salt.salt("web1", "reclass.node_get", "web2.example.com"), "no node 'web2.example.com'")
    refused(salt.salt("web1", "reclass.node_update", "web2.example.com"), "no node 'web2.example.com'")


def test_what_is_refused_is_an_error_and_changes_nothing(salt: Site, overrides: Path) -> None:
    secret = salt.folder / "secret.yml"
    secret.write_text("parameters: {_param: {a: swordfish}}\n")
    overrides.with_name("link.yml").symlink_to(secret)
    cases = [
        (("reclass.cluster_meta_list", str(secret)), "it is an absolute path"),
        (("reclass.cluster_meta_list", "../../../../secret.yml"), "it begins with '-' or '.'"),
        (("reclass.cluster_meta_set", "a", "b", str(secret)), "it is an absolute path"),
        (("reclass.set_cluster_param", "a", "b", "cluster=../../.."), "it begins with '-' or '.'"),
        (("reclass.set_cluster_param", "a", "b", "cluster=vienna"), "cannot read the folder"),
        (("reclass.set_cluster_param", "a b", "c", "cluster=prague"), "only letters"),
        (("reclass.set_cluster_param", "a", "b", "prague", "link.yml"), "leads out of the inventory"),
        (("reclass.get_cluster_param", "a", "prague", "link.yml"), "leads out of the inventory"),
        (("reclass.set_cluster_param", "a", "b", "prague", "file_name=x.txt"), "must end with '.yml'"),
        (("reclass.set_cluster_param", "a", "x ${_param:secret}", "prague"), "holds a reference"),
        (("reclass.set_cluster_param", "secret", "x", "prague"), "aliases refer to its anchor '&secret'"),
        (("reclass.set_cluster_param", "a", "x", "file_name=[1]"), "a name must be text"),
        (("reclass.node_create", "../web3"), "it begins with '-' or '.'"),
        (("reclass.node_create", "web3", "path=/tmp"), "it is an absolute path"),
        (("reclass.node_create", "web3", 'classes=["${_param:x}"]'), "only letters"),
        (("reclass.node_create", "web3", "classes=a b"), "not JSON"),
        (("reclass.node_delete", "web1", "tset=True"), "has no argument 'tset'; 'test' is similar"),
        (("reclass.node_list", "pth=x"), "node_list has no argument 'pth'; 'path' is similar"),
    ]
    before = {path: path.read_bytes() for path in salt.folder.rglob("*.yml")}
    for arguments, reason in cases:
        answer = salt.salt("web1", *arguments)
        refused(answer, reason)
        assert "swordfish" not in answer.text
    # The same in the programs that people type into.
    refused(salt.call("web1", *cases[0][0]), cases[0][1])
    refused(salt.runner(*cases[0][0]), cases[0][1])
    for case in (cases[3], cases[-2], cases[-1]):
        refused(salt.runner(*case[0]), case[1])
    answer = salt.runner("reclass.show_pillar", "web9")
    assert answer.data.startswith("reclass: no node 'web9' in "), answer
    assert {path: path.read_bytes() for path in salt.folder.rglob("*.yml")} == before
    done = run(salt, "reclass.set_cluster_param", "a", "x ${_param:address}", "prague", "interpolate=True")
    assert done["new"] == "x ${_param:address}"
    assert run(salt, "pillar.items")["_param"]["a"] == "x 10.0.0.1"


def test_the_runner_works_on_the_inventory_of_the_master(salt: Site, overrides: Path) -> None:
    (salt.inventory / "nodes/db1.yml").unlink()
    pillar = salt.runner("reclass.show_pillar", "web1")
    assert pillar.code == 0, pillar
    assert pillar.data == run(salt, "reclass.node_pillar", "web1")["web1"]
    for name in ("show_top", "top"):
        assert salt.runner(f"reclass.{name}", "web1").data == {"base": ["web"]}
    assert salt.runner("reclass.nodes").data == ["web1"]
    refused(salt.runner("reclass.show_pillar", "web9"), "no node 'web9'")
    explained = salt.runner("reclass.explain", "web9")
    refused(explained, "error[node-not-found]: no node 'web9'")
    arguments = {
        "class_get": ["classes.role.web"],
        "cluster_meta_get": ["address", "cluster=prague"],
        "cluster_meta_list": ["cluster=prague"],
        "get_cluster_param": ["address", "prague"],
        "list_cluster_params": ["prague"],
        "node_get": ["web1"],
        "explain": ["web1", "web:server:listen"],
        "node_pillar": ["web1"],
        "soft_meta_get": ["address"],
    }
    graph = salt.runner("reclass.graph_data")
    assert graph.code == 0, graph
    refused(salt.salt("web1", "reclass.graph_data"), "run 'salt-run reclass.graph_data' there")
    services = [(service["host"], service["service"]) for service in graph.data["graph"]]
    assert services == [("web1", role) for role in ("other.a", "other.b", "web.server", "linux.system")]
    # The module asks minions as its own minion's master would, which only works beside a real one.
    for name in set(READING.split()) - {"graph_data", "lint"}:
        answer = salt.runner(f"reclass.{name}", *arguments.get(name, []))
        assert answer.code == 0, answer
        assert answer.data == run(salt, f"reclass.{name}", *arguments.get(name, [])), name

    figures = salt.runner("reclass.cache_info")
    assert figures.code == 0, figures
    assert set(figures.data) == set(run(salt, "reclass.cache_info"))
    findings = salt.runner("reclass.lint", "web1")
    assert findings.code == 0, findings
    assert findings.data == salt.salt("web1", "reclass.lint", "web1").data["web1"]

    done = salt.runner("reclass.set_cluster_param", "address", "10.0.0.2", "prague").data
    assert done["changed"]
    assert overrides.read_text() == OVERRIDES.replace("10.0.0.1", "10.0.0.2")
    assert run(salt, "pillar.items")["web"]["server"]["listen"] == "10.0.0.2:80"
    assert salt.runner("reclass.cluster_meta_set", "x", "1", "cluster=prague").data == {"x": 1}
    assert salt.runner("reclass.cluster_meta_delete", "x", "cluster=prague").data.endswith("x deleted")
    assert salt.runner("reclass.delete_cluster_param", "none", "prague").data["changed"] is False
    # Nothing has the address that the class needs.
    breaks = salt.runner("reclass.node_create", "web3", "classes=[role.web]")
    refused(breaks, "it would break a node (edit-breaks)")
    refused(breaks, "node 'web3': no parameter '_param' for '${_param:address}'")
    classes = "classes=[cluster.prague.overrides, role.web]"
    assert "web3" in salt.runner("reclass.node_create", "web3", classes).data
    nodes = salt.runner("reclass.set_cluster_param", "x", "1", "prague", "test=True").data["nodes"]
    assert (nodes["changed"], nodes["broken"]) == (2, 0)
    assert salt.runner("reclass.set_cluster_param", "x", "${a}", "prague", "interpolate=True").code == 1
    assert salt.runner("reclass.node_update", "web3", "classes=[gone]", "force=True").code == 0
    assert salt.runner("reclass.node_delete", "web3").code == 0
    assert "web3" in salt.runner("reclass.node_create", "web3", classes).data
    assert salt.runner("reclass.node_update", "web3", "parameters={a: 1}").data["web3"]["parameters"] == {
        "a": 1
    }
    assert salt.runner("reclass.node_delete", "web3").data == "Node web3 deleted"
    (salt.inventory / "nodes/db1.yml").write_text("classes: [gone]")
    refused(salt.runner("reclass.validate_pillar"), "db1: reclass: ")
    assert salt.runner("reclass.validate_pillar", "web1").data == {"web1": ""}


STATES = """
    web3.example.com:
      reclass.node_present:
        - path: _generated
        - reclass_environment: dev
        - classes: [role.web]
        - parameters: {address: 10.0.0.3}
    address:
      reclass.cluster_param_present:
        - value: {a: [1, 2]}
        - cluster: prague
    gone:
      reclass.cluster_meta_absent:
        - name: outer
    web4:
      reclass.dynamic_node_present:
        - node_data: {ip: 10.0.0.4}
        - class_mapping:
            all:
              expression: all
              node_class: {value: [role.web]}
              node_param: {address: {value_template: <<ip>>}}
              cluster_param: {last: {value_template: <<ip>>}}
    # Below, as it edits a file that an edit above has changed.
    also:
      reclass.cluster_param_absent:
        - cluster: prague
    db1:
      reclass.node_absent: []
"""


def test_states(salt: Site, overrides: Path) -> None:
    salt.write({"base/edits": STATES}, "states", ".sls")
    before = {path: path.read_bytes() for path in salt.inventory.rglob("*") if path.is_file()}
    wanted = salt.salt("web1", "state.apply", "edits", "test=True")
    assert wanted.code == 0, wanted
    assert {path: path.read_bytes() for path in salt.inventory.rglob("*") if path.is_file()} == before
    done = salt.salt("web1", "state.apply", "edits")
    assert done.code == 0, done
    again = salt.salt("web1", "state.apply", "edits")
    assert again.code == 0, again

    def results(answer: Answer, key: str) -> dict[str, Any]:
        return {state["__id__"]: state[key] for state in answer.data["web1"].values()}

    assert set(results(wanted, "result").values()) == {None}
    assert set(results(done, "result").values()) == {True}
    # With `test=True` the edits before have not been made.
    before_it = ("also", "web4")
    exact = {name: change for name, change in results(wanted, "changes").items() if name not in before_it}
    assert exact.items() <= results(done, "changes").items()
    assert all(results(done, "changes").values())
    assert all(results(wanted, "changes").values())
    assert results(done, "changes")["address"]["old"] == "10.0.0.1"
    assert results(done, "changes")["address"]["new"] == {"a": [1, 2]}
    assert results(done, "changes")["gone"]["diff"].splitlines()[2:] == [
        "@@ -1 +1 @@",
        "-parameters: {_param: {outer: 1}}",
        "\\ No newline at end of file",
        "+parameters: {_param: {}}",
        "\\ No newline at end of file",
    ]
    assert set(results(done, "changes")["web4"]) == {"node", "last"}
    assert set(results(again, "result").values()) == {True}
    assert not any(results(again, "changes").values())
    assert results(again, "comment")["db1"] == "node 'db1' is absent already"
    assert run(salt, "reclass.node_pillar", "web4")["web4"]["web"]["server"]["listen"] == "10.0.0.4:80"
    [web3] = run(salt, "reclass.node_pillar", "web3.example.com").values()
    assert web3["__reclass__"]["environment"] == "dev"
    assert salt.runner("reclass.nodes").data == ["web1", "web3.example.com", "web4"]

    slip = "bad:\n  reclass.cluster_param_present:\n    - value: 1\n    - clustr: prague\n"
    salt.write({"base/slip": slip}, "states", ".sls")
    answer = salt.salt("web1", "state.apply", "slip")
    assert answer.code != 0, answer
    assert "clustr" in answer.text, answer
    assert "bad" not in run(salt, "reclass.list_cluster_params")

    failing = "bad:\n  reclass.cluster_param_present:\n    - value: 1\n    - cluster: ../..\n"
    salt.write({"base/failing": failing}, "states", ".sls")
    answer = salt.salt("web1", "state.apply", "failing")
    assert answer.code != 0
    [state] = answer.data["web1"].values()
    assert state["result"] is False
    assert "begins with '-' or '.'" in state["comment"]


ORCHESTRATION = """
    set the address:
      salt.runner:
        - name: reclass.set_cluster_param
        - arg: [address, 10.0.0.5]
        - {argument}: prague
"""


def test_an_orchestration(salt: Site, overrides: Path) -> None:
    for argument in ("clustr", "cluster"):
        salt.write({"base/orchestration": ORCHESTRATION.format(argument=argument)}, "states", ".sls")
        answer = salt.runner("state.orchestrate", "orchestration")
        assert (answer.code == 0) is (argument == "cluster"), answer
        assert ("10.0.0.5" in overrides.read_text()) is (argument == "cluster")
        assert ("has no argument 'clustr'; 'cluster' is similar" in answer.text) is (argument == "clustr")


def say(salt: Site, minion: str, data: str) -> None:
    """Sets what a minion says of its machine. The next `salt-call` sends it to the master."""
    answer = salt.call(minion, "grains.setval", "reclass", data)
    assert answer.code == 0, answer


def send_until(condition: Any, salt: Site, minion: str, tag: str) -> None:
    """Sends an event until it has its effect. The minion that runs beside it may have just sent its old
    grains to the master again."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end, salt.log("master")[-5000:]
        answer = salt.call(minion, "event.send", tag)
        assert answer.code == 0, answer
        soon = time.monotonic() + 5
        while not condition() and time.monotonic() < soon:
            time.sleep(0.1)


@pytest.fixture
def generated(salt: Site, overrides: Path) -> Path:
    """The folder of the nodes that events make; the rules of the example are for the example's classes."""
    (salt.inventory / "nodes/web1.yml").unlink()
    (salt.inventory / "nodes/db1.yml").unlink()
    shutil.copytree(ROOT / "examples/inventory/classes", salt.inventory / "classes", dirs_exist_ok=True)
    return salt.inventory / "nodes/_generated"


def test_an_event_classifies_the_minion_that_sent_it(salt: Site, generated: Path) -> None:
    file = generated / "web1.yml"
    say(
        salt,
        "web1",
        "{'node_ip': '10.0.0.7', 'node_name': 'db1.example.com', 'junk': '${secret} {{ 7 * 7 }}'}",
    )
    # What the event itself says counts for nothing.
    answer = salt.call("web1", "event.send", "reclass/minion/classify", "{'node_ip': '10.9.9.9'}")
    assert answer.code == 0, answer
    send_until(file.exists, salt, "web1", "reclass/minion/classify")
    assert file.read_text() == textwrap.dedent("""\
        classes:
          - site.lan
          - role.web
        parameters:
          _param:
            address: 10.0.0.7
        """)
    edit = f"edit: node 'web1' created in '{file}' by classify_minion, user Reactor, job "
    send_until(lambda: edit in salt.log("master"), salt, "web1", "reclass/minion/classify")
    # It said it was the database, but a rule asks for the id that Salt has authenticated.
    assert "database_address" not in (salt.inventory / "classes/cluster/overrides.yml").read_text()
    assert run(salt, "pillar.items")["nginx"]["listen"]
    assert run(salt, "state.show_top") == {"base": ["motd", "nginx"]}
    # Again, with another address.
    say(salt, "web1", "{'node_ip': '10.0.0.8'}")
    send_until(lambda: "10.0.0.8" in file.read_text(), salt, "web1", "reclass/minion/classify")
    # What could be taken for a reference is refused.
    say(salt, "web1", "{'node_ip': '${_param:domain}'}")
    refused = "minion 'web1' is not classified: what is known of 'node_ip' could be taken for a reference"
    send_until(lambda: refused in salt.log("master"), salt, "web1", "reclass/minion/classify")
    assert "10.0.0.8" in file.read_text()
    say(salt, "web1", "false")
    send_until(lambda: not file.exists(), salt, "web1", "reclass/minion/declassify")


SEND_EVENTS = """
    import json, sys
    import salt.channel.client, salt.config
    opts = salt.config.minion_config(sys.argv[1] + "/minion")
    opts["master_uri"] = f"tcp://127.0.0.1:{opts['master_port']}"
    with salt.channel.client.ReqChannel.factory(opts) as channel:
        load = {"cmd": "_minion_event", "id": opts["id"], **json.loads(sys.argv[2])}
        if hasattr(channel, "auth"):
            load["tok"] = channel.auth.gen_token(b"salt")
        channel.send(load, timeout=300)
"""


def send_events(salt: Site, minion: str, load: dict[str, Any]) -> None:
    """Sends events as a program on the machine of a minion can, with the key of that minion."""
    command = [sys.executable, "-c", textwrap.dedent(SEND_EVENTS), salt.folder / minion, json.dumps(load)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pretag", [None, "reclass"])
def test_an_event_in_the_name_of_another_minion_changes_nothing(
    salt: Site, generated: Path, pretag: str | None
) -> None:
    """Salt passes such events on: see `daemons/masterapi.py`, `_minion_event`."""
    victim, forger = "db1.example.com", "web1"
    say(salt, victim, "{'node_ip': '10.0.0.2'}")
    file = generated / f"{victim}.yml"
    # The parameter of the cluster is the last that is written; it may still be there from a test before.
    metadata = salt.inventory / "classes/cluster/overrides.yml"
    send_until(
        lambda: file.exists() and "database_address: 10.0.0.2" in metadata.read_text(),
        salt,
        victim,
        "reclass/minion/classify",
    )
    before = {path: path.read_bytes() for path in salt.inventory.rglob("*.yml")}

    refusals = (
        f"the grain 'reclass' of minion '{victim}' is not false: its node stays",
        "the master has no grains of minion 'stranger'",
        "a name must be text, not a list",
    )
    before_events = [salt.log("master").count(refusal) for refusal in refusals]
    base = "" if pretag else "reclass/"
    lie = {"id": victim, "data": {"node_ip": "10.6.6.6"}, "cmd": "_minion_event"}
    names: list[Any] = ["stranger", "../web9", "${x}", "{{ 7 * 7 }}", ["db1"], {"a": 1}, None, "a\nb: c"]
    for what in ("declassify", "classify"):
        events = [{"tag": f"{base}minion/{what}", "data": {**lie, "id": name}} for name in [victim, *names]]
        send_events(salt, forger, {"events": events, "pretag": pretag})
    # The last reaction of all, so those before are done.
    say(salt, forger, "{'node_ip': '10.0.0.9'}")
    last = generated / f"{forger}.yml"
    send_until(last.exists, salt, forger, "reclass/minion/classify")
    assert all(
        salt.log("master").count(refusal) > count
        for refusal, count in zip(refusals, before_events, strict=True)
    )
    after = {path: path.read_bytes() for path in salt.inventory.rglob("*.yml")}
    assert "10.0.0.9" in after.pop(last).decode()
    assert after == before
    # Who asks on its own behalf is heard.
    say(salt, victim, "false")
    send_until(lambda: not file.exists(), salt, victim, "reclass/minion/declassify")


def test_edits_of_two_masters_are_all_there(salt: Site, overrides: Path) -> None:
    def edit(number: int) -> None:
        name, value = f"name{number}", str(number)
        if number % 2:
            answer = salt.runner("reclass.set_cluster_param", name, value, "prague")
        else:
            answer = salt.call("web1", "--local", "reclass.set_cluster_param", name, value, "prague")
        assert answer.code == 0, str(answer)

    # Salt makes the folders of a minion at its first start, and fails where two programs make the same.
    edit(0)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(edit, range(1, 18)))
    found = run(salt, "reclass.list_cluster_params", "prague")
    assert {name: value for name, value in found.items() if name.startswith("name")} == {
        f"name{number}": number for number in range(18)
    }
    assert [line for line in overrides.read_text().splitlines() if not line.startswith("    name")] == (
        OVERRIDES.splitlines()
    )


def test_a_minion_without_an_inventory_says_so(salt: Site) -> None:
    salt.configure_minion("bare")
    answer = salt.call("bare", "--local", "reclass.list_cluster_params")
    refused(answer, "no inventory is configured on this minion")


def test_a_minion_beside_a_master_takes_its_inventory(salt: Site, overrides: Path) -> None:
    folder = salt.configure_minion("beside")
    shutil.copy(salt.folder / "master/master", folder / "master")
    answer = salt.call("beside", "--local", "reclass.get_cluster_param", "address", "prague")
    assert (answer.code, answer.data) == (0, "10.0.0.1"), answer
