"""Says who edited which file or ended a trial: a line in the log, and on a master an event; never a value."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Caller:
    """The function of Salt that edits, and who called it."""

    function: str
    user: Any = None
    job: Any = None
    fire: Callable[..., Any] | None = None
    """Salt's runner function ``event.send``."""


# A reactor calls runners in several threads of one process.
_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


@contextmanager
def called(caller: Caller) -> Iterator[None]:
    """Names the caller of the edits inside. A function that another one calls keeps the first name."""
    token = _caller.set(_caller.get() or caller)
    try:
        yield
    finally:
        _caller.reset(token)


def edited(edit: Mapping[str, Any], subject: str, done: str, store: str) -> None:
    """Reports an edit of the engine that has been made."""
    caller = _caller.get()
    if caller is None:
        return
    # The hash of one short value in etcd would give it away.
    before, after = (edit[f"hash_{when}"] if store == "file" else None for when in ("before", "after"))
    log.info(
        "edit: %s %s in '%s' by %s, user %s, job %s; sha256 %s, before %s",
        subject,
        done,
        edit["path"],
        caller.function,
        user(),
        caller.job,
        after,
        before,
    )
    _fire(caller, subject=subject, done=done, file=edit["path"], before=before, after=after)


def ended_trial(inventory: str, revision: str, done: str) -> None:
    """Reports that the revision on trial of an inventory was promoted or aborted."""
    caller = _caller.get()
    if caller is None:
        return
    log.info("revision %s of '%s' %s by user %s, job %s", revision, inventory, done, user(), caller.job)
    _fire(caller, done=done, inventory=inventory, revision=revision)


def _fire(caller: Caller, **event: Any) -> None:
    if caller.fire is not None:
        event = {"function": caller.function, "user": user(), "job": caller.job, **event}
        caller.fire(f"reclass/edit/{caller.function}", event)


def user() -> str:
    """Who edits: the user that Salt names, or that of the process."""
    caller = _caller.get()
    if caller is not None and caller.user:
        return str(caller.user)
    import salt.utils.user

    return str(salt.utils.user.get_specific_user())
