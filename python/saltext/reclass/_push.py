"""Makes an edit of an inventory in fetched repositories a commit on a branch, and pushes it.

The edit is made in a temporary copy of the commit. The fetched repositories, from which a master serves, are
only read.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltext.reclass._commit import (
    ATTEMPTS,
    Commit,
    Edit,
    Repository,
    in_copy,
    relative,
)
from saltext.reclass._salt import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Settings of repositories that mean nothing in a copy.
_OF_GIT = {"storage_type", "nodes_uri", "classes_uri", "serve", "canary", "canary_for", "git_revision"}
# Their paths of nodes begin at the top of the repository, and those of a copy at the nodes.
_WITH_PATHS = ("compose_node_name", "class_mappings_match_path")
# Lines of the rendered values in the message of a commit.
_SHOWN = 200


def edited(
    settings: Mapping[str, Any], edit: Edit, test: bool, commit: Commit, sentence: str
) -> dict[str, Any]:
    """The edit, made on top of the branch and pushed."""
    branch = str(commit.branch or settings.get("edit_branch") or "")
    if not branch:
        raise RefusedError("an edit of an inventory in git is pushed: name the branch with 'edit_branch'")
    for name in _WITH_PATHS:
        if settings.get(name):
            raise RefusedError(f"an inventory in git cannot be edited with the setting '{name}'")
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(prefix="reclass-") as folder:
            done = _Copy(settings, commit, sentence, branch, os.path.realpath(folder)).edit(edit, test)
            if done is not None:
                return done
    raise RefusedError(f"branch '{branch}' keeps changing: the edit is not made")


class _Copy:
    """The trees of an inventory twice: as they are, in ``old``, and for the edit, in ``new``."""

    def __init__(
        self, settings: Mapping[str, Any], commit: Commit, sentence: str, branch: str, folder: str
    ) -> None:
        from saltext.reclass._engine import Editor

        self.branch, self.folder, self.behind = branch, folder, ""
        # What is older than the branch would not be accepted.
        self.editor = Editor(**{**settings, "git_fetch_failure": "fail"})
        trees = self.editor.repositories()
        if trees is None:
            raise RefusedError(
                "an inventory in git can be edited if all nodes and classes are in one branch each"
            )
        self.trees = trees
        self.settings = {name: value for name, value in settings.items() if name not in _OF_GIT}
        self.repositories: dict[str, Repository] = {}
        """By the folder of the fetched repository. Their copies have the same number, from 0."""
        for tree in self.trees.values():
            self._add(tree, commit, sentence)

    def _add(self, tree: Mapping[str, Any], commit: Commit, sentence: str) -> None:
        """Copies a repository, on top of the branch, or of the served one if that has all of it."""
        if tree["folder"] not in self.repositories:
            number = len(self.repositories)
            top = f"{self.folder}/{number}.git"
            repository = self.repositories[tree["folder"]] = Repository(top, commit, sentence)
            os.mkdir(top)
            repository.git("init", "-q", "--bare")
            Path(top, "objects/info/alternates").write_text(f"{tree['folder']}/objects\n")
            os.makedirs(f"{top}/info", exist_ok=True)
            # Files are those of the commit, as the engine reads them.
            Path(top, "info/attributes").write_text("* -text -filter -ident !working-tree-encoding\n")
            repository.git("check-ref-format", "--branch", self.branch, fails=f"{self.branch!r} is no branch")
            served, there = tree["heads"].get(tree["branch"]), tree["heads"].get(self.branch)
            base = served
            if base is None:
                raise RefusedError(f"'{tree['repo']}' has no branch '{tree['branch']}'")
            if there and repository.git("merge-base", "--is-ancestor", there, base, fails="") is None:
                base = there
            repository.git("update-ref", f"refs/heads/{self.branch}", base)
            self.behind = self.behind or repository.behind(self.branch, tree["branch"], served)
            for state in ("old", "new"):
                copy = f"{self.folder}/{state}/{number}"
                os.makedirs(copy)
                place = {"GIT_INDEX_FILE": f"{top}/index", "GIT_DIR": top, "GIT_WORK_TREE": copy}
                repository.git("read-tree", base, more=place)
                repository.git("checkout-index", "--all", f"--prefix={copy}/", more=place)
        number = self._number(tree)
        for state in ("old", "new"):
            os.makedirs(f"{self.folder}/{state}/{number}/{tree['root']}", exist_ok=True)

    def _number(self, tree: Mapping[str, Any]) -> int:
        return list(self.repositories).index(tree["folder"])

    def edit(self, edit: Edit, test: bool) -> dict[str, Any] | None:
        """The edit; ``None`` if the branch has changed since."""
        new, below = f"{self.folder}/new", {}
        for kind, tree in self.trees.items():
            number = self._number(tree)
            below[f"{kind}_uri"] = os.path.normpath(f"{number}/{tree['root']}")
        with in_copy(self.branch, self.behind, self._without_folder):
            done = edit({**self.settings, **{kind: f"{new}/{path}" for kind, path in below.items()}}, test)
            copy, _, path = relative(done["path"], new).partition("/")
            [(kind, tree), *_] = [one for one in self.trees.items() if str(self._number(one[1])) == copy]
            shown = {
                "path": f"{tree['repo']} {self.branch} {path}",
                "diff": done["diff"].replace(done["path"], path),
                "branch": self.branch,
                "warning": self.behind,
            }
            if test or not done["changed"]:
                return {**done, **shown}
            repository = self.repositories[tree["folder"]]
            rendered = self._rendered({**self.settings, **below, "inventory_base_uri": new})
            about = {**done, **shown, "rendered": rendered}
            commit = repository.committed(self.branch, path, Path(done["path"]), about)
        failure = self.editor.push(kind, repository.top, commit, self.branch)
        if failure is None:
            return {**done, **shown, "commit": commit}
        if "[rejected]" in failure or "cannot lock ref" in failure:
            return None
        raise RefusedError(f"'{tree['repo']}' does not take the commit, and the edit is not made: {failure}")

    def _rendered(self, settings: Mapping[str, Any]) -> str:
        """What changes in the values of nodes, with secrets masked."""
        from saltext.reclass._engine import Inventory

        text, _ = Inventory(**settings).diff_text(f"{self.folder}/old", ".")
        lines = self._without_folder(text).strip().splitlines()
        more = [f"{len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
        return "\n".join([*lines[:_SHOWN], *more])

    def _without_folder(self, text: str) -> str:
        for number in range(len(self.repositories)):
            for state in ("old", "new"):
                text = text.replace(f"{self.folder}/{state}/{number}/", "")
        return text
