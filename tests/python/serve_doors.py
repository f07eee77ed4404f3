"""The doors of `serve_model`: how each question is asked, in processes as a master has them."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltext.reclass import Inventory, _check, _metadata, _metrics, _watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# They ask several questions.
SLOW = ("check", "validate", "look")
OF_PROGRAM = ("status", "show", "explain")

PROGRAM = Path(sys.executable).parent / "reclass"


def settings(folder: Path, whole: bool, canary: str | None, start: bool) -> dict[str, Any]:
    """The options of `ext_pillar`. Also writes them into the file `master`, for the program."""
    tree = {
        "repo": str(folder / "site"),
        "cache_dir": str(folder / "cache"),
        "lock_dir": str(folder / "lock"),
    }
    given = {
        "storage_type": "yaml_git",
        "nodes_uri": {**tree, "branch": "master", "root": "nodes"},
        "classes_uri": {**tree, "branch": "master", "root": "classes"},
        "schemas_uri": {**tree, "branch": "master", "root": "schemas"},
        "git_fetch_interval": 0,
        # On a machine that does a lot beside, a fetch is late and none fails.
        "git_fetch_timeout": 3600,
        "serve": "whole" if whole else "tested",
        **({"canary": {"match": canary}} if canary else {}),
        **({"serve_from": "start"} if start else {}),
        # Some doors ask with these, and all are to share what the process knows.
        "schema_check": "error",
        "revision_in_pillar": False,
    }
    (folder / "master").write_text(json.dumps({"ext_pillar": [{"reclass": given}]}))
    return given


class Doors:
    """The questions in one process."""

    def __init__(self, given: dict[str, Any], folder: Path) -> None:
        given = {"_asker": "master", **given}
        self.given = given
        self.opts = {"ext_pillar": [{"reclass": given}], "cachedir": str(folder / "salt"), "__role": "master"}
        self.inventory = Inventory(**given)

    def answer(self, door: str, node: str) -> Any:
        try:
            return getattr(self, door)(node)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            return {"error": getattr(error, "code", repr(error))}

    def pillar(self, node: str) -> Any:
        return _values(self.inventory.pillar(node))

    def top(self, node: str) -> Any:
        [applications] = self.inventory.top(node).values()
        return applications

    def explain(self, node: str) -> Any:
        return _explained(self.inventory.explain(node, "rev", "own", plain=True))

    def nodeinfo(self, node: str) -> Any:
        return _values(self.inventory.nodeinfo(node)["parameters"])

    def state(self, _: str) -> Any:
        return self.inventory.state()["revision"]

    def status(self, _: str) -> Any:
        return _status(self.inventory.status())

    def delivery(self, _: str) -> Any:
        return _delivered(self.inventory.delivery())

    def metrics(self, _: str) -> Any:
        states, delivery = self.inventory.fetch_states(), self.inventory.last_delivery()
        found = _metrics.of_inventory("site", "", states, delivery)
        return None if delivery is None else [found["commit_refused"], found["nodes_held"]]

    def validate(self, _: str) -> Any:
        errors = _metadata.with_empty_files(self.given, _metadata.pillar_errors(self.given))
        return {node: "held" if text.startswith("held:") else _code(text) for node, text in errors.items()}

    def look(self, _: str) -> Any:
        watch = _watch.Watch(self.given, self.opts, {})
        watch.look(0)
        told = watch.delivered
        return {
            "revision": watch.revision,
            "nodes": len(watch.nodes),
            "failing": sum(hashes is None for hashes in watch.nodes.values()),
            "held": _names(told.get("held", [])),
            **({"refused": told["refused"]} if "refused" in told else {}),
            "trial": told["trial"]["nodes"] if "trial" in told else None,
        }

    def check(self, _: str) -> Any:
        report = _check.check(self.opts)
        found: dict[str, Any] = {"held": [], "first": [], "none": False, "trial": None}
        found.update({"distrusted": False, "canary": False, "others": [], "alone": False, "aborted": False})
        for text in report["problems"]:
            names = re.search(r" nodes? \(([^)]*)\)", text)
            if names and "no earlier commit is known" in text:
                found["first"] += names[1].split(", ")
            elif "it breaks" in text:
                found["held"] += names[1].split(", ") if names else [text]
                found["none"] |= "is served to none" in text
            elif names and text.startswith("an earlier one is served to "):
                found["held"] += names[1].split(", ")
            elif "could not be believed" in text:
                found["distrusted"] = True
            elif text.startswith("'match: "):
                found["canary"] = True
            else:
                found["others"].append(_code(text) or text)
        for text in report["remarks"]:
            if trial := re.search(r"is on trial with (\d+) node", text):
                found["trial"] = int(trial[1])
            found["alone"] |= "without an earlier one" in text
            found["aborted"] |= "its trial was aborted" in text
        if found["others"] == ["git-branch"] and not found["held"]:
            return {"error": "git-branch"}
        return {**found, "held": sorted(found["held"]), "first": sorted(found["first"])}

    def promote(self, _: str) -> Any:
        return self.inventory.end_trial(True) is not None

    def abort(self, _: str) -> Any:
        return self.inventory.end_trial(False) is not None

    def watch(self, _: str) -> Any:
        return self.inventory.test_revisions()


def ask_program(folder: Path, door: str, node: str) -> Any:
    """The answer of the native program."""
    arguments: dict[str, tuple[list[str], Callable[[Any], Any]]] = {
        "status": (["status"], _status),
        "show": (["show", node, "--served"], lambda answer: _values(answer["parameters"])),
        "explain": (["explain", node, "rev", "own", "--served"], _explained),
    }
    command, form = arguments[door]
    command = [str(PROGRAM), *command, "--config", str(folder / "master"), "-o", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if ended.stdout:
        return form(json.loads(ended.stdout))
    code = re.search(r"error\[([a-z-]+)\]", ended.stderr)
    return {"error": code[1] if code else ended.stderr}


def _values(parameters: Mapping[str, Any]) -> list[Any]:
    return [parameters["rev"], parameters["own"]]


def _explained(answer: Mapping[str, Any]) -> list[Any]:
    values = {one["path"]: one["value"] for one in answer["parameters"]}
    return [values["rev"], values["own"]]


def _status(answer: Mapping[str, Any]) -> dict[str, Any]:
    named = answer["failing_nodes"]
    assert answer["failing"] == len(named)
    return {"nodes": answer["nodes"], "failing": named, "delivery": _delivered(answer["delivery"])}


def _delivered(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{
            name: answer[name]
            for name in ("fetched", "tested", "served", "is_served", "is_first", "distrusted")
        },
        "held": _names(answer["held"]),
        "first": _names(answer["first"]),
        "trial": answer["trial"]["nodes"] if "trial" in answer else None,
        "waits": "waiting" in answer,
    }


def _names(problems: list[Mapping[str, Any]]) -> list[str]:
    return sorted(node for one in problems for node in one["nodes"])


def _code(text: str) -> str:
    found = re.search(r"\(([a-z-]+)\)", text)
    return found[1] if found else text


class Worker:
    """A process that lives as long as one of a master's and answers one question after the other."""

    def __init__(self, given: dict[str, Any], folder: Path) -> None:
        (read, self.questions), (self.answers, write) = os.pipe(), os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                logging.disable(logging.CRITICAL)
                doors = Doors(given, folder)
                with os.fdopen(read) as questions, os.fdopen(write, "w") as answers:
                    for line in questions:
                        print(json.dumps(doors.answer(*json.loads(line))), file=answers, flush=True)
            finally:
                os._exit(1)
        os.close(read)
        os.close(write)
        self.lines = os.fdopen(self.answers)

    def send(self, door: str, node: str) -> None:
        os.write(self.questions, f"{json.dumps([door, node])}\n".encode())

    def receive(self) -> Any:
        return json.loads(self.lines.readline())

    def ask(self, door: str, node: str) -> Any:
        self.send(door, node)
        return self.receive()

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.questions)
        self.lines.close()
