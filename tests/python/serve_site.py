"""The repository of `serve_model`: commits that break nodes in many ways, and that mend them."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping
    from pathlib import Path

FLAWS = ("yaml", "twice", "class", "reference", "torn", "schema", "value")
"""Why a node has no pillar; of several, the first one is met first."""


@dataclass(eq=False)
class Commit:
    """A commit: its nodes, and why some of them have no pillar."""

    sha: str
    revision: int
    nodes: frozenset[str] = frozenset()
    flaws: Mapping[str, str] = field(default_factory=dict)

    readable: bool = True

    def has_pillar(self, node: str) -> bool:
        return node in self.nodes and node not in self.flaws

    def name(self, other: Commit) -> str:
        """As messages have it."""
        if self.sha:
            return f"{self.sha[:8]} of master"
        return "without branch master" if other.sha else ""

    def __repr__(self) -> str:
        flaws = ", ".join(f"{node} {flaw}" for node, flaw in sorted(self.flaws.items()))
        return f"<{self.revision} {self.sha[:8]} {' '.join(sorted(self.nodes))}; {flaws}>"


GONE = Commit("", 0, readable=False)
"""The branch is not there."""


@dataclass
class Plan:
    """The content of the next commit."""

    nodes: dict[str, list[str]]
    """Each with its role and its flaw."""
    roles: dict[str, str]
    schema: str = ""

    def change(self, chance: random.Random) -> None:
        """Some of these break nodes."""
        node, role = chance.choice(sorted(self.nodes)), chance.choice("ab")
        way = chance.random()
        if way < 0.45:
            self.nodes[node][1] = chance.choice(["yaml", "twice", "class", "reference", "schema", "value"])
        elif way < 0.52:
            self.roles[role] = chance.choice(["class", "reference", "value"])
        elif way < 0.56:
            self.schema = chance.choice(["schema", "torn"])
        elif way < 0.68:
            self.nodes[node][1], self.roles[role], self.schema = "", "", ""
        elif way < 0.76:
            self.nodes = {name: [role, ""] for name, (role, _) in self.nodes.items()}
            self.roles, self.schema = {"a": "", "b": ""}, ""
        elif way < 0.84 and len(self.nodes) > 2:
            del self.nodes[node]
        elif way < 0.92:
            self.nodes.setdefault(f"n{chance.randrange(8)}", [role, ""])

    def flaws(self) -> dict[str, str]:
        found = {}
        for node, (role, own) in self.nodes.items():
            its = {own, self.roles[role], self.schema}
            if flaw := next((flaw for flaw in FLAWS if flaw in its), None):
                found[node] = flaw
        return found

    def files(self, revision: int) -> dict[str, str]:
        # A key of its own for each place: no layer replaces the flaw of another one.
        values = {"reference": ": '${gone}'", "value": ": 99999999999999999999999"}
        files = {"classes/base.yml": f"applications: [app-{revision}]\nparameters: {{rev: {revision}}}\n"}
        for node, (role, flaw) in self.nodes.items():
            size = 99 if flaw == "schema" else 1
            gone = ", gone" if flaw == "class" else ""
            end = "" if flaw == "yaml" else "]"
            parameters = f"parameters: {{own: {revision}, size: {size}, of_node{values.get(flaw, ': 1')}}}\n"
            files[f"nodes/{node}.yml"] = f"classes: [{role}{gone}{end}\n{parameters}"
            if flaw == "twice":
                files[f"nodes/again/{node}.yml"] = "{}\n"
        for role, flaw in self.roles.items():
            gone = ", gone" if flaw == "class" else ""
            files[f"classes/{role}.yml"] = (
                f"classes: [base{gone}]\nparameters: {{of_role{values.get(flaw, ': 1')}}}\n"
            )
        most = 0 if self.schema == "schema" else 50
        files["schemas/size.yml"] = (
            "type: [\n" if self.schema == "torn" else f"type: integer\nmaximum: {most}\n"
        )
        return files


def content(chance: random.Random) -> Plan:
    """What a run begins with: four to six nodes, some of which may have no pillar."""
    nodes = {f"n{number}": [chance.choice("ab"), ""] for number in range(chance.randrange(4, 7))}
    plan = Plan(nodes, {"a": "", "b": ""})
    if chance.random() < 0.2:
        plan.change(chance)
    return plan


class Repository:
    """A bare repository, written without a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("objects", "refs/heads", "refs/tags"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/master\n")
        (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")

    def commit(self, plan: Plan, revision: int, parent: Commit | None) -> Commit:
        tree = self._tree(plan.files(revision))
        begin = f"tree {tree}\n" + (f"parent {parent.sha}\n" if parent else "")
        person = "Ada <ada@example.com> 1700000000 +0000"
        sha = self._object("commit", f"{begin}author {person}\ncommitter {person}\n\nchange\n".encode())
        return Commit(sha, revision, frozenset(plan.nodes), plan.flaws())

    def write_ref(self, name: str, sha: str) -> None:
        path = self.folder / "refs" / name
        if not sha:
            path.unlink(missing_ok=True)
            return
        new = self.folder / "new"
        new.write_text(f"{sha}\n")
        new.replace(path)

    def _object(self, kind: str, content: bytes) -> str:
        data = f"{kind} {len(content)}\0".encode() + content
        sha = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        path = self.folder / "objects" / sha[:2] / sha[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(data, 1))
        return sha

    def _tree(self, files: Mapping[str, str]) -> str:
        folders: dict[str, dict[str, str]] = {}
        rows = []
        for path, text in files.items():
            name, _, rest = path.partition("/")
            if rest:
                folders.setdefault(name, {})[rest] = text
            else:
                rows.append((name, b"100644 " + name.encode(), self._object("blob", text.encode())))
        for name, inside in folders.items():
            rows.append((f"{name}/", b"40000 " + name.encode(), self._tree(inside)))
        return self._object(
            "tree", b"".join(row + b"\0" + bytes.fromhex(sha) for _, row, sha in sorted(rows))
        )
