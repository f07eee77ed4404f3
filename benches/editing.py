"""Editing: the language server over its pipes. The clock stops when the bytes of the answer are there."""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.measure import Figure
from benches.programs import NATIVE, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.effort import Effort
    from benches.inventories import Inventory

# A reference that leads nowhere, and the code of its error.
_GONE, _CODE = "${nobody:sets:this}", b"reference-not-found"
# A finding of a check of all nodes names the other nodes.
_OTHERS = b"with the same problem"


@dataclass
class Edited:
    """Seconds, one for each time, and bytes."""

    first: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    open_file: list[float] = field(default_factory=list)
    all_nodes: list[float] = field(default_factory=list)
    renamed: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)

    def asked_late(self) -> Figure:
        """The hundredth part of the answers that took longest begins here."""
        return Figure([sorted(self.asked)[int(len(self.asked) * 0.99)]])


class Server:
    """A server, and the editor's end of its pipes."""

    def __init__(self, base: Path) -> None:
        self._process = subprocess.Popen(
            [NATIVE, "lsp"], cwd=base, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the server has no pipes")
        self._in, self._out = self._process.stdin, self._process.stdout
        self._id = 0
        self._version = 0

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        self._in.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._in.flush()

    def receive(self) -> bytes:
        """The next message."""
        length = 0
        while (line := self._out.readline()) != b"\r\n":
            if not line:
                raise RuntimeError("the server ended")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return self._out.read(length)

    def ask(self, method: str, params: Any) -> tuple[float, Any]:
        """The seconds until the answer, and the answer."""
        self._id += 1
        begin = time.perf_counter()
        self.send(method, params, self._id)
        while True:
            body = self.receive()
            seconds = time.perf_counter() - begin
            message = json.loads(body)
            if message.get("id") == self._id and "method" not in message:
                return seconds, message.get("result")

    def until(self, begin: float, told: Callable[[bytes], bool]) -> float:
        """The seconds from `begin` until the server tells something."""
        while not told(self.receive()):
            pass
        return time.perf_counter() - begin

    def initialize(self, base: Path) -> None:
        folders = [{"uri": base.as_uri(), "name": "x"}]
        self.ask("initialize", {"capabilities": {}, "workspaceFolders": folders})
        self.send("initialized", {})

    def open(self, file: Path, text: str) -> None:
        item = {"uri": file.as_uri(), "languageId": "yaml", "version": 0, "text": text}
        self.send("textDocument/didOpen", {"textDocument": item})

    def put(self, file: Path, text: str) -> None:
        self._version += 1
        document = {"uri": file.as_uri(), "version": self._version}
        changes = [{"text": text}]
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def peak(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0

    def close(self) -> None:
        self.ask("shutdown", None)
        self.send("exit", None)
        self._process.wait()


@contextmanager
def _server(base: Path) -> Iterator[Server]:
    server = Server(base)
    try:
        yield server
    finally:
        server.close()


def measure(effort: Effort, inventory: Inventory) -> Edited:
    """A person opens a class of many nodes, types, asks and renames it."""
    edited = Edited()
    file, name, users = _class_of(inventory, 500)
    text = file.read_text()
    broken = f"{text}  broken_by_a_person: '{_GONE}'\n"
    for _ in range(effort.few):
        begin = time.perf_counter()
        server = Server(inventory.base)
        server.initialize(inventory.base)
        server.open(file, broken)
        edited.first.append(server.until(begin, lambda body: _CODE in body))
        server.close()
    with _server(inventory.base) as server:
        server.initialize(inventory.base)
        server.open(file, text)
        server.until(0, lambda body: b"reclass/status" in body)
        for number in range(effort.rounds):
            begin = time.perf_counter()
            server.put(file, broken.replace("a_person", f"person_{number}"))
            edited.open_file.append(server.until(begin, lambda body: _CODE in body))
            edited.all_nodes.append(server.until(begin, lambda body: _CODE in body and _OTHERS in body))
            server.put(file, text)
            server.until(0, lambda body: b"reclass/status" in body)
        edited.asked = _asked(server, file, text, effort.calls)
        user = users[0]
        server.open(user, user.read_text())
        line, column = _place(user.read_text(), name)
        for _ in range(effort.few):
            asked = {
                "textDocument": {"uri": user.as_uri()},
                "position": {"line": line, "character": column + 1},
                "newName": f"{name}_new",
            }
            seconds, answer = server.ask("textDocument/rename", asked)
            if len((answer or {}).get("documentChanges", ())) < len(users):
                raise RuntimeError(f"{name} was not renamed: {answer}")
            edited.renamed.append(seconds)
        edited.peak.append(server.peak())
    return edited


def _asked(server: Server, file: Path, text: str, calls: int) -> list[float]:
    """Hover, definition and completion at places all over the text, each after the last key."""
    lines = text.split("\n")
    times = []
    for number in range(calls):
        line = number * 7 % len(lines)
        column = len(lines[line]) - len(lines[line].lstrip()) + 1
        asked = {"textDocument": {"uri": file.as_uri()}, "position": {"line": line, "character": column}}
        server.put(file, f"{text}# {number}\n")
        for method in ("hover", "definition", "completion"):
            times.append(server.ask(f"textDocument/{method}", asked)[0])
    return times


def _class_of(inventory: Inventory, count: int) -> tuple[Path, str, list[Path]]:
    """The class that about so many files list, its name, and these files."""
    users: dict[str, list[Path]] = {}
    for file in sorted(inventory.base.rglob("*.yml")):
        for name in re.findall(r"^- ([\w.]+)$", file.read_text(), re.MULTILINE):
            users.setdefault(name, []).append(file)
    path = inventory.base / "classes"
    classes = {
        name: path / (name.replace(".", "/") + ".yml")
        for name in users
        if (path / (name.replace(".", "/") + ".yml")).exists()
    }
    name = min(classes, key=lambda name: abs(len(users[name]) - count))
    return classes[name], name, users[name]


def _place(text: str, name: str) -> tuple[int, int]:
    at = text.index(f"- {name}\n") + 2
    return text[:at].count("\n"), at - text[:at].rfind("\n") - 1
