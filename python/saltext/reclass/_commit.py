"""Commits edits of an inventory in a git repository, through the program git.

A commit has the edited file and nothing else: it is made with an index of its own, so what others have
changed or staged stays as it is. An edit for another branch is made in a temporary copy of that branch.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltext.reclass import _audit, _git, _revision
from saltext.reclass._salt import RefusedError
from saltext.reclass.errors import NodeNotFoundError, ReclassError

log = logging.getLogger(__name__)

Edit = Callable[[Mapping[str, Any], bool], dict[str, Any]]
"""Makes an edit with settings, or in a test only says what it would do."""

_AUTHOR = re.compile(r"([^<>\n]+) <([^<>\n]+)>")
# Others may commit to the branch at the same time.
ATTEMPTS = 10
# Seconds between two of them, for the index of the work tree.
_PAUSE = 0.1


@dataclass(frozen=True)
class Commit:
    """Whether to commit, the author as ``Name <address>``, the message, and the branch."""

    is_asked: bool = False

    author: Any = None
    message: Any = None
    branch: Any = None


_NOTHING = Commit()
_asked: ContextVar[Commit] = ContextVar("commit", default=_NOTHING)
_UNSERVED = (
    "no minion gets it before it is committed (setting 'serve'): "
    "commit it with git, and make edits with commit=True"
)


@contextmanager
def asked(commit: Any, author: Any = None, message: Any = None, branch: Any = None) -> Iterator[None]:
    """Commits the edits inside."""
    token = _asked.set(Commit(bool(commit), author, message, branch))
    try:
        yield
    finally:
        _asked.reset(token)


def made(
    settings: Mapping[str, Any],
    edit: Edit,
    test: bool,
    sentence: str,
    report: Callable[[Mapping[str, Any]], None],
) -> dict[str, Any]:
    """The edit, made and committed if that was asked for. The sentence is for the message.

    ``report`` gets an edit as soon as it is made, whether it can be committed or not.
    """
    commit = _asked.get()
    if is_pushed(settings):
        from saltext.reclass import _push

        done = _push.edited(settings, edit, test, commit, sentence)
    elif not commit.is_asked:
        if commit != _NOTHING:
            raise RefusedError("'author', 'message' and 'branch' are for a commit: add commit=True")
        try:
            done = edit(settings, test)
        except NodeNotFoundError as error:
            if not _revision.is_of_commits(settings):
                raise
            done = {**_work_tree(settings, commit, sentence).deleted(settings, edit, error), "changed": False}
        is_served = done["changed"] and _revision.is_of_commits(settings)
        if is_served or _revision.is_uncommitted(settings, done["path"]):
            done["warning"] = "; ".join(filter(None, [done.get("warning"), _UNSERVED]))
    else:
        repository = _work_tree(settings, commit, sentence)
        if commit.branch in (None, "", repository.current):
            return repository.edit_here(settings, edit, test, report)
        done = repository.edit_branch(settings, edit, test)
    if done["changed"] and not test:
        report(done)
        if done.get("warning"):
            # Nobody waits for the answer of a reactor.
            log.warning("edit of '%s': %s", done["path"], done["warning"])
    return done


def is_pushed(settings: Mapping[str, Any]) -> bool:
    """Whether edits are pushed: the inventory is in fetched repositories, and a commit is asked for."""
    asked = _asked.get().is_asked or settings.get("edit_branch")
    return bool(asked) and settings.get("storage_type") == "yaml_git"


def is_of_commits(settings: Mapping[str, Any]) -> bool:
    """Whether a commit is asked for, or minions get nothing without one."""
    return _asked.get().is_asked or _revision.is_of_commits(settings)


def _work_tree(settings: Mapping[str, Any], commit: Commit, sentence: str) -> _WorkTree:
    from saltext.reclass._engine import Editor

    return _WorkTree(Editor(**settings).folders(), commit, sentence)


class Repository:
    """A repository in the folder ``top``, and what a commit says."""

    owner: int | None = None
    """The user of git, if it is another one: files that root makes would stop the owner of the repository."""

    def __init__(self, top: str, commit: Commit, sentence: str) -> None:
        self.top, self.commit, self.sentence = top, commit, sentence
        self.people = self._people()

    def committed(self, branch: str, path: str, file: Path, done: Mapping[str, Any]) -> str:
        """The name of a new commit of the branch that has this file, or is without it."""
        blob = self.git("hash-object", "-w", "--path", path, str(file)) if file.exists() else ""
        for _ in range(ATTEMPTS):
            tip = self.tip(branch)
            parent = tip or self.git("rev-parse", "HEAD")
            with self.folder_of_owner() as folder:
                index = {"GIT_INDEX_FILE": f"{folder}/index"}
                self.git("read-tree", parent, more=index)
                if blob:
                    mode = self.git("ls-files", "--format=%(objectmode)", "--", path, more=index) or "100644"
                    self.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", more=index)
                else:
                    # `--force-remove` needs a work tree, which a bare repository has not.
                    entry = f"0 {'0' * len(parent)}\t{path}\0"
                    self.git("update-index", "-z", "--index-info", more=index, text=entry)
                tree = self.git("write-tree", more=index)
            name: str = self.git(
                "commit-tree", tree, "-p", parent, more=self.people, text=self._message(done)
            )
            # It fails if the branch has moved since.
            moved = self.git("update-ref", f"refs/heads/{branch}", name, tip or "0" * len(name), fails="")
            if moved is not None:
                return name
        raise RefusedError(f"the edit is made, but branch '{branch}' keeps changing: it is not committed")

    def _message(self, done: Mapping[str, Any]) -> str:
        nodes = done["nodes"] or {"changed": 0}
        first = self.commit.message or self.sentence
        parts = [first, f"Nodes that change: {nodes['changed']}", done["diff"].strip(), done.get("rendered")]
        return "\n\n".join(filter(None, parts))

    def _people(self) -> dict[str, str]:
        user = _audit.user()
        name, address = user, f"{user}@{socket.gethostname()}"
        committer = {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": address}
        if self.commit.author is not None:
            author = _AUTHOR.fullmatch(str(self.commit.author))
            if author is None:
                raise RefusedError("'author' must be like 'Ada Byron <ada@example.com>'")
            name, address = author.groups()
        return {**committer, "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address}

    def tip(self, branch: str) -> str:
        """The commit of a branch; empty without one."""
        return self.git("rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}", fails="") or ""

    def behind(self, branch: str, name: str, commit: str) -> str:
        """How many commits a branch has not yet of another one, in words; empty if it has all."""
        missing = int(self.git("rev-list", "--count", f"refs/heads/{branch}..{commit}"))
        commits = "commit" if missing == 1 else "commits"
        return f"branch '{branch}' is {missing} {commits} behind '{name}'" if missing else ""

    @contextmanager
    def folder_of_owner(self) -> Iterator[str]:
        """A temporary folder that git can use."""
        with tempfile.TemporaryDirectory(prefix="reclass-") as folder:
            if self.owner is not None:
                os.chown(folder, self.owner, -1)
            yield os.path.realpath(folder)

    def git(
        self,
        *arguments: str,
        more: Mapping[str, str] | None = None,
        text: str = "",
        fails: str | None = None,
    ) -> Any:
        """The output of git. If it fails: an error, with its text or another; with an empty one ``None``."""
        done = _git.run(*arguments, folder=self.top, more=more, text=text, user=self.owner)
        if done.returncode == 0:
            return done.stdout.strip()
        if fails == "":
            return None
        raise RefusedError(fails or f"git {arguments[0]}: {done.stderr.strip()[:200]}")


class _WorkTree(Repository):
    def __init__(self, folders: Mapping[str, list[str]], commit: Commit, sentence: str) -> None:
        self.folders = {kind: [os.path.realpath(path) for path in paths] for kind, paths in folders.items()}
        first = self.folders["nodes"][0]
        self.top = first
        owner = os.stat(first).st_uid
        if os.geteuid() == 0 and owner != 0:
            self.owner = owner
        super().__init__(os.path.realpath(self.git("rev-parse", "--show-toplevel")), commit, sentence)
        self.current = self.git("symbolic-ref", "--short", "-q", "HEAD", fails="HEAD is no branch")

    def edit_here(
        self,
        settings: Mapping[str, Any],
        edit: Edit,
        test: bool,
        report: Callable[[Mapping[str, Any]], None],
    ) -> dict[str, Any]:
        """Makes an edit in the working tree, and commits it on the current branch."""
        is_gone = False
        try:
            done = edit(settings, True)
        except NodeNotFoundError as error:
            done, is_gone = self.deleted(settings, edit, error), True
        path = relative(done["path"], self.top)
        # An edit without a commit may be repeated with one.
        is_made = self.git("status", "--porcelain", "--ignored", "--", path)
        if is_gone:
            pass
        elif is_made.startswith(("??", "A")) and not done["changed"]:
            # A new file, which is as it shall be.
            done = {**done, "changed": True}
        elif is_made:
            done = self._made_on_head(settings, edit, path)
        if test or not done["changed"]:
            return done
        lock = Path(self.top, self.git("rev-parse", "--git-path", "index.lock"))
        if not self._waited(lambda: not lock.exists()):
            raise RefusedError(f"the edit is not made: another git works in '{self.top}', see '{lock}'")
        if not is_made:
            done = edit(settings, False)
        if done["changed"]:
            report(done)
            # First the index of the user: without it, a commit would look there as if it were to be undone.
            staged = ("update-index", "--add", "--remove", "--", path)
            if not self._waited(lambda: self.git(*staged, fails="") is not None):
                raise RefusedError(f"the edit is made, but not committed: another git works in '{self.top}'")
            done["commit"] = self.committed(self.current, path, Path(self.top, path), done)
        return done

    def _made_on_head(self, settings: Mapping[str, Any], edit: Edit, path: str) -> dict[str, Any]:
        """The edit as it is made on the last commit, if that is all that the file has of changes."""
        file = Path(self.top, path)
        with self._copy("HEAD") as (copy, here):
            done = None
            # It fails if it needs another file that is in no commit.
            with suppress(ReclassError, RefusedError):
                done = edit({**settings, **here}, False)
            texts = [one.read_bytes() if one.exists() else None for one in (file, Path(copy, path))]
            if done is None or not done["changed"] or texts[0] != texts[1]:
                raise RefusedError(f"'{file}' has changes that are in no commit: commit it with git")
            return {**done, "path": str(file), "diff": done["diff"].replace(f"{copy}/{path}", str(file))}

    def deleted(self, settings: Mapping[str, Any], edit: Edit, error: NodeNotFoundError) -> dict[str, Any]:
        """The deletion of a file that the last commit has; the error for another edit, or without a file."""
        if not self.git("diff", "--name-only", "--diff-filter=D", "HEAD", "--", *self.folders["nodes"]):
            raise error
        with self._copy("HEAD") as (copy, here):
            try:
                done = edit({**settings, **here}, False)
            except (ReclassError, RefusedError):
                raise error from None
            path = relative(done["path"], copy)
            file = Path(self.top, path)
            if file.exists() or Path(copy, path).exists():
                raise error
            return {**done, "path": str(file), "diff": done["diff"].replace(f"{copy}/{path}", str(file))}

    @contextmanager
    def _copy(self, commit: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """A copy of a commit, and the settings that name its folders."""
        with self.folder_of_owner() as copy:
            index = {"GIT_INDEX_FILE": f"{copy}/.index"}
            self.git("read-tree", commit, more=index)
            self.git("checkout-index", "--all", f"--prefix={copy}/", more=index)
            yield (
                copy,
                {
                    f"{kind}_uri": [str(Path(copy, relative(path, self.top))) for path in paths]
                    for kind, paths in self.folders.items()
                },
            )

    @staticmethod
    def _waited(is_done: Callable[[], bool]) -> bool:
        """Whether it is done in time. Another git holds the lock of the index for a moment only."""
        for _ in range(ATTEMPTS):
            if is_done():
                return True
            time.sleep(_PAUSE)
        return is_done()

    def edit_branch(self, settings: Mapping[str, Any], edit: Edit, test: bool) -> dict[str, Any]:
        """Makes an edit in a copy of a branch, and commits it there."""
        branch = str(self.commit.branch)
        self.git("check-ref-format", "--branch", branch, fails=f"{branch!r} is no name of a branch")
        tip = self.tip(branch)
        behind = self.behind(branch, self.current, "HEAD") if tip else ""
        with self._copy(tip or "HEAD") as (copy, here):
            with in_copy(branch, behind, lambda text: text.replace(copy, self.top)):
                done = edit({**settings, **here}, test)
            path = relative(done["path"], copy)
            shown = str(Path(self.top, path))
            diff = done["diff"].replace(f"{copy}/{path}", shown)
            done = {**done, "path": shown, "diff": diff, "branch": branch, "warning": behind}
            if done["changed"] and not test:
                done["commit"] = self.committed(branch, path, Path(copy, path), done)
            return done


@contextmanager
def in_copy(branch: str, behind: str, shown: Callable[[str], str]) -> Iterator[None]:
    """An error about a copy names the branch, and files as they are in the repository."""

    place = behind or f"this is branch '{branch}'"

    def told(text: str) -> str:
        first, *more = shown(text).split("\n")
        return "\n".join([f"{first}; {place}", *more])

    try:
        yield
    except ReclassError as error:
        error.args, error.sent = (told(str(error)),), told(error.sent)
        error.notes = [shown(note) for note in error.notes]
        error.full = shown(error.full)
        raise
    except RefusedError as error:
        raise RefusedError(told(str(error))) from None


def relative(path: str, top: str) -> str:
    """The path of a file below the top of a repository."""
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if not Path(path).is_relative_to(top):
        raise RefusedError(f"'{path}' is not in the repository '{top}'")
    return os.path.relpath(path, top)
