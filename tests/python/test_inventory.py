"""The Python API: what it returns, what it raises, and what it promises to threads and forks."""

from __future__ import annotations

import datetime
import gc
import logging
import mmap
import os
import pickle
import select
import signal
import sys
import threading
import time
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from saltext import reclass
from saltext.reclass import Inventory, _engine, _salt

Write = Callable[[dict[str, str]], Path]

SITE = {
    "nodes/web1": """
        classes: [role.web]
        environment: prod
        parameters:
          address: 10.0.0.1
    """,
    "nodes/db1": """
        applications: [postgresql]
    """,
    "classes/role/web": """
        applications: [nginx]
        parameters:
          listen: ${address}:80
        exports:
          address: ${address}
    """,
}


@pytest.fixture
def site(write: Write) -> Inventory:
    return Inventory(inventory_base_uri=str(write(SITE)))


def test_nodes_are_sorted(site: Inventory) -> None:
    assert site.nodes() == ["db1", "web1"]


def test_nodeinfo_is_what_the_python_programs_return(site: Inventory) -> None:
    node = site.nodeinfo("web1")
    assert list(node) == ["__reclass__", "classes", "applications", "parameters", "exports", "environment"]
    about = node["__reclass__"]
    assert list(about) == ["node", "name", "uri", "environment", "timestamp"]
    assert (about["node"], about["name"], about["environment"]) == ("web1", "web1", "prod")
    assert about["uri"].startswith("yaml_fs:///")
    assert about["uri"].endswith("/nodes/web1.yml")
    time.strptime(about["timestamp"], "%c")
    assert node["classes"] == ["role.web"]
    assert node["applications"] == ["nginx"]
    assert node["environment"] == "prod"
    assert node["exports"] == {"address": "10.0.0.1"}
    assert node["parameters"]["listen"] == "10.0.0.1:80"


def test_an_environment_that_is_asked_for_replaces_the_nodes(site: Inventory) -> None:
    assert site.nodeinfo("web1", environment="test")["environment"] == "test"
    assert site.nodeinfo("web1", "test")["parameters"]["_reclass_"]["environment"] == "test"


def test_inventory_is_what_the_python_programs_return(site: Inventory) -> None:
    whole = site.inventory()
    assert list(whole) == ["__reclass__", "nodes", "classes", "applications"]
    assert list(whole["nodes"]) == ["db1", "web1"]
    assert whole["classes"] == {"role.web": ["web1"]}
    assert whole["applications"] == {"postgresql": ["db1"], "nginx": ["web1"]}


def test_pillar_is_the_parameters_and_what_the_node_is(site: Inventory) -> None:
    pillar = site.pillar("web1")
    assert pillar.pop("__reclass__") == {
        "nodename": "web1",
        "applications": ["nginx"],
        "classes": ["role.web"],
        "environment": "prod",
    }
    assert pillar == site.nodeinfo("web1")["parameters"]


def test_top_is_the_applications_in_the_environment(site: Inventory) -> None:
    assert site.top("web1") == {"prod": ["nginx"]}
    assert site.top("db1") == {"base": ["postgresql"]}


def test_what_is_returned_belongs_to_the_caller(site: Inventory) -> None:
    first = site.pillar("web1")
    first["_reclass_"]["name"]["parts"].append("changed")
    first["__reclass__"]["classes"].clear()
    first.clear()
    assert site.pillar("web1")["_reclass_"]["name"]["parts"] == ["web1"]
    assert site.pillar("web1")["__reclass__"]["classes"] == ["role.web"]


def containers(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


def test_an_answer_that_is_given_again_is_new_at_every_level(write: Write) -> None:
    shared = "classes: [c]"
    base = write(
        {
            "nodes/a": shared,
            "nodes/b": shared,
            "classes/c": """
                parameters:
                  map: {empty: {}, list: [1, [x, {y: z}], {}, []], 1: one}
                  again: ${map}
                  twice: [{a: &same {b: [c]}}, *same]
            """,
        }
    )
    inventory = Inventory(inventory_base_uri=str(base))
    expected = {node: repr(inventory.pillar(node)) for node in ("a", "b")}
    seen: list[Any] = []
    for _ in range(4):
        for node in ("a", "b"):
            pillar = inventory.pillar(node)
            assert repr(pillar) == expected[node]
            seen.append(pillar)
    # All of them are alive: none is another one.
    every = [id(container) for pillar in seen for container in containers(pillar)]
    assert len(every) == len(set(every))
    for pillar in seen:
        for container in list(containers(pillar)):
            container.clear()
    assert inventory.pillar("a")["twice"] == [{"a": {"b": ["c"]}}, {"b": ["c"]}]
    write({"classes/c": "parameters: {map: {list: [2]}}"})
    assert [inventory.pillar(node)["map"] for node in ("a", "b", "a", "b")] == [{"list": [2]}] * 4


def test_mappings_with_the_same_keys_keep_their_own_values_types_and_order(write: Write) -> None:
    values = ["1", "true", "1.0", "'1'", "null", "2001-02-03", "[1]", "{y: 1}", "0.0", "-0.0", ".nan", "2"]
    values += ["!!binary /wAB", "18446744073709551615", "''", "[{y: 1}]", "{y: 2001-02-03}", "[]", "{}", "x"]
    base = write(
        {
            "classes/c": "parameters: {m: {a: 0, b: {x: 0, z: s}, l: [{x: 1}]}, ordered: {b: 1, a: 2}}",
            **{
                f"nodes/n{number:02}": f"""
                    classes: [c]
                    parameters:
                      m: {{a: {value}, b: {{x: {value}}}, l: [{{x: {value}}}]}}
                      ordered: {{a: {value}, b: {value}}}
                      other: {{a: {value}, b: 1}}
                      turned: {{b: {value}, a: 1}}
                """
                for number, value in enumerate(values)
            },
        }
    )
    settings = {
        "inventory_base_uri": str(base),
        "automatic_parameters": False,
        "allow_list_over_scalar": True,
        "allow_dict_over_scalar": True,
        "allow_scalar_over_dict": True,
        "allow_scalar_over_list": True,
    }

    def answers(inventory: Inventory) -> list[str]:
        return [repr((inventory.pillar(node), inventory.nodeinfo(node)["parameters"])) for node in nodes]

    nodes = [f"n{number:02}" for number in range(len(values))]
    from_nothing = answers(Inventory(**settings, cache_size=0))
    assert "{'a': [0, 1], 'b': {'x': [0, 1], 'z': 's'}, 'l': [{'x': 1}, {'x': [1]}]}" in from_nothing[6]
    assert "'ordered': {'b': [1, 1], 'a': [2, 1]}" in from_nothing[6]
    assert "'a': b'\\xff\\x00\\x01'" in from_nothing[12]
    remembers = Inventory(**settings)
    assert [answers(remembers) for _ in range(4)] == [from_nothing] * 4


def test_a_collection_may_ask_while_an_answer_is_made(write: Write) -> None:
    shared = "classes: [c]"
    content = "parameters: {m: {a: {b: [1, {c: d}]}}, n: ['${m}', '${m}']}"
    inventory = Inventory(
        inventory_base_uri=str(write({**{f"nodes/n{n}": shared for n in range(20)}, "classes/c": content}))
    )
    expected = {f"n{n}": repr(inventory.pillar(f"n{n}")) for n in range(20)}
    asked = []

    class Asks:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            asked.append(repr(inventory.pillar("n7")))

    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for node, answer in expected.items():
            Asks()
            assert repr(inventory.pillar(node)) == answer
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert asked == [expected["n7"]] * 20


@pytest.mark.parametrize("depth", [10, 100, 260])
def test_what_is_shared_may_be_deep(write: Write, depth: int) -> None:
    deep = "{a: " * depth + "[1]" + "}" * depth
    nodes = {f"nodes/n{n}": "classes: [c]" for n in range(2)}
    inventory = Inventory(
        inventory_base_uri=str(write({**nodes, "classes/c": f"parameters: {{a: {deep}}}"})),
        automatic_parameters=False,
    )
    for _ in range(4):
        for node in ("n0", "n1"):
            value = inventory.nodeinfo(node)["parameters"]
            for _level in range(depth + 1):
                assert type(value) is dict
                value = value["a"]
            assert value == [1]
            if depth < 125:
                pillar = inventory.pillar(node)
                del pillar["__reclass__"]
                assert pillar == inventory.nodeinfo(node)["parameters"]
            else:
                with pytest.raises(reclass.WireError, match="128 levels"):
                    inventory.pillar(node)


@pytest.mark.parametrize(
    ("bomb", "said"),
    [
        ([], "more than 2000000 values"),
        (["x" * 100_000], "more than 268435456 bytes of text"),
        ([b"x" * 100_000], "more than 268435456 bytes of text"),
        ([1 << 800_000], "more than 268435456 bytes of text"),
    ],
)
def test_a_pillar_so_far_that_multiplies_is_refused(write: Write, bomb: list[Any], said: str) -> None:
    base = str(write({"nodes/n": "parameters: {a: 1}"}))
    inventory = Inventory(inventory_base_uri=base, propagate_pillar_data_to_reclass=True)
    for _ in range(40):
        bomb = [bomb, bomb]
    with pytest.raises(reclass.WireError, match=said) as refused:
        inventory.pillar("n", pillar={"bomb": bomb})
    assert len(str(refused.value)) < 500
    assert inventory.pillar("n", pillar={"b": 2})["a"] == 1


TYPES = """
    parameters:
      date: 2001-02-03
      naive: 2001-12-14 21:59:43
      utc: 2001-12-14t21:59:43Z
      zoned: 2001-12-14T21:59:43.10-05:00
      binary: !!binary /wAB
      text: !!binary aGVsbG8=
      set: !!set {a, b}
      pairs: !!omap [x: 1, y: 2001-02-03]
      big: 18446744073709551615
      typed: [{1: one, true: yes, 2.5: x, null: n, 2001-02-03: d}]
      infinite: .inf
"""


def test_nodeinfo_gives_the_types_of_pyyaml(write: Write) -> None:
    inventory = Inventory(inventory_base_uri=str(write({"nodes/n": TYPES})), automatic_parameters=False)
    west = datetime.timezone(datetime.timedelta(hours=-5))
    date = datetime.date(2001, 2, 3)
    parameters = inventory.nodeinfo("n")["parameters"]
    assert parameters == {
        "date": date,
        "naive": datetime.datetime(2001, 12, 14, 21, 59, 43),
        "utc": datetime.datetime(2001, 12, 14, 21, 59, 43, tzinfo=datetime.timezone.utc),
        "zoned": datetime.datetime(2001, 12, 14, 21, 59, 43, 100000, tzinfo=west),
        "binary": b"\xff\x00\x01",
        "text": b"hello",
        "set": {"a", "b"},
        "pairs": [("x", 1), ("y", date)],
        "big": 2**64 - 1,
        "typed": [{1: True, 2.5: "x", None: "n", date: "d"}],
        "infinite": float("inf"),
    }
    assert parameters["zoned"].utcoffset() == datetime.timedelta(hours=-5)
    assert type(parameters["date"]) is datetime.date


def test_pillar_gives_the_types_that_salt_carries(write: Write) -> None:
    inventory = Inventory(inventory_base_uri=str(write({"nodes/n": TYPES})), automatic_parameters=False)
    pillar = inventory.pillar("n")
    for _ in range(3):
        assert repr(inventory.pillar("n")) == repr(pillar)
    del pillar["__reclass__"]
    assert pillar == {
        "date": "2001-02-03",
        "naive": "2001-12-14T21:59:43",
        "utc": "2001-12-14T21:59:43+00:00",
        "zoned": "2001-12-14T21:59:43.100000-05:00",
        "binary": b"\xff\x00\x01",
        "text": "hello",
        "set": ["a", "b"],
        "pairs": [["x", 1], ["y", "2001-02-03"]],
        "big": 2**64 - 1,
        "typed": [{1: True, 2.5: "x", None: "n", "2001-02-03": "d"}],
        "infinite": float("inf"),
    }


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("{deep: [1, {number: 18446744073709551616}]}", "a:deep:1:number"),
        ("[{2001-02-03: 1, '2001-02-03': 2}]", "a:0:2001-02-03"),
        ("[" * 300 + "]" * 300, "a:0:0:0"),
    ],
)
def test_what_salt_cannot_carry_is_an_error_with_its_path(write: Write, value: str, path: str) -> None:
    inventory = Inventory(inventory_base_uri=str(write({"nodes/n": f"parameters: {{a: {value}}}"})))
    assert inventory.nodeinfo("n")["parameters"]["a"]
    with pytest.raises(reclass.WireError) as caught:
        inventory.pillar("n")
    assert caught.value.code == "wire-type"
    assert path in str(caught.value)
    assert "'n'" in str(caught.value)
    assert "18446744073709551616" not in str(caught.value)


def test_all_that_salt_cannot_carry_is_reported_at_once(write: Write) -> None:
    base = write({"nodes/n": "parameters: {a: 18446744073709551616, b: [99999999999999999999]}"})
    with pytest.raises(reclass.WireError) as caught:
        Inventory(inventory_base_uri=str(base)).pillar("n")
    assert [line.rsplit(", at ", 1)[1] for line in str(caught.value).splitlines()] == [
        "'a' (wire-type)",
        "'b:0' (wire-type)",
    ]
    with pytest.raises(reclass.WireError) as caught:
        Inventory(inventory_base_uri=str(base), group_errors=False).pillar("n")
    assert len(str(caught.value).splitlines()) == 1


def test_a_thread_with_a_small_stack_can_ask_for_what_is_deep(write: Write) -> None:
    deep = "{a: " * 500 + "1" + "}" * 500
    nodes = {"nodes/n": "classes: [c]\nparameters: {b: " + "{x: " * 480 + "'${a}'" + "}" * 481}
    base = write({**nodes, "classes/c": f"parameters: {{a: {deep}}}"})
    inventory = Inventory(inventory_base_uri=str(base))
    answers = []

    def ask() -> None:
        answers.append(inventory.nodeinfo("n"))
        # What was remembered is taken apart.
        write({**nodes, "classes/c": "parameters: {a: 1}"})
        answers.append(inventory.nodeinfo("n"))

    before = threading.stack_size(64 * 1024)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert [type(answer["parameters"]["a"]) for answer in answers] == [dict, int]


class Strange(Mapping[str, Any]):
    """A mapping that is no dict, as Salt's `NamedLoaderContext`."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)


class Elsewhere(dict[str, Any]):
    """A dict that keeps its data elsewhere, as Salt's `OptsDict`."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__()
        self.data = data

    def items(self) -> Any:
        return self.data.items()


@pytest.mark.parametrize("kind", [dict, OrderedDict, Strange, Elsewhere, types.MappingProxyType])
def test_references_see_the_pillar_that_is_propagated(write: Write, kind: Callable[[Any], Any]) -> None:
    base = write({"nodes/n": "parameters: {seen: '${given:deep}', last: '${given:list:1}'}"})
    pillar = kind({"given": kind({"deep": kind({"x": (1, [None, 2.5, True])}), "list": ["a", 2**63]})})
    inventory = Inventory(inventory_base_uri=str(base), propagate_pillar_data_to_reclass=True)
    answer = inventory.pillar("n", pillar)
    assert answer["last"] == 2**63
    assert answer["seen"] == {"x": [1, [None, 2.5, True]]}


def test_the_pillar_is_not_looked_at_unless_it_is_propagated(write: Write) -> None:
    base = write({"nodes/n": "parameters: {a: 1}"})
    assert Inventory(inventory_base_uri=str(base)).pillar("n", {"x": object()})["a"] == 1  # type: ignore[dict-item]


def nested(depth: int) -> Any:
    value: Any = None
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("pillar", "path"),
    [
        ({"a": [1, {"b": object()}]}, "a:1:b"),
        ({"a": {"b": {1, 2}}}, "a:b"),
        ({"a": "\udc80"}, "a"),
        ({"a": {("x",): 1}}, "a"),
        ({"a": nested(300)}, "a:0:0"),
    ],
    ids=["object", "set", "surrogate", "tuple as key", "depth"],
)
def test_a_pillar_that_cannot_be_read_is_an_error_with_the_path(
    write: Write, pillar: dict[str, Any], path: str
) -> None:
    base = write({"nodes/n": "parameters: {a: 1}"})
    inventory = Inventory(inventory_base_uri=str(base), propagate_pillar_data_to_reclass=True)
    with pytest.raises(reclass.WireError, match=f"at '{path}"):
        inventory.pillar("n", pillar)


@pytest.mark.parametrize("method", ["nodeinfo", "pillar", "top"])
def test_a_name_that_is_no_text_is_refused(write: Write, method: str) -> None:
    base = write({"nodes/n": "parameters: {a: 1}"})
    asked = getattr(Inventory(inventory_base_uri=str(base)), method)
    with pytest.raises(reclass.WireError, match=r"the name of the node .* not Unicode text"):
        asked("\ud800")
    with pytest.raises(reclass.WireError, match=r"the environment asked for .* not Unicode text"):
        asked("n", environment="\ud800")


def test_errors_have_a_code_a_place_and_the_way_there(write: Write) -> None:
    base = write({"nodes/n": "classes: [a]", "classes/a": "classes:\n  - b", "classes/b": "classes:\n- gone"})
    with pytest.raises(reclass.ClassNotFoundError) as caught:
        Inventory(inventory_base_uri=str(base)).nodeinfo("n")
    error = caught.value
    assert isinstance(error, reclass.ReclassError)
    assert error.code == "class-not-found"
    assert error.location == f"{base}/classes/b.yml:2:3"
    assert str(error).startswith(error.location)
    chain = [
        f"node 'n' includes 'a' at {base}/nodes/n.yml:1:11",
        f"class 'a' includes 'b' at {base}/classes/a.yml:2:5",
    ]
    assert [note for note in error.notes if "includes" in note] == chain
    assert error.full_text() == f"{error}\n{error.full}"
    assert error.full.startswith(f"error[class-not-found]: no class 'gone' in '{base}/classes'\n")
    assert "\n2 │ - gone\n  │   ━━━━\n" in error.full
    assert all(f"note: {note}" in error.full for note in chain)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), vars(copy)) == (str(error), vars(error))


def test_a_missing_class_is_named_where_no_minion_reads_it(write: Write) -> None:
    base = write(
        {
            "nodes/n": "classes: [a, '${s}', 'x.${password}']\nexports: {e: 1}",
            "nodes/asks": "parameters: {q: '$[ exports:e ]'}",
            "classes/a": "parameters: {s: role.zz, password: hunter2}",
        }
    )
    with pytest.raises(reclass.ClassNotFoundError) as caught:
        Inventory(inventory_base_uri=str(base), secret_keys=["password"]).nodeinfo("n")
    error = caught.value
    first = f"{base}/nodes/n.yml:1:14: node 'n': no class '${{s}}' in '{base}/classes' (class-not-found)"
    assert str(error).split("\n")[0] == f"{first}; its name comes to 'role.zz'"
    assert error.sent.split("\n")[0] == first
    assert "role.zz" not in _salt.describe(error)
    assert "hunter2" not in error.full_text()
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.sent, str(copy)) == (error.sent, str(error))
    # A query fails with the node that it asks.
    with pytest.raises(reclass.ReclassError) as asking:
        Inventory(inventory_base_uri=str(base), secret_keys=["password"]).nodeinfo("asks")
    assert "; its name comes to 'role.zz'" in str(asking.value)
    assert "role.zz" not in asking.value.sent
    assert "hunter2" not in str(asking.value)
    (base / "nodes/n.yml").write_text("classes: [a, 'x.${password}']")
    with pytest.raises(reclass.ClassNotFoundError) as caught:
        Inventory(inventory_base_uri=str(base), secret_keys=["password"]).nodeinfo("n")
    assert (str(caught.value), "hunter2" in caught.value.full_text()) == (caught.value.sent, False)


def test_all_missing_references_are_in_one_error(write: Write) -> None:
    base = write({"nodes/n": "parameters: {a: '${x}', b: {c: '${y:z}'}, secret: hunter2}"})
    with pytest.raises(reclass.ReferenceNotFoundError) as caught:
        Inventory(inventory_base_uri=str(base)).nodeinfo("n")
    assert "${x}" in str(caught.value)
    assert "${y:z}" in str(caught.value)
    full = caught.value.full_text()
    assert "hunter2" not in full
    assert "{a: '${x}', b: {c: '${y:z}'}, secret: ***" in full


def test_a_node_without_a_file(site: Inventory) -> None:
    with pytest.raises(reclass.NodeNotFoundError) as caught:
        site.nodeinfo("web3")
    assert caught.value.code == "node-not-found"
    with pytest.raises(reclass.NodeNotFoundError):
        site.pillar("web3")
    with pytest.raises(reclass.NodeNotFoundError):
        site.top("web3")


def test_a_minion_without_a_node_gets_what_the_setting_says(write: Write) -> None:
    base = str(write({**SITE, "classes/all": "applications: [motd]\nparameters: {a: 1}"}))
    empty = Inventory(inventory_base_uri=base, node_not_found="empty")
    assert empty.pillar("new") == {}
    assert empty.top("new") == {}
    mapped = Inventory(inventory_base_uri=base, node_not_found="mappings", class_mappings=["new* all"])
    assert mapped.pillar("new1")["a"] == 1
    assert mapped.pillar("new1")["__reclass__"]["classes"] == ["all"]
    assert mapped.top("new1") == {"base": ["motd"]}
    assert mapped.top("other") == {"base": []}
    # The settings are about nodes without a file, not about broken ones.
    write({"nodes/broken": "classes: [gone]"})
    with pytest.raises(reclass.ClassNotFoundError):
        empty.pillar("broken")


def test_names_are_looked_up_and_nothing_else(site: Inventory) -> None:
    for name in [
        "../nodes/web1",
        "*",
        "${address}",
        "$[ x ]",
        "web1.yml",
        "",
        ".",
        "/etc/passwd",
        "a\nb",
        "\0",
    ]:
        with pytest.raises(reclass.NodeNotFoundError) as caught:
            site.pillar(name)
        assert "\n" not in str(caught.value)
        assert "\0" not in str(caught.value)


def test_settings_are_checked(write: Write) -> None:
    base = str(write(SITE))
    with pytest.raises(reclass.SettingsError) as caught:
        Inventory(inventory_base_uri=base, delimiter=["x"])
    assert caught.value.code == "setting-type"
    assert "delimiter" in str(caught.value)
    with pytest.raises(reclass.WireError):
        Inventory(inventory_base_uri=object())


def test_words_that_yaml_reads_as_something_else_are_words(write: Write) -> None:
    base = str(write(SITE))
    for word in (False, "off"):
        inventory = Inventory(inventory_base_uri=base, cache=word, lint_levels={"class-unused": word})
        assert inventory.pillar("web1")["listen"] == "10.0.0.1:80"
        assert inventory.cache_info()["answers"] == 0
    for word in (True, "on", "yes", 1, False, "no", "null", None, 0):
        assert Inventory(inventory_base_uri=base, ignore_class_notfound=word).nodes()


def test_settings_of_the_programs_do_not_count(write: Write) -> None:
    base = str(write(SITE))
    only = {"output": "yml", "pretty_print": [], "no_refs": 7, "applications_postfix": 1, "group_form": 2}
    assert Inventory(inventory_base_uri=base, **only).lint() == Inventory(inventory_base_uri=base).lint()


def test_a_configuration_file_that_is_named_is_read(write: Write, tmp_path: Path) -> None:
    base = write({**SITE, "classes/mapped": "parameters: {mapped: 1}"})
    path = base / "reclass-config.yml"
    path.write_text("inventory_base_uri: .\nclass_mappings: ['web1 mapped']\noutput: yml\n")
    config = str(path)
    inventory = Inventory(config_file=config)
    assert inventory.pillar("web1")["mapped"] == 1
    assert "mapped" not in Inventory(config_file=config, class_mappings=[]).pillar("web1")
    assert _engine.configured(config_file=config)["inventory_base_uri"] == str(base)
    assert reclass.Editor(config_file=config).cluster_data.__name__ == "cluster_data"
    # Each object reads it anew.
    path.write_text("class_mappings: []\n")
    assert "mapped" not in Inventory(config_file=config).pillar("web1")
    for wrong in (str(tmp_path / "gone.yml"), str(tmp_path), "/dev/zero"):
        for kind in (Inventory, reclass.Editor):
            with pytest.raises(reclass.SettingsError) as caught:
                kind(config_file=wrong)
            assert caught.value.code == "config-file"


@pytest.fixture
def warned() -> Iterator[list[str]]:
    """The warnings that the engine logs."""
    seen: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: seen.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("saltext.reclass")
    logger.addHandler(handler)
    yield seen
    logger.removeHandler(handler)


def test_a_configuration_file_that_nobody_reads_is_one_line_in_the_log(
    write: Write, warned: list[str]
) -> None:
    base = write({**SITE, "classes/mapped": "parameters: {mapped: 1}"})
    (base / "reclass-config.yml").write_text("class_mappings: ['web1 mapped']\n")
    for _ in range(3):
        assert "mapped" not in Inventory(inventory_base_uri=str(base)).pillar("web1")
    assert Inventory(config_file=str(base / "reclass-config.yml")).pillar("web1")["mapped"] == 1
    [line] = warned
    assert f"'{base}/reclass-config.yml' is not read" in line
    assert "(class_mappings)" in line


def test_unknown_settings_are_one_warning(write: Write, warned: list[str]) -> None:
    base = str(write(SITE))
    for _ in range(3):
        Inventory(inventory_base_uri=base, clas_mappings=[]).nodes()
    assert len(warned) == 1
    assert "clas_mappings" in warned[0]
    assert "'class_mappings' is similar" in warned[0]


def test_warnings_of_a_node_are_logged(write: Write, warned: list[str]) -> None:
    base = str(write({"nodes/n": "classes: [gone]\nparameters: {a: 1}"}))
    assert Inventory(inventory_base_uri=base, ignore_class_notfound=True).pillar("n")["a"] == 1
    assert len(warned) == 1
    assert "gone" in warned[0]


def test_an_edit_shows_in_the_next_answer(write: Write) -> None:
    base = write(SITE)
    inventory = Inventory(inventory_base_uri=str(base))
    assert inventory.pillar("web1")["listen"] == "10.0.0.1:80"
    write({"nodes/web1": "classes: [role.web]\nparameters: {address: 10.0.0.2}"})
    assert inventory.pillar("web1")["listen"] == "10.0.0.2:80"


def test_a_panic_is_an_exception() -> None:
    with pytest.raises(reclass.InternalError) as caught:
        _engine.panic()
    assert isinstance(caught.value, Exception)
    assert caught.value.code == "internal"
    assert "panic at crates/python/src/lib.rs" in str(caught.value)


def test_threads(write: Write) -> None:
    names = [f"n{number}" for number in range(40)]
    base = write(
        {f"nodes/{name}": f"classes: [c]\nparameters: {{me: {name}}}" for name in names} | {"classes/c": "{}"}
    )
    failures: list[str] = []

    def work() -> None:
        inventory = Inventory(inventory_base_uri=str(base))
        for name in names * 5:
            if inventory.pillar(name)["me"] != name:
                failures.append(name)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()
    assert failures == []


def many(write: Write, count: int) -> Path:
    """An inventory that takes a while to render."""
    texts = "\n".join(f"  k{key}: ${{base}}-{key}" for key in range(40))
    files = {f"nodes/n{number}": f"classes: [c]\nparameters: {{base: b{number}}}" for number in range(count)}
    return write({**files, "classes/c": f"parameters:\n{texts}\n"})


def test_other_threads_run_while_the_engine_works(write: Write) -> None:
    base = many(write, 1500)
    inventory = Inventory(inventory_base_uri=str(base))
    inventory.nodes()
    working = threading.Event()
    done = threading.Event()
    ticks = 0

    def work() -> None:
        working.set()
        # The pillar of a node that does not exist, after the whole inventory: no Python objects are built.
        with pytest.raises(reclass.ReclassError):
            Inventory(inventory_base_uri=str(base), class_mappings=["* gone"]).inventory()
        inventory.top("n1")
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # No thread gives up the interpreter but by itself.
    try:
        thread = threading.Thread(target=work)
        thread.start()
        working.wait(600)
        while not done.is_set():
            ticks += 1
            time.sleep(0)
        thread.join(600)
    finally:
        sys.setswitchinterval(interval)
    assert ticks > 1


# Enough for the engine to share the work of all nodes between threads, in the parent and in the child.
NODES = 80


def in_child(body: Callable[[], bool], seconds: float = 300) -> int | None:
    """Runs something in a forked child, and returns its exit code, or nothing where it hangs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if body() else 2
        finally:
            os._exit(code)
    # The parent looks at the clock: what hangs may hang before the first line of ours.
    child = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([child], [], [], seconds)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return code if ended else None
    finally:
        os.close(child)


def test_a_child_that_hangs_or_fails_is_noticed() -> None:
    lock = threading.Lock()
    with lock:
        assert in_child(lock.acquire, seconds=0.5) is None
    assert in_child(lambda: False) == 2
    assert in_child(lambda: bool(1 / 0)) == 1
    assert in_child(lambda: True) == 0


def test_a_forked_child_works_with_a_warm_and_with_a_cold_cache(write: Write) -> None:
    base = write(SITE)
    inventory = Inventory(inventory_base_uri=str(base))
    expected = inventory.pillar("web1")
    assert in_child(lambda: inventory.pillar("web1") == expected) == 0
    assert in_child(lambda: inventory.top("db1") == {"base": ["postgresql"]}) == 0
    assert in_child(lambda: in_child(lambda: inventory.pillar("web1") == expected) == 0) == 0

    def edited() -> bool:
        write({"nodes/web1": "parameters: {address: 10.0.0.9}"})
        return bool(inventory.pillar("web1")["address"] == "10.0.0.9")

    assert in_child(edited) == 0
    assert inventory.pillar("web1")["address"] == "10.0.0.9"


def test_a_child_that_is_forked_while_threads_render_works(write: Write) -> None:
    base = many(write, NODES)
    stop = threading.Event()
    turns = [0] * 3

    def work(own: int) -> None:
        while not stop.is_set():
            # Other settings each time: the engine starts from nothing, and holds its locks for long.
            Inventory(inventory_base_uri=str(base), default_environment=f"e{turns[own] % 5}").inventory()
            turns[own] += 1

    threads = [threading.Thread(target=work, args=(own,)) for own in range(3)]
    for thread in threads:
        thread.start()
    try:
        codes = [
            in_child(lambda: bool(Inventory(inventory_base_uri=str(base)).pillar("n1")["k1"] == "b1-1"))
            for _ in range(30)
        ]
        assert all(thread.is_alive() for thread in threads)
    finally:
        stop.set()
        for thread in threads:
            thread.join(600)
    assert codes == [0] * 30
    assert min(turns) > 0


def test_children_that_are_forked_under_load_answer_right_at_once(write: Write) -> None:
    base = many(write, NODES)
    # The number of the edit that has begun, for children too.
    begun = mmap.mmap(-1, 8)
    done = 0
    # Files are replaced whole, and too often to settle.
    settings: dict[str, Any] = {"inventory_base_uri": str(base), "threads": 4, "settle_time": 0}
    inventory = Inventory(**settings)
    inventory.inventory()
    stop = threading.Event()

    def version() -> int:
        return int.from_bytes(begun[:8], "little")

    def change() -> None:
        nonlocal done
        while not stop.wait(0.1):
            number = done + 1
            begun[:8] = number.to_bytes(8, "little")
            (base / "new").write_text(f"parameters: {{version: {number}, again: '${{version}}'}}\n")
            (base / "new").replace(base / "classes" / "c.yml")
            done = number

    turns = [0] * 8

    def work(own: int) -> None:
        while not stop.is_set():
            turn = turns[own]
            if own % 2:
                inventory.pillar(f"n{turn % NODES}")
            else:
                # Settings of its own: the engine starts from nothing, and holds its locks for long.
                Inventory(**settings, default_environment=f"e{own}-{turn % 5}").inventory()
            turns[own] = turn + 1

    def answers_right() -> bool:
        oldest = done
        for number in (1, 2, 1):
            pillar = inventory.pillar(f"n{number}")
            if not (oldest <= pillar["version"] == pillar["again"] <= version()):
                return False
        versions = {node["parameters"]["version"] for node in inventory.inventory()["nodes"].values()}
        return len(versions) == 1 and oldest <= versions.pop() <= version()

    workers = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    threads = [threading.Thread(target=change), *workers]
    for thread in threads:
        thread.start()
    try:
        while done == 0 or min(turns) == 0:
            time.sleep(0.01)
        before = (done, *turns)
        codes: list[int] = []
        while len(codes) < 50 or done < before[0] + 25:
            codes.append(in_child(answers_right, seconds=300))
        after = (done, *turns)
        assert all(thread.is_alive() for thread in threads)
    finally:
        stop.set()
        for thread in threads:
            thread.join(600)
    assert set(codes) == {0}
    # Each of them was at work while children were forked.
    assert all(now > then for now, then in zip(after, before, strict=True)), (before, after)


def test_cache_info_counts_what_was_done(write: Write) -> None:
    inventory = Inventory(inventory_base_uri=str(write(SITE)), cache_size=7)
    inventory.pillar("web1")
    before = inventory.cache_info()
    assert (before["hits"], before["misses"], before["nodes_computed"]) == (0, 1, 1)
    assert before["answers"] == 1
    assert before["answers_limit"] == 7 * 1024 * 1024
    assert 0 < before["answers_memory"] < before["answers_limit"]
    # Files that are younger than the clock's steps are read again, and found the same.
    assert 0 < before["files"] == before["files_parsed"] <= before["files_read"]
    assert before["files_memory"] > 0
    assert abs(before["last_full_check"] - time.time()) < 60
    inventory.pillar("web1")
    assert inventory.cache_info()["hits"] == 1


def test_relative_paths_are_those_of_the_current_folder(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("here", "there"):
        base = write(
            {f"{place}/nodes/{place}": "classes: [c]", f"{place}/classes/c": f"parameters: {{at: {place}}}"}
        )
    settings = {"nodes_uri": "nodes", "classes_uri": "classes"}
    kept = None
    for place in ("here", "there", "here"):
        monkeypatch.chdir(base / place)
        monkeypatch.setenv("HOME", str(base / place))
        kept = kept or Inventory(**settings)
        home = Inventory(nodes_uri="~/nodes", classes_uri="~/classes")
        for inventory in (Inventory(**settings), kept, home):
            assert inventory.nodes() == [place]
            assert inventory.pillar(place)["at"] == place
    # Each of them was kept for the next time.
    assert Inventory(**settings).cache_info()["hits"] == 3
    # Absolute paths lead to one inventory from everywhere.
    absolute = {"inventory_base_uri": str(base / "here")}
    assert Inventory(**absolute).pillar("here")["at"] == "here"
    monkeypatch.chdir(base / "there")
    before = Inventory(**absolute).cache_info()["hits"]
    assert Inventory(**absolute).pillar("here")["at"] == "here"
    assert Inventory(**absolute).cache_info()["hits"] == before + 1


def test_a_child_goes_on_with_what_its_parent_knew(write: Write) -> None:
    inventory = Inventory(inventory_base_uri=str(write(SITE)))
    inventory.pillar("web1")
    before = inventory.cache_info()

    def knows() -> bool:
        inventory.pillar("web1")
        after = inventory.cache_info()
        return bool(
            after["nodes_computed"] == before["nodes_computed"] and after["hits"] == before["hits"] + 1
        )

    assert in_child(knows) == 0
    # What the child did is not the parent's.
    assert inventory.cache_info()["hits"] == before["hits"]
