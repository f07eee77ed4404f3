"""Forks a process again and again while one of its threads calls something for the first time.

``python first_calls.py CALL BASE GIT``: the name of a call, the folder of an inventory in a git
repository, and the settings of an inventory of ``yaml_git`` as JSON. Each child calls the same and has
to end. Prints the number of children; a child that hangs ends this process with an error.
"""

from __future__ import annotations

import contextlib
import datetime
import gc
import json
import os
import select
import signal
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from saltext.reclass import Editor, Inventory, ReclassError, _engine
from saltext.reclass.pillar import reclass_adapter as pillar_adapter
from saltext.reclass.tops import reclass_adapter as tops_adapter

# The most children of one process, and the seconds after which one hangs. It needs a fraction of one.
CHILDREN, PATIENCE = 40, 300

OBJECTS = {
    "text": OrderedDict(a=[1, 1.5, None, True, b"x", 2**70, (1, 2)]),
    "mapping": MappingProxyType({"a": 1}),
    "dates": [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)],
}

Call = Callable[[Inventory, Editor, Inventory], object]


def of_salt() -> dict[str, str]:
    """The options of the adapters of Salt."""
    return {"inventory_base_uri": sys.argv[2]}


def adapter(module: Any) -> Any:
    """An adapter as Salt loads it."""
    module.__opts__ = {"master_tops": {"reclass": of_salt()}, "__role": "master", "id": "x"}
    return module


CALLS: dict[str, Call] = {
    "Inventory": lambda one, edits, git: Inventory(inventory_base_uri="/nowhere", unknown=1),
    "Inventory.applications": lambda one, edits, git: one.applications("*"),
    "Inventory.cache_info": lambda one, edits, git: one.cache_info(),
    "Inventory.classes": lambda one, edits, git: one.classes("*"),
    "Inventory.compare": lambda one, edits, git: one.compare({"n1": OBJECTS}, plain=False),
    "Inventory.compare_text": lambda one, edits, git: one.compare_text({"n1": OBJECTS}),
    "Inventory.diff": lambda one, edits, git: one.diff("HEAD"),
    "Inventory.diff_text": lambda one, edits, git: one.diff_text("HEAD"),
    "Inventory.empty_files": lambda one, edits, git: one.empty_files(),
    "Inventory.end_trial": lambda one, edits, git: one.end_trial(True),
    "Inventory.explain": lambda one, edits, git: one.explain("n1", "**"),
    "Inventory.explain_text": lambda one, edits, git: one.explain_text("n1", "**"),
    "Inventory.fetch_states": lambda one, edits, git: git.fetch_states(),
    "Inventory.files": lambda one, edits, git: one.files(),
    "Inventory.forget_served": lambda one, edits, git: git.forget_served(),
    "Inventory.impact": lambda one, edits, git: one.impact("HEAD"),
    "Inventory.inventory": lambda one, edits, git: one.inventory(),
    "Inventory.lint": lambda one, edits, git: one.lint(),
    "Inventory.lint_text": lambda one, edits, git: one.lint_text(),
    "Inventory.nodeinfo": lambda one, edits, git: one.nodeinfo("n1"),
    "Inventory.nodes": lambda one, edits, git: one.nodes("*", parameters=["day"]),
    "Inventory.params": lambda one, edits, git: one.params("**"),
    "Inventory.pillar": lambda one, edits, git: one.pillar("n1", pillar=OBJECTS, grains=MappingProxyType({})),
    "Inventory.refs": lambda one, edits, git: one.refs("*"),
    "Inventory.delivery": lambda one, edits, git: git.delivery(),
    "Inventory.last_delivery": lambda one, edits, git: git.last_delivery(),
    "Inventory.status": lambda one, edits, git: git.status(),
    "Inventory.state": lambda one, edits, git: git.state(),
    "Inventory.test_revisions": lambda one, edits, git: git.test_revisions(),
    "Inventory.top": lambda one, edits, git: one.top("n1", grains={"os": "Debian"}),
    "Inventory.nodes_of_other_commits": lambda one, edits, git: git.nodes_of_other_commits(),
    "Inventory.unmatched_canary": lambda one, edits, git: git.unmatched_canary(),
    "Editor": lambda one, edits, git: Editor(inventory_base_uri="/nowhere", threads="x"),
    "Editor.cluster_data": lambda one, edits, git: edits.cluster_data("c"),
    "Editor.cluster_path": lambda one, edits, git: edits.cluster_path("c"),
    "Editor.create_node": lambda one, edits, git: edits.create_node(
        "n3", classes=["a"], parameters=OBJECTS, entries=[(["x"], 1)], test=True
    ),
    "Editor.delete_cluster_param": lambda one, edits, git: edits.delete_cluster_param("k", "c", test=True),
    "Editor.delete_node": lambda one, edits, git: edits.delete_node("n1", test=True),
    "Editor.folders": lambda one, edits, git: edits.folders(),
    "Editor.push": lambda one, edits, git: edits.push("nodes", "/nowhere", "HEAD", "b"),
    "Editor.repositories": lambda one, edits, git: edits.repositories(),
    "Editor.set_cluster_param": lambda one, edits, git: edits.set_cluster_param("k", OBJECTS, "c", test=True),
    "Editor.sources": lambda one, edits, git: edits.sources(),
    "Editor.update_node": lambda one, edits, git: edits.update_node("n1", parameters=OBJECTS, test=True),
    "configured": lambda one, edits, git: _engine.configured(inventory_base_uri="/nowhere", threads=2),
    "panic": lambda one, edits, git: _engine.panic(),
    "was_remembered": lambda one, edits, git: _engine.was_remembered(),
    # The first error of each kind, and the first one of PyO3.
    "no node": lambda one, edits, git: one.nodeinfo("missing"),
    "no class": lambda one, edits, git: one.nodeinfo("no-class"),
    "no reference": lambda one, edits, git: one.nodeinfo("no-reference"),
    "no setting": lambda one, edits, git: Inventory(threads="x"),
    "no value": lambda one, edits, git: one.pillar("n1", pillar={"a": object()}),
    "no text": lambda one, edits, git: edits.folders() and edits.delete_node("\ud800"),
    "no list": lambda one, edits, git: one.nodes(classes="a"),
    "the pillar of Salt": lambda one, edits, git: adapter(pillar_adapter).ext_pillar("n2", {}, **of_salt()),
    "the top of Salt": lambda one, edits, git: adapter(tops_adapter).top(opts={"id": "n2"}),
    "no mapping": lambda one, edits, git: one.pillar("n1", grains=5),
    "no argument": lambda one, edits, git: one.pillar(),  # type: ignore[call-arg]
}


def main(name: str, base: str, git: str) -> None:
    call = CALLS[name]
    # The other objects take settings of their own, so nothing of theirs is known yet.
    settings: dict[str, Any] = {
        "inventory_base_uri": base,
        "class_mappings": [r"/^n(\d)$/ mapped"],
        "schema_check": "warn",
        "settle_time": 0,
    }
    objects = Inventory(**settings), Editor(inventory_base_uri=base), Inventory(**json.loads(git))
    gc.collect()
    gc.disable()

    def ask() -> None:
        with contextlib.suppress(ReclassError, TypeError):
            call(*objects)

    # From now on a thread that gives the interpreter away gets it back last. So whatever it does without
    # the interpreter, and each wait for it, is met by a fork.
    sys.setswitchinterval(1e-6)
    begin = threading.Event()
    thread = threading.Thread(target=lambda: begin.wait() and ask())
    children: list[int] = []
    thread.start()
    begin.set()
    while thread.is_alive() and len(children) < CHILDREN:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                sys.setswitchinterval(0.005)
                ask()
                os._exit(0)
            os._exit(1)
        children.append(child)
        if len(children) > CHILDREN // 2:
            # It works without the interpreter for long; further forks meet later parts of it.
            thread.join(0.005)
    thread.join()
    for child in children:
        descriptor = os.pidfd_open(child)
        if not select.select([descriptor], [], [], PATIENCE)[0]:
            for other in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(other, signal.SIGKILL)
            sys.exit(f"child {children.index(child)} of {len(children)} hangs in the first call of {name}")
        os.close(descriptor)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit(f"child {children.index(child)} of {len(children)} ended with {code}")
    print(len(children))


if __name__ == "__main__":
    main(*sys.argv[1:])
