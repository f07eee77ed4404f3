"""Lines in the log: each warning and excerpt once until files change, times, changes of mode."""

from __future__ import annotations

import logging
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from salt.exceptions import SaltInvocationError
from saltext.reclass import Inventory, Problem, ReclassError
from saltext.reclass.pillar import reclass_adapter
from saltext.reclass.tops import reclass_adapter as tops_adapter

if TYPE_CHECKING:
    from typing import Any

Write = Callable[[dict[str, str]], Path]
Lines = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The lines that were logged since the last call: their levels and texts."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger = logging.getLogger("saltext.reclass")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)

    def lines() -> list[tuple[str, str]]:
        new = [(record.levelname, record.getMessage()) for record in records]
        records.clear()
        return new

    yield lines
    logger.setLevel(level)
    logger.removeHandler(handler)


def replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


TWICE = "parameters:\n  a: 1\n  a: 2\n"


def test_a_warning_is_logged_once_until_files_change(write: Write, lines: Lines) -> None:
    base = write(
        {"nodes/n1": "classes: [c]", "nodes/n2": "classes: [c]\nparameters: {b: 1, b: 2}", "classes/c": TWICE}
    )

    def ask() -> list[tuple[str, str]]:
        inventory = Inventory(inventory_base_uri=str(base), cache="stat")
        for _ in range(3):
            for node in ["n1", "n2"]:
                inventory.pillar(node)
                inventory.nodeinfo(node)
        inventory.inventory()
        return lines()

    (level, of_class), (_, of_node) = ask()
    assert level == "WARNING"
    assert f"{base}/classes/c.yml:3:3: node 'n1': " in of_class
    assert f"{base}/nodes/n2.yml:2:20: node 'n2': " in of_node
    assert ask() == []
    logging.getLogger("saltext.reclass").setLevel(logging.DEBUG)
    again = [line for line in ask() if "duplicate" in line[1]]
    assert {level for level, _ in again} == {"DEBUG"}
    assert len(again) == 2 * 3 * 3 + 3
    logging.getLogger("saltext.reclass").setLevel(logging.INFO)
    replace(base / "classes/c.yml", f"# moved\n{TWICE}")
    changed = ask()
    assert len(changed) == 2, "both nodes are computed anew"
    assert f"{base}/classes/c.yml:4:3: " in changed[0][1]


def test_many_warnings_of_one_kind_are_counted(write: Write, lines: Lines) -> None:
    files = {f"nodes/n{number}": TWICE for number in range(8)}
    base = write({**files, "nodes/n9": "parameters: {a: 1}\nclases: []"})
    Inventory(inventory_base_uri=str(base), cache="stat").inventory()
    found = [line for level, line in lines() if level == "WARNING"]
    assert [("duplicate-key" in line, "unknown-section" in line) for line in found] == [
        *[(True, False)] * 5,
        (False, True),
        (True, False),
    ]
    assert found[-1] == "3 more warnings (duplicate-key); 'reclass lint' shows all"
    Inventory(inventory_base_uri=str(base), cache="stat").inventory()
    assert lines() == []


def test_stale_data_are_logged_again_with_their_age(tmp_path: Path, lines: Lines) -> None:
    repository = tmp_path / "served"
    (repository / "nodes").mkdir(parents=True)
    (repository / "nodes/n.yml").write_text("parameters: {a: 1}")
    person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], [*person, "commit", "-qm", "one"]):
        subprocess.run(["git", "-C", str(repository), *arguments], check=True)
    tree = {"repo": str(repository), "branch": "main", "cache_dir": "cache", "lock_dir": "lock"}
    settings = {
        "inventory_base_uri": str(tmp_path),
        "storage_type": "yaml_git",
        "nodes_uri": {**tree, "root": "nodes"},
        "classes_uri": {**tree, "root": "classes"},
        "git_fetch_interval": 0,
        "stale_log_interval": 1,
    }
    inventory = Inventory(**settings)
    assert inventory.pillar("n")["a"] == 1
    [state] = inventory.fetch_states()
    assert (state["source"], list(state["commits"])) == (str(repository), ["main"])
    assert (state["stale"], state["failed"]) == (None, None)
    assert lines() == []
    repository.rename(tmp_path / "away")
    assert [inventory.pillar("n")["a"] for _ in range(3)] == [1, 1, 1]
    [(level, line)] = lines()
    begin = f"'{repository}' is served as it was fetched last: "
    assert (level, line.startswith(begin)) == ("WARNING", True), line
    assert re.search(r" \(git-stale\).*; fetched \d seconds? ago$", line), line
    [state] = inventory.fetch_states()
    assert state["stale"].startswith(begin)
    failed = state["failed"]
    time.sleep(1.1)
    # Whatever the question is.
    inventory.nodes()
    [(level, line)] = lines()
    assert (level, line.startswith(begin)) == ("WARNING", True), line
    (tmp_path / "away").rename(repository)
    inventory.nodes()
    inventory.pillar("n")
    [state] = inventory.fetch_states()
    # The last failure stays known.
    assert (state["stale"], state["failed"] >= failed) == (None, True)
    [(level, line)] = lines()
    assert level == "INFO"
    assert re.fullmatch(
        rf"'{re.escape(str(repository))}' is fetched again; it was stale for \d seconds?", line
    ), line


def test_each_answer_has_its_time_at_debug(write: Write, lines: Lines) -> None:
    base = write({"nodes/n1": "applications: [a]", "nodes/bad": "classes: [gone]"})
    inventory = Inventory(inventory_base_uri=str(base), cache="stat")
    inventory.top("n1")
    assert lines() == []
    logging.getLogger("saltext.reclass").setLevel(logging.DEBUG)
    inventory.top("n1")
    inventory.pillar("n1")
    inventory.pillar("n1")
    inventory.top("n1")
    inventory.nodeinfo("n1")
    with pytest.raises(ReclassError):
        inventory.pillar("bad")
    expected = [
        "top of 'n1': computed",
        "pillar of 'n1': computed",
        "pillar of 'n1': remembered",
        "top of 'n1': remembered",
        "nodeinfo of 'n1': remembered",
        "pillar of 'bad': failed",
    ]
    found = lines()
    assert [line.split(" in ")[0] for _, line in found] == expected
    assert all(level == "DEBUG" and line.endswith(" ms") for level, line in found)


def test_a_change_of_mode_is_logged(write: Write, lines: Lines) -> None:
    base = write({"nodes/n1": "parameters: {a: 1}"})
    inventory = Inventory(inventory_base_uri=str(base))
    for _ in range(3):
        inventory.pillar("n1")
    watched = ("INFO", f"the kernel reports changes in '{base}/nodes' from now on (inotify)")
    assert lines() == [watched]
    (base / "nodes/n2.yml").symlink_to(base / "nodes/n1.yml")
    for _ in range(3):
        inventory.pillar("n1")
    [(level, line)] = lines()
    assert level == "INFO"
    assert line == f"no watch of '{base}/nodes' any more: each answer compares the time stamps of the files"


def test_a_request_that_fails_is_one_line(
    write: Write, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = write({"nodes/n1": "classes: [c]", "nodes/n2": "classes: [c]", "classes/c": "classes:\n  - gone"})
    reclass = {"inventory_base_uri": str(base), "cache": "stat"}
    opts: dict[str, Any] = {"id": "m", "master_tops": {"reclass": reclass}}
    for module in (reclass_adapter, tops_adapter):
        monkeypatch.setattr(module, "__opts__", opts, raising=False)

    def ask(node: str) -> list[str]:
        with pytest.raises(SaltInvocationError):
            reclass_adapter.ext_pillar(node, {}, **reclass)
        found = lines()
        assert all(level == "ERROR" for level, _ in found)
        return [line for _, line in found]

    concise, excerpt = ask("n1")
    assert concise.startswith(f"{base}/classes/c.yml:2:5: node 'n1': no class 'gone'")
    assert "\n" not in concise
    assert excerpt.startswith("error[class-not-found]: ")
    assert "node 'n1' includes 'c'" in excerpt
    assert ask("n1") == [concise]
    assert ask("n2") == [concise.replace("'n1'", "'n2'")]
    tops_adapter.top(opts={"id": "n2"})
    assert [line for _, line in lines()] == ["no top from reclass: " + concise.replace("'n1'", "'n2'")]
    replace(base / "classes/c.yml", "classes:\n  - gone\n# changed")
    assert len(ask("n2")) == 2
    assert len(ask("n1")) == 1
    replace(base / "nodes/n1.yml", "parameters: {a: '${x}', b: '${y}'}")
    concise, _ = ask("n1")
    assert concise.endswith("(reference-not-found); 1 more problem")


def test_an_error_has_all_its_problems_as_data(write: Write) -> None:
    base = write(
        {
            "nodes/n": "classes: [c]\nparameters: {b: '${no}'}",
            "classes/c": "parameters: {adress: 1, a: '${address}'}",
            "nodes/asks": "parameters: {q: '$[ exports:e ]'}",
            "nodes/exports": "exports: {e: '${none}'}",
        }
    )
    inventory = Inventory(inventory_base_uri=str(base))
    with pytest.raises(ReclassError) as caught:
        inventory.pillar("n")
    first, second = caught.value.problems
    assert isinstance(first, Problem)
    assert (first.code, first.location) == (caught.value.code, caught.value.location)
    assert first == Problem(
        code="reference-not-found",
        message="no parameter 'address' for '${address}'",
        location=f"{base}/classes/c.yml:1:29",
        node="n",
        path="a",
        chain=[f"node 'n' includes 'c' at {base}/nodes/n.yml:1:11"],
        help="'adress' is similar",
    )
    assert (second.location, second.chain, second.help) == (f"{base}/nodes/n.yml:2:18", [], None)
    assert len(str(caught.value).splitlines()) == 2
    # Of another node, behind the query that asked it.
    with pytest.raises(ReclassError) as caught:
        inventory.pillar("asks")
    assert [problem.node for problem in caught.value.problems] == ["asks", "exports"]
    with pytest.raises(ReclassError) as caught:
        Inventory(inventory_base_uri=5)
    assert [problem.code for problem in caught.value.problems] == ["setting-type"]
    assert ReclassError("text").problems == []
