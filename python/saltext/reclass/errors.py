"""The exceptions of :mod:`saltext.reclass`.

Each has a message, a place and a node. ``str()`` never contains the value of a parameter but one: the name of
a missing class that references make. ``sent`` has none, so it may be sent to a minion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Problem(NamedTuple):
    """One problem of a :class:`ReclassError`. It contains no value of a parameter."""

    code: str
    """The stable code, such as ``reference-not-found``."""

    message: str
    """The sentence."""

    location: str | None
    """The place, ``path:line:column`` or the path alone; ``None`` where there is no file."""

    node: str | None
    """The node that was rendered."""

    path: str | None
    """The parameter or export that has the problem, in the notation of references."""

    chain: list[str]
    """The include chain, from the node down to the file; empty for the file of the node itself."""

    help: str | None
    """A way out."""


class ReclassError(Exception):
    """A failed request.

    ``str()`` gives the concise form, one line for each problem.
    """

    code: str
    """What went wrong, as a stable word such as ``reference-not-found``."""

    location: str | None
    """Where, as ``path:line:column``, or as the path alone; ``None`` where no file is to blame."""

    notes: list[str]
    """What else there is to know: how the file came in, remarks, a way out."""

    problems: list[Problem]
    """All problems, the first one first; behind each the problems of other nodes that caused it."""

    sent: str
    """``str()`` without the value of any parameter: what a minion may get."""

    repeated: bool = False
    """Whether this process raised the same problems before, and no file of the inventory changed since."""

    full: str
    """The problems with excerpts of their files, secrets as stars: for those who may see the files, not
    for minions. Empty where no file was read."""

    def __init__(  # noqa: PLR0913, PLR0917 - the engine passes all of them
        self,
        message: str,
        code: str = "internal",
        location: str | None = None,
        notes: Iterable[str] = (),
        full: str = "",
        problems: Iterable[Iterable[Any]] = (),
    ) -> None:
        super().__init__(message)
        self.sent = message
        self.code = code
        self.location = location
        self.notes = list(notes)
        self.full = full
        self.problems = [Problem(*problem) for problem in problems]

    def full_text(self) -> str:
        """The message, then the full form; where there is none, the notes, a line for each."""
        return "\n".join([str(self), self.full]) if self.full else "\n  ".join([str(self), *self.notes])


class NodeNotFoundError(ReclassError):
    """No file defines the node (``node-not-found``)."""


class ClassNotFoundError(ReclassError):
    """No file defines a class that something includes (``class-not-found``)."""


class ReferenceNotFoundError(ReclassError):
    """The parameter of a reference does not exist (``reference-not-found``)."""


class SettingsError(ReclassError):
    """A setting has the wrong type or an invalid value."""


class WireError(ReclassError):
    """A value cannot be carried to Salt or taken from it (``wire-type``)."""


class InternalError(ReclassError):
    """A defect of the engine (``internal``)."""
