"""The inventory under load: its files, all the ways in which they change, and what each node gets of them.

Every file has a version in its text, always of the same length, so that no size shows a change. The pillar
of a node has the versions of all files that it came from, once as they are and once through references,
lists and an inventory query.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import shutil
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from saltext.reclass import Editor

from tests.salt.load.history import History, Span

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GROUPS, ROLES, FEATURES, SITES = 4, 4, 4, 3
# These come and go.
UNSTEADY = 4
# The errors that files deserve that `git checkout` has taken away, or made and not yet written.
DURING_CHECKOUT = {
    "class-not-found",
    "reference-not-found",
    "query-failed",
    "file-unreadable",
    "file-changing",
}
# As the text of an error has its code, and as a top has it.
_CODE = re.compile(r"\(([a-z]+-[a-z-]+)\)|^reclass-failed--([a-z-]+?)--")
# What a value of the inventory looks like.
_VERSION = re.compile(r"\bv\d{6}")
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


class Wrong(Exception):
    """An answer that is not what the files said at any moment between the request and the answer."""


class Inventory:
    """An inventory of some nodes, the changes that it can undergo, and the judgement of answers."""

    def __init__(self, folder: Path, nodes: int, seed: int) -> None:
        self.folder = folder
        self.nodes = [f"n{number}" for number in range(nodes)]
        self.history = History()
        self.changes: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._count = 0
        self._sites = list(range(SITES))
        self._branches: dict[str, dict[str, str | None]] = {}
        self._make()

    # What there is.

    def _files(self) -> list[str]:
        classes = ["common", "cluster/overrides"]
        classes += [f"group/g{number}" for number in range(GROUPS)]
        classes += [f"role/r{number}" for number in range(ROLES)]
        classes += [f"feature/f{number}" for number in range(FEATURES)]
        return [*(f"classes/{name}" for name in classes), *(f"nodes/{name}" for name in self.nodes)]

    def _path(self, file: str) -> Path:
        if file.startswith("nodes/"):
            node = file.removeprefix("nodes/")
            site = self._sites[self._number(node) % SITES]
            return self.folder / f"nodes/site{site}/{node}.yml"
        return self.folder / f"{file}.yml"

    @staticmethod
    def _number(node: str) -> int:
        return int(node.removeprefix("n"))

    def _text(self, file: str, version: str) -> str:
        kind, name = file.split("/")[-2:]
        if kind == "nodes":
            number = self._number(name)
            classes = ["common", "cluster.overrides", f"group.g{number % GROUPS}", f"role.r{number % ROLES}"]
            query = "  peers: $[ exports:own if exports:group == self:group ]\n" if self._asks(name) else ""
            return (
                f"classes: [{', '.join(classes)}]\n"
                "exports: {own: '${own}', group: '${group}'}\n"
                "parameters:\n"
                f"  me: {name}\n  own: {version}\n"
                "  joined: ${common}/${_param:soft}/${group_is}/${feature}/${role}/${own}\n"
                f"{query}"
                f"  seen: [{name} {version}]\n"
            )
        if kind == "cluster":
            return f"parameters:\n  _param:\n    soft: {version}\n  seen: [soft]\n"
        application = f"applications: [{name}-{version}]\n"
        if kind == "role":
            more = f"classes: [feature.f{int(name[1:]) % FEATURES}]\n"
            return f"{more}{application}parameters: {{role: {version}, seen: [{name} {version}]}}\n"
        if kind == "group":
            return (
                f"{application}parameters: {{group: {name}, group_is: {version}, seen: [{name} {version}]}}\n"
            )
        key = "feature" if kind == "feature" else name
        return f"{application}parameters: {{{key}: {version}, seen: [{name} {version}]}}\n"

    def _asks(self, node: str) -> bool:
        return self._number(node) % 4 == 1

    def _new(self) -> str:
        self._count += 1
        return f"v{self._count:06}"

    def _make(self) -> None:
        versions: dict[str, str | None] = {file: self._new() for file in self._files()}
        for file, version in versions.items():
            path = self._path(file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._text(file, str(version)))
        shutil.copytree(self.folder / "classes/role", self.folder / "spare")
        self._git("init", "-q", "-b", "main")
        features = [file for file in versions if "/feature/" in file]
        for branch in ("main", "other"):
            if branch == "other":
                self._git("checkout", "-q", "-b", branch)
                versions |= {file: self._new() for file in features}
            for file in features:
                self._path(file).write_text(self._text(file, str(versions[file])))
            self._git("add", "classes/feature")
            self._git("commit", "-q", "-m", branch)
            self._branches[branch] = {file: versions[file] for file in features}
        self.history.begin(versions, time.monotonic())
        self.history.end(versions, time.monotonic())

    def _git(self, *arguments: str) -> None:
        person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
        subprocess.run(["git", "-C", self.folder, *person, *arguments], check=True, capture_output=True)

    # How it changes.

    def change(self) -> None:
        """Changes something, in one of many ways."""
        ways = [
            *[self._replaced, self._in_place, self._edited] * 3,
            *[self._clock_back, self._comment, self._folders_exchanged, self._sites_exchanged],
            *[self._node_comes_or_goes, self._checkout],
        ]
        way = self._random.choice(ways)
        way()
        self.changes[way.__name__.strip("_").replace("_", " ")] += 1

    def _a_class(self) -> str:
        return self._random.choice([file for file in self._files() if "/group/" in file or "common" in file])

    def _a_steady_node(self) -> str:
        return f"nodes/{self._random.choice(self.nodes[:-UNSTEADY])}"

    def _any(self) -> str:
        return self._random.choice([self._a_class(), self._a_class(), self._a_steady_node()])

    def _to(self, versions: Mapping[str, str | None], change: Any, restless: bool = False) -> None:
        start = time.monotonic()
        self.history.begin(versions, start)
        change()
        end = time.monotonic()
        self.history.end(versions, end)
        if restless:
            self.history.unrest((start, end))

    def _replaced(self) -> None:
        """As editors and configuration management do it: another file takes the place of the old one."""
        file = self._any()
        path, version = self._path(file), self._new()
        new = path.with_suffix(".new")
        new.write_text(self._text(file, version))
        self._to({file: version}, lambda: new.replace(path))

    def _overwrite(self, file: str, version: str) -> None:
        path = self._path(file)
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.pwrite(descriptor, self._text(file, version).encode(), 0)
        finally:
            os.close(descriptor)

    def _in_place(self) -> None:
        """The same file, of the same size, with other bytes."""
        file, version = self._any(), self._new()
        self._to({file: version}, lambda: self._overwrite(file, version))

    def _clock_back(self) -> None:
        """In place, and the file says that it has not changed for a day."""
        file, version = self._any(), self._new()
        then = time.time() - 86400
        self._to({file: version}, lambda: self._overwrite(file, version))
        os.utime(self._path(file), (then, then))

    def _edited(self) -> None:
        """By the editor of this project."""
        version = self._new()
        editor = Editor(inventory_base_uri=str(self.folder))
        self._to({"classes/cluster/overrides": version}, lambda: editor.set_cluster_param("soft", version))

    def _comment(self) -> None:
        """A change that changes no value."""
        file = self._any()
        path = self._path(file)
        new = path.with_suffix(".new")
        new.write_text(self._text(file, str(self.history.now(file))) + f"# {self._count}\n")
        new.replace(path)

    def _folders_exchanged(self) -> None:
        """All roles at once: a folder takes the place of another in one step."""
        versions = {f"classes/role/r{number}": self._new() for number in range(ROLES)}
        for file, version in versions.items():
            (self.folder / "spare" / self._path(file).name).write_text(self._text(file, version))
        self._to(versions, lambda: self._exchange("classes/role", "spare"))

    def _sites_exchanged(self) -> None:
        """Node files in other folders, by a rename of the folders; the nodes stay what they are."""
        one, other = self._random.sample(range(SITES), 2)
        self._exchange(f"nodes/site{one}", f"nodes/site{other}")
        swapped = {one: other, other: one}
        self._sites = [swapped.get(site, site) for site in self._sites]

    def _exchange(self, one: str, other: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        paths = [os.fsencode(self.folder / name) for name in (one, other)]
        if libc.renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")

    def _node_comes_or_goes(self) -> None:
        file = f"nodes/{self._random.choice(self.nodes[-UNSTEADY:])}"
        path = self._path(file)
        if self.history.now(file):
            self._to({file: None}, path.unlink)
            return
        version = self._new()
        new = path.with_suffix(".new")
        new.write_text(self._text(file, version))
        self._to({file: version}, lambda: new.replace(path))

    def _checkout(self) -> None:
        """Another branch. Git takes each file away and writes it anew, one after the other."""
        features = next(iter(self._branches["main"]))
        branch = "other" if self.history.now(features) == self._branches["main"][features] else "main"
        self._to(self._branches[branch], lambda: self._git("checkout", "-q", branch), restless=True)

    # What nodes get.

    def judge_pillar(self, node: str, pillar: Mapping[str, Any], span: Span) -> set[str]:
        """Nothing for a right pillar, the codes of an error that the files deserved; raises `Wrong`."""
        if errors := pillar.get("_errors"):
            return self._judge_error(node, "\n".join(errors), span)
        versions, expected = self._expected(node, pillar)
        answer = {key: value for key, value in pillar.items() if key != "_reclass_"}
        if answer != expected:
            raise Wrong(f"{node}: {answer} is not {expected}")
        if not self.history.could_be_met(versions, span):
            raise Wrong(f"{node}: {versions} were never there together in {span}")
        return set()

    def judge_top(self, node: str, top: Mapping[str, Any], span: Span) -> set[str]:
        """The same for a top."""
        [(environment, applications)] = top.items() if top else [("base", [])]
        if any(name.startswith("reclass-failed--") for name in applications):
            return self._judge_error(node, applications[0], span)
        files = dict(self._of_node(node))
        names = [file.rsplit("/", 1)[1] for file in files]
        found = dict(application.split("-") for application in applications)
        if environment != "base" or list(found) != names:
            raise Wrong(f"{node}: {top}")
        versions = {file: found[name] for file, name in zip(files, names, strict=True)}
        if not self.history.could_be_met(versions, span):
            raise Wrong(f"{node}: {versions} were never there together in {span}")
        return set()

    def _judge_error(self, node: str, error: str, span: Span) -> set[str]:
        if _VERSION.search(error):
            raise Wrong(f"{node}: a value in an error: {error}")
        codes = {code for match in _CODE.finditer(error) for code in match.groups() if code}
        gone = self.history.could_be_met({f"nodes/{node}": None}, span)
        if gone and codes == {"node-not-found"}:
            return codes
        # What `git checkout` has taken away, or made and not yet written.
        if codes and codes <= DURING_CHECKOUT and self.history.was_unrest(span):
            return codes
        raise Wrong(f"{node}: {error}")

    def _of_node(self, node: str) -> dict[str, str]:
        """The class files with applications, in the order of the classes, and the key of their version."""
        number = self._number(node)
        return {
            "classes/common": "common",
            f"classes/group/g{number % GROUPS}": "group_is",
            f"classes/feature/f{number % ROLES % FEATURES}": "feature",
            f"classes/role/r{number % ROLES}": "role",
        }

    def _expected(self, node: str, pillar: Mapping[str, Any]) -> tuple[dict[str, str | None], dict[str, Any]]:
        """The versions in a pillar, and the pillar that a node has with those versions."""
        files = self._of_node(node)
        found = {file: pillar.get(key) for file, key in files.items()}
        soft, own = pillar.get("_param", {}).get("soft"), pillar.get("own")
        versions = {**found, "classes/cluster/overrides": soft, f"nodes/{node}": own}
        group = f"g{self._number(node) % GROUPS}"
        common, group_is, feature, role = found.values()
        names = [file.rsplit("/", 1)[1] for file in files]
        seen = [f"{name} {version}" for name, version in zip(names, found.values(), strict=True)]
        expected = {
            "common": common,
            "seen": [seen[0], "soft", *seen[1:], f"{node} {own}"],
            "_param": {"soft": soft},
            "group": group,
            "group_is": group_is,
            "feature": feature,
            "role": role,
            "me": node,
            "own": own,
            "joined": "/".join(map(str, (common, soft, group_is, feature, role, own))),
            "__reclass__": {
                "nodename": node,
                "applications": [
                    f"{name}-{version}" for name, version in zip(names, found.values(), strict=True)
                ],
                # As reclass has them: what classes include comes before what the node lists.
                "classes": [
                    *(f"feature.{names[2]}", "common", "cluster.overrides"),
                    *(f"group.{group}", f"role.{names[3]}"),
                ],
                "environment": "base",
            },
        }
        if self._asks(node):
            # Each node of the group that is there, itself included, and no other.
            group_of_peers = [
                f"nodes/{peer}" for peer in self.nodes if self._number(peer) % GROUPS == int(group[1:])
            ]
            found_in_peers = {f"nodes/{peer}": version for peer, version in pillar.get("peers", {}).items()}
            versions = {**{file: found_in_peers.get(file) for file in group_of_peers}, **versions}
            there = {file: versions[file] for file in group_of_peers if versions[file] is not None}
            expected["peers"] = {file.removeprefix("nodes/"): version for file, version in there.items()}
        return versions, expected
