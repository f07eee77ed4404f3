"""The API of reclass-rs: its promises, and answers beside those of reclass-rs where it is installed."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from saltext.reclass import ReclassError, _engine, reclass_rs
from saltext.reclass.reclass_rs import CompatFlag, Config, Reclass

Write = Callable[[dict[str, str]], Path]

ROOT = Path(__file__).resolve().parent.parent.parent
# The peers that times are compared with, and the recorded inventories of tests/oracles/conformance.
PEERS = ROOT / ".venv-bench" / "bin" / "python"
REAL = Path(os.environ.get("RECLASS_SHARED", ROOT.parent / "shared")) / "conformance" / "real"
# The inventories with nodes that differ from reclass-rs, and the rulings (docs/semantics.md).
RULINGS = {
    "bkupidura-k8s": "S12, Y1",
    "kapicorp-examples": "S9, S12, Y1",
    "kapicorp-reference": "Y1",
    "madduck-examples": "S9, S12, Y1",
    "mirantis-stacklight": "S12, Y1, Y2",
    "nexenio-reference": "Y1, Y2",
    "reclassrs-inventory": "S8, R2",
    "swanncroiset-mk-lab": "S12, Y1",
    "tcpcloud-workshop": "S12, Y2",
    "tlichten-mk-packet": "S12, Y2",
}
# reclass-rs overflows its stack on classes that include one another (S7).
CRASHES = {"goreclass-extended-with-class-loop", "nodeclass-node-001"}

SITE = {
    "nodes/web1": """
        classes: [role.web, site]
        environment: prod
        applications: [cron]
        parameters:
          address: 10.0.0.1
          servers: $[ exports:address ]
    """,
    "nodes/db1": """
        classes: [site]
        applications: [postgresql, cron]
        environment: prod
    """,
    "classes/role/web/init": """
        applications: [nginx]
        parameters:
          listen: ${address}:80
        exports:
          address: ${address}
    """,
    "classes/site": "",
}


@pytest.fixture
def site(write: Write) -> Path:
    return write(SITE)


def test_a_node(site: Path) -> None:
    before = datetime.now().astimezone()
    node = Reclass(str(site)).nodeinfo("web1")
    assert node.applications == ["nginx", "cron"]
    assert node.classes == ["role.web", "site"]
    assert node.exports == {"address": "10.0.0.1"}
    assert node.parameters["listen"] == "10.0.0.1:80"
    assert node.parameters["servers"] == {"web1": "10.0.0.1"}
    meta = node.__reclass__
    assert (meta.node, meta.name, meta.environment) == ("web1", "web1", "prod")
    assert meta.uri == f"yaml_fs://{site}/nodes/web1.yml"
    assert before <= meta.render_time <= datetime.now().astimezone()
    assert node.reclass_as_dict() == {
        "node": "web1",
        "name": "web1",
        "uri": f"yaml_fs://{site}/nodes/web1.yml",
        "environment": "prod",
        "timestamp": meta.render_time.strftime("%c"),
    }
    assert node.as_dict() == {
        "__reclass__": node.reclass_as_dict(),
        "applications": node.applications,
        "classes": node.classes,
        "environment": "prod",
        "exports": node.exports,
        "parameters": node.parameters,
    }


def test_an_inventory(site: Path) -> None:
    inventory = Reclass(str(site)).inventory()
    assert inventory.applications == {
        "nginx": ["web1"],
        "cron": ["db1", "web1"],
        "postgresql": ["db1"],
    }
    assert inventory.classes == {"role.web": ["web1"], "site": ["db1", "web1"]}
    assert sorted(inventory.nodes) == ["db1", "web1"]
    data = inventory.as_dict()
    assert sorted(data) == ["__reclass__", "applications", "classes", "nodes"]
    assert data["nodes"]["web1"] == inventory.nodes["web1"].as_dict()
    assert sorted(data["__reclass__"]) == ["timestamp"]


def test_the_files_of_names_are_below_their_folders(site: Path) -> None:
    reclass = Reclass(str(site))
    assert reclass.nodes == {"db1": Path("db1.yml"), "web1": Path("web1.yml")}
    assert reclass.classes == {"role.web": Path("role/web/init.yml"), "site": Path("site.yml")}


def test_an_edit_shows_in_the_next_answer(site: Path) -> None:
    reclass = Reclass(str(site))
    assert reclass.nodeinfo("db1").parameters.get("added") is None
    (site / "classes" / "site.yml").write_text("parameters: {added: 1}\n")
    assert reclass.nodeinfo("db1").parameters["added"] == 1
    (site / "nodes" / "new.yml").write_text("classes: [site]\n")
    assert reclass.nodes["new"] == Path("new.yml")
    assert reclass.inventory().nodes["new"].parameters["added"] == 1


def test_settings_of_a_dict(site: Path) -> None:
    made = Config.from_dict(
        str(site),
        {
            "storage_type": "yaml_fs",
            "inventory_base_uri": "/elsewhere",
            "nodes_uri": "nodes",
            "classes_uri": str(site / "classes"),
            "class_mappings": ["web* site"],
            "class_mappings_match_path": True,
            "compose_node_name": True,
            "ignore_class_notfound": True,
            "ignore_class_notfound_regexp": ["site"],
            "ignore_overwritten_missing_references": False,
            "verbose_warnings": True,
            "reclass_rs_compat_flags": ["compose-node-name-literal-dots", "nested_reference_null_as_none"],
        },
    )
    assert made.inventory_path == str(site)
    assert made.nodes_path == str(site / "nodes")
    assert made.classes_path == str(site / "classes")
    assert made.class_mappings == ["web* site"]
    assert made.class_mappings_match_path is True
    assert made.compose_node_name is True
    assert made.ignore_class_notfound is True
    assert made.ignore_class_notfound_regexp == ["site"]
    assert made.ignore_overwritten_missing_references is False
    assert made.verbose_warnings is True
    assert made.compatflags == set(CompatFlag)
    with pytest.raises(AttributeError):
        made.compose_node_name = False  # type: ignore[misc]


def test_defaults(site: Path) -> None:
    made = Config.from_dict(str(site), {})
    assert (made.class_mappings, made.compatflags) == ([], set())
    assert made.ignore_class_notfound_regexp == [".*"]
    assert made.ignore_overwritten_missing_references is True
    flags = ("class_mappings_match_path", "compose_node_name", "ignore_class_notfound", "verbose_warnings")
    assert not any(getattr(made, flag) for flag in flags)


def test_settings_that_reclass_rs_ignores_count(write: Write) -> None:
    base = write({"nodes/n": "parameters: {a: '%{b}', b: 1}"})
    made = Config.from_dict(str(base), {"reference_sentinels": ["%{", "}"]})
    assert Reclass.from_config(made).nodeinfo("n").parameters["a"] == 1


def test_settings_of_a_file(site: Path) -> None:
    (site / "nodes").rename(site / "targets")
    (site / "reclass-config.yml").write_text("nodes_uri: targets\nclass_mappings: ['db* role.web']\n")
    reclass = Reclass.from_config_file(str(site), "reclass-config.yml")
    assert reclass.config.nodes_path == str(site / "targets")
    assert reclass.config.class_mappings == ["db* role.web"]
    with pytest.raises(ValueError, match="Error while rendering db1: "):
        reclass.nodeinfo("db1")


def test_relative_paths(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.parent)
    reclass = Reclass("./inventory", "../inventory/nodes/.")
    assert reclass.config.inventory_path == "./inventory"
    assert reclass.config.nodes_path == "./inventory/nodes"
    assert reclass.config.classes_path == "./inventory/classes"
    monkeypatch.chdir("/")
    assert reclass.nodeinfo("web1").applications == ["nginx", "cron"]


def test_flags_look_as_those_of_reclass_rs() -> None:
    dots, null = CompatFlag.ComposeNodeNameLiteralDots, CompatFlag.NestedReferenceNullAsNone
    assert [repr(dots), str(null)] == [
        "CompatFlag.ComposeNodeNameLiteralDots",
        "CompatFlag.NestedReferenceNullAsNone",
    ]
    assert [int(dots), int(null)] == [0, 1]
    assert dots == 0
    assert dots not in (1, null)
    assert {dots: 1}[CompatFlag.ComposeNodeNameLiteralDots] == 1


def test_wrong_arguments_raise_what_reclass_rs_raises(site: Path) -> None:
    for ignored in (True, False):
        options = {"ignore_class_notfound": ignored, "ignore_class_notfound_regexp": ["a("]}
        with pytest.raises(ValueError, match=r"^Error while compiling class_notfound_regexp patterns: "):
            Config.from_dict(str(site), options)
    for count, error in ((-1, OverflowError), ("x", TypeError), (1.5, TypeError), (None, TypeError)):
        with pytest.raises(error):
            Reclass.set_thread_count(count)  # type: ignore[arg-type]
    assert Reclass._threads == 0


def test_the_module_lists_the_names_of_reclass_rs() -> None:
    assert "os" not in dir(reclass_rs)
    assert {"Reclass", "Config", "CompatFlag", "buildinfo"} <= set(dir(reclass_rs))


def test_flags_change_answers_and_not_the_settings_of_others(write: Write) -> None:
    base = write({"nodes/a.b": "{}", "classes/x": "{}"})
    made = Config.from_dict(str(base), {"compose_node_name": True})
    reclass = Reclass.from_config(made)

    def parts() -> Any:
        return reclass.nodeinfo("a.b").parameters["_reclass_"]["name"]["parts"]

    assert parts() == ["a.b"]
    reclass.set_compat_flag(CompatFlag.ComposeNodeNameLiteralDots)
    assert parts() == ["a", "b"]
    assert reclass.config.compatflags == {CompatFlag.ComposeNodeNameLiteralDots}
    reclass.unset_compat_flag(CompatFlag.ComposeNodeNameLiteralDots)
    assert parts() == ["a.b"]
    reclass.set_compat_flag(CompatFlag.NestedReferenceNullAsNone)
    reclass.clear_compat_flags()
    assert reclass.config.compatflags == made.compatflags == set()


@pytest.mark.parametrize(
    "flag",
    ["ComposeNodeNameLiteralDots", "compose-node-name-literal-dots", "compose_node_name_literal_dots"],
)
def test_the_spellings_of_a_flag(write: Write, flag: str) -> None:
    base = str(write({"nodes/a.b": "{}", "classes/x": "{}"}))
    made = Config.from_dict(base, {"reclass_rs_compat_flags": [flag], "compose_node_name": True})
    assert made.compatflags == {CompatFlag.ComposeNodeNameLiteralDots}
    engine = _engine.Inventory(inventory_base_uri=base, compat_flags=[flag], compose_node_name=True)
    for node in (Reclass.from_config(made).nodeinfo("a.b").as_dict(), engine.nodeinfo("a.b")):
        assert node["parameters"]["_reclass_"]["name"]["parts"] == ["a", "b"]


def test_patterns_of_missing_classes(write: Write) -> None:
    base = write({"nodes/n": "classes: [gone]", "classes/x": ""})
    made = Config.from_dict(str(base), {"ignore_class_notfound": True, "ignore_class_notfound_regexp": ["x"]})
    reclass = Reclass.from_config(made)
    with pytest.raises(ValueError, match=r"^Error while rendering n: Class gone not found\n"):
        reclass.nodeinfo("n")
    reclass.set_ignore_class_notfound_regexp(["g.*"])
    assert reclass.nodeinfo("n").classes == ["gone"]
    assert reclass.config.ignore_class_notfound_regexp == ["g.*"]
    assert made.ignore_class_notfound_regexp == ["x"]
    with pytest.raises(ValueError, match=r"^Error while setting ignore_class_notfound_regexp: "):
        reclass.set_ignore_class_notfound_regexp(["("])
    assert reclass.config.ignore_class_notfound_regexp == ["g.*"]


def test_errors_of_nodes(site: Path) -> None:
    reclass = Reclass(str(site))
    with pytest.raises(ValueError, match=r"^Error while rendering nope: Unknown node nope\n") as raised:
        reclass.nodeinfo("nope")
    assert isinstance(raised.value.__cause__, ReclassError)
    (site / "classes" / "site.yml").write_text("classes: [gone]\n")
    begin = "^Error while rendering inventory: Error rendering node (db1|web1): Class gone not found\n"
    with pytest.raises(ValueError, match=begin) as raised:
        reclass.inventory()
    assert f"{site}/classes/site.yml:1:11" in str(raised.value)
    (site / "classes" / "site.yml").write_text("parameters: {a: '${b}'}\n")
    with pytest.raises(ValueError, match=r"^Error while rendering db1: .*/classes/site\.yml:1:18: .*'\${b}'"):
        reclass.nodeinfo("db1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"compose_node_name": 0}, "setting option compose_node_name: Expected value of config key"),
        ({"class_mappings": "a b"}, "setting option class_mappings: Expected value of config key"),
        ({"class_mappings": [1]}, "setting option class_mappings: Expected entry of config key"),
        (
            {"ignore_class_notfound_regexp": [1]},
            "setting option ignore_class_notfound_regexp: Expected entry of 'ignore_class_notfound",
        ),
        (
            {"reclass_rs_compat_flags": [1]},
            "setting option reclass_rs_compat_flags: Expected compatibility flag to be a string",
        ),
        ({"class_mappings": ["/(/ a"]}, "compiling class_mappings patterns: "),
        (
            {"ignore_class_notfound": True, "ignore_class_notfound_regexp": ["("]},
            "compiling class_notfound_regexp patterns: ",
        ),
        ({"nodes_uri": ["a"]}, "setting option nodes_uri: Expected value of config key 'nodes_uri' to"),
    ],
)
def test_errors_of_settings(site: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^Error while " + re.escape(message)):
        Config.from_dict(str(site), settings)


def test_errors_of_paths(site: Path) -> None:
    with pytest.raises(ValueError, match=r"^One of inventory path and nodes path must be provided\.$"):
        Reclass(None)
    with pytest.raises(ValueError, match=r"^Nodes and classes path must be non-overlapping\.$"):
        Reclass(str(site), "classes", "classes/role")
    with pytest.raises(ValueError, match=r"^Error while discovering nodes: .*/gone'"):
        Reclass(str(site), "gone")
    with pytest.raises(ValueError, match=r"^Error while discovering classes: .*/gone'"):
        Reclass(str(site), None, "gone")
    with pytest.raises(ValueError, match=r"^loading config: "):
        Reclass.from_config_file(str(site), "gone.yml")
    (site / "reclass-config.yml").write_text("compose_node_name: perhaps\n")
    with pytest.raises(
        ValueError, match=r"^loading config: Expected value of config key 'compose_node_name'"
    ):
        Reclass.from_config_file(str(site), "reclass-config.yml")


@pytest.mark.parametrize(("kind", "singular"), [("nodes", "node"), ("classes", "class")])
def test_a_name_with_several_files(site: Path, kind: str, singular: str) -> None:
    (site / kind / "a").mkdir()
    (site / kind / "a" / "twice.yml").write_text("{}")
    (site / kind / ("twice.yml" if kind == "nodes" else "a.twice.yml")).write_text("{}")
    begin = f"^Error while discovering {kind}: Definition of {singular} '(a.)?twice' in '{site}/{kind}/a"
    end = f"{kind.capitalize()} can only be defined once per inventory.$"
    with pytest.raises(ValueError, match=begin + r"[./]twice\.yml' collides with definition in .*" + end):
        Reclass(str(site))


def test_one_thread_and_all(site: Path) -> None:
    several = Reclass(str(site)).inventory().as_dict()
    Reclass.set_thread_count(1)
    try:
        one = Reclass(str(site)).inventory().as_dict()
    finally:
        Reclass.set_thread_count(0)
    assert {**one, "nodes": list(one["nodes"])} == {
        **several,
        "nodes": list(several["nodes"]),
        "__reclass__": one["__reclass__"],
    }


def test_the_version_of_the_compiler() -> None:
    assert reclass_rs.buildinfo() == {"rustc_version": _engine.rustc_version}
    assert _engine.rustc_version.startswith("rustc 1.")


def test_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reclass_rs", None)  # type: ignore[arg-type]
    reclass_rs.install()
    assert importlib.import_module("reclass_rs") is reclass_rs


# Answers to all questions about each inventory of a list, on one line of JSON.
ASK = """
import json, sys
from {module} import Config, Reclass

def ask(base, settings):
    try:
        reclass = Reclass.from_config(Config.from_dict(base, settings))
    except ValueError as error:
        return {{"error": str(error)}}
    nodes = {{}}
    for name in reclass.nodes:
        try:
            node = reclass.nodeinfo(name)
        except ValueError:
            nodes[name] = None
        else:
            nodes[name] = node.as_dict()
            nodes[name]["__reclass__"].pop("timestamp")
    listed = (reclass.nodes, reclass.classes)
    files = [{{name: str(path) for name, path in names.items()}} for names in listed]
    return {{"nodes": nodes, "files": files}}

cases = json.load(sys.stdin)
print(json.dumps([ask(*case) for case in cases], default=str))
"""


def ask(python: Path | str, module: str, cases: list[tuple[str, Any]]) -> list[Any]:
    answer = subprocess.run(
        [python, "-c", ASK.format(module=module)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return json.loads(answer.stdout)  # type: ignore[no-any-return]


@pytest.mark.skipif(not PEERS.exists(), reason="no reclass-rs: make .venv-bench/.tools")
@pytest.mark.skipif(not REAL.exists(), reason="no recorded inventories (RECLASS_SHARED says where they are)")
def test_real_inventories_beside_reclass_rs() -> None:
    cases = {}
    for path in sorted(REAL.glob("*/case.json")):
        if path.parent.name not in CRASHES:
            settings = json.loads(path.read_text()).get("settings") or {}
            cases[path.parent.name] = (str(path.parent / "inventory"), settings)
    assert len(cases) > 40
    ours = ask(sys.executable, "saltext.reclass.reclass_rs", list(cases.values()))
    theirs = ask(PEERS, "reclass_rs", list(cases.values()))
    compared = list(zip(cases, ours, theirs, strict=True))
    assert {name for name, one, other in compared if one.get("files") != other.get("files")} == set()
    assert {name for name, one, other in compared if one.get("error") != other.get("error")} == set()
    different = {name for name, one, other in compared if one.get("nodes") != other.get("nodes")}
    assert different == set(RULINGS)
