"""Translates the arguments of Salt's adapters into requests to the engine.

The pillar module and the tops module share this code. The engine caches the answers. The only state
here is the last pillar of a masterless minion, see :func:`_without_our_own`.
"""

from __future__ import annotations

import copy
import difflib
import functools
import logging
import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from saltext.reclass.errors import NodeNotFoundError, ReclassError

log = logging.getLogger(__name__)

_ENVIRONMENT = re.compile(r"[A-Za-z0-9_.-]+")
_NOT_IN_A_STATE_NAME = re.compile(r"[^A-Za-z0-9]+")
# The settings of the rule by which new revisions are served.
_RULE = ("serve", "serve_from", "canary", "canary_for")


def pillar(  # noqa: PLR0913, PLR0917 - those of Salt's function, and its dunders
    minion_id: str,
    so_far: Mapping[str, Any],
    positional: Sequence[Any],
    given: Any,
    opts: Mapping[str, Any],
    grains: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The pillar of a minion, from the arguments of ``ext_pillar``."""
    _check_sent("grains", grains)
    settings = settings_of(given, opts, positional)
    if settings.get("metrics_file"):
        counted = _counted()
        return counted("pillar", opts, _pillar, minion_id, so_far, settings, opts, grains)  # type: ignore[no-any-return]
    return _pillar(minion_id, so_far, settings, opts, grains)


# An `import` in each request would take longer than a count in it.
@functools.cache
def _engine() -> Any:
    """The engine, which may not load."""
    from saltext.reclass import _engine

    return _engine


@functools.cache
def _counted() -> Callable[..., Any]:
    """The function that counts. A master that counts nothing does not load it."""
    from saltext.reclass._metrics import counted

    return counted


def _pillar(
    minion_id: str,
    so_far: Mapping[str, Any],
    settings: Mapping[str, Any],
    opts: Mapping[str, Any],
    grains: Mapping[str, Any] | None,
) -> dict[str, Any]:
    environment = None
    if _is_on(settings, "allow_adapter_env_override"):
        saltenv = opts.get("saltenv")
        asked_by_minion = (_request() or {}).get("cmd") == "_pillar"
        if saltenv == "base" and opts.get("__role") == "master" and not asked_by_minion:
            # `salt-run pillar.show_pillar` fills in "base" although nobody asked for it, and would
            # show a different pillar than the minion gets.
            saltenv = None
        environment = _environment(opts.get("pillarenv"), saltenv)
    propagates = _is_on(settings, "propagate_pillar_data_to_reclass")
    try:
        inventory = _engine().Inventory(**settings)
        if not propagates or opts.get("__role") == "master":
            return inventory.pillar(minion_id, so_far, environment, grains)  # type: ignore[no-any-return]
        so_far = _without_our_own(minion_id, so_far)
        data: dict[str, Any] = inventory.pillar(minion_id, so_far, environment, grains)
        # The answer also contains the earlier pillar, which is not ours.
        _given[minion_id] = copy.deepcopy({key: value for key, value in data.items() if key not in so_far})
        return data
    except NodeNotFoundError:
        if opts.get("__role") == "master" and minion_id == opts.get("id"):
            # The master's own pillar: `salt-run state.orchestrate` renders one.
            return {}
        raise


_given: dict[str, dict[str, Any]] = {}


def _without_our_own(minion_id: str, so_far: Mapping[str, Any]) -> dict[str, Any]:
    """The pillar so far, without the values of our last pillar for this minion.

    A masterless minion renders its pillar on top of its current one. SLS files replace keys, but
    nothing removes them. If we passed the pillar on unchanged, our own lists would grow with each render.
    """
    ours = _given.get(minion_id, {})
    return {
        key: value
        for key, value in so_far.items()
        if key != "__reclass__" and not (key in ours and ours[key] == value)
    }


def top(
    minion_opts: Mapping[str, Any], opts: Mapping[str, Any], grains: Mapping[str, Any] | None = None
) -> dict[str, list[str]]:
    """The top of a minion, from the arguments of ``top``."""
    tops = opts.get("master_tops") or {}
    if not isinstance(tops, Mapping):
        raise RefusedError("master_tops must be a mapping")
    settings = settings_of(tops.get("reclass"), opts)
    _check_sent("options", minion_opts)
    _check_sent("grains", grains)
    minion_id = _authenticated_id(minion_opts, opts)
    environment = None
    if _is_on(settings, "allow_adapter_env_override"):
        environment = _environment(minion_opts.get("saltenv"), minion_opts.get("pillarenv"))

    def answer() -> dict[str, list[str]]:
        inventory = _engine().Inventory(**settings)
        return inventory.top(minion_id, environment, grains)  # type: ignore[no-any-return]

    if settings.get("metrics_file"):
        return _counted()("top", opts, answer)  # type: ignore[no-any-return]
    return answer()


def _check_sent(what: str, sent: Any) -> None:
    """Refuses what a minion sends in another form than its Salt would."""
    if sent is not None and not isinstance(sent, Mapping):
        raise RefusedError(f"the {what} of the minion must be a mapping, not a {type(sent).__name__}")


def failed_top(error: BaseException, description: str) -> dict[str, list[str]]:
    """A top that no minion can apply, with the reason in the name of its only state.

    Salt logs an exception of ``top`` and continues, and ``state.apply`` then succeeds without the
    states of reclass. A state that does not exist makes it fail.
    """
    code = error.code if isinstance(error, (ReclassError, RefusedError)) else "internal"
    reason = _NOT_IN_A_STATE_NAME.sub("-", description.removeprefix("reclass: "))[:150].strip("-")
    return {"base": [f"reclass-failed--{code}--{reason}--see-the-log-of-the-master"]}


def describe(error: BaseException, failed: str = "") -> str:
    """The text of an error for the caller. It never contains the value of a parameter.

    Each error is one line in the log, after the text ``failed``. Its excerpts are logged once, and again
    after a file of the inventory changed.
    """
    if isinstance(error, ReclassError):
        first, *more = str(error).splitlines() or [""]
        notes = [] if error.full else error.notes
        rest = [f"{len(more)} more problem{'s' * (len(more) > 1)}"] if more else []
        log.error("%s%s", failed, "; ".join([first, *notes, *rest]))
        if error.full and not error.repeated:
            log.error("%s", error.full)
    if failed and isinstance(error, RefusedError):
        log.error("%s%s", failed, error)
    if isinstance(error, (ReclassError, RefusedError)):
        return f"reclass: {error.sent if isinstance(error, ReclassError) else error}"
    # The text of other errors may contain secrets, so it reaches neither a minion nor a log.
    if isinstance(error, ImportError):
        # The text of an import error names libraries of the system, which no minion needs.
        log.error("the engine of saltext-reclass does not load: %s", error)
        return "reclass: the engine of saltext-reclass does not load; the log says why"
    kind = type(error).__name__
    way = "".join(traceback.format_tb(error.__traceback__))
    log.error("internal error (%s) of reclass, on the way through\n%s", kind, way)
    return f"reclass: internal error ({kind})"


class RefusedError(Exception):
    """A request is refused; the text is the reason."""

    code = "refused"


def missing(what: str, name: str, places: Iterable[str], known: Iterable[str]) -> RefusedError:
    """The exception for a missing name, with the places that were searched and a similar name."""
    where = ", ".join(f"'{place}'" for place in places)
    return RefusedError(f"no {what} {name!r} in {where}{similar(name, known)}")


def similar(name: str, known: Iterable[str]) -> str:
    """The help of an error for a wrong name: the most similar one, if there is one."""
    return "".join(f"; {one!r} is similar" for one in difflib.get_close_matches(name, known, n=1))


def settings_of(given: Any, opts: Mapping[str, Any], positional: Sequence[Any] = ()) -> dict[str, Any]:
    """The options of the configuration as a new dict, because the configuration belongs to Salt."""
    if given is None or (not given and not isinstance(given, Mapping)):
        given = {}
    if not isinstance(given, Mapping) or any(argument is not None for argument in positional):
        raise RefusedError("the configuration of reclass must be a mapping of options")
    settings = _resolved(given, opts)
    deciding = _deciding(settings, given, opts)
    if deciding is not None:
        # One rule for all who ask about the same nodes.
        settings = {name: value for name, value in settings.items() if name not in _RULE}
        settings.update((name, deciding[name]) for name in _RULE if name in deciding)
    if settings.get("serve", "now") != "now" and (asker := _asker(opts, deciding is not None)):
        settings["_asker"] = asker
    return settings


def _resolved(given: Mapping[str, Any], opts: Mapping[str, Any]) -> dict[str, Any]:
    """The options with those of the file that they name, and with the default folder."""
    settings = {str(name): value for name, value in given.items()}
    if settings.get("config_file"):
        from saltext.reclass._engine import configured

        return configured(**settings)
    if "inventory_base_uri" not in settings:
        # The same default as in Salt's builtin adapter.
        roots = (opts.get("file_roots") or {}).get("base") or []
        if isinstance(roots, (list, tuple)) and roots:
            settings["inventory_base_uri"] = roots[0]
    return settings


def is_of_master(opts: Mapping[str, Any]) -> bool:
    """Whether a process goes by the options of the running master.

    Every other program reads the configuration anew, and may find one that the master does not have yet.
    """
    return str(opts.get("__cli", "salt-master")).startswith("salt-master")


def _deciding(
    settings: Mapping[str, Any], given: Mapping[str, Any], opts: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The first entry of ``ext_pillar`` for the same nodes, if it has other options.

    Its rule decides which commits minions get: a laxer one must take no pillar.
    """
    pillars = [entry.get("reclass") for entry in opts.get("ext_pillar") or [] if isinstance(entry, Mapping)]
    for entry in pillars:
        if entry == given:
            return None
        if isinstance(entry, Mapping):
            other = _resolved(entry, opts)
            if _nodes(other) == _nodes(settings):
                return other
    return None


def _nodes(settings: Mapping[str, Any]) -> list[Any]:
    """The tree of the nodes, however the options write it."""
    uri = settings.get("nodes_uri")
    if isinstance(uri, Mapping):
        return [
            str(uri.get("repo")),
            str(uri.get("branch") or "master"),
            str(uri.get("root") or "").strip("/"),
        ]
    base = str(settings.get("inventory_base_uri") or "").removeprefix("yaml_fs://")
    paths = uri if isinstance(uri, list) else [uri or "nodes"]
    return [os.path.normpath(os.path.join(base, str(path).removeprefix("yaml_fs://"))) for path in paths]


def _asker(opts: Mapping[str, Any], is_other: bool) -> str | None:
    """Who asks: the running master, a guest with other options or another configuration, or neither."""
    if is_other:
        return "guest"
    if opts.get("__role") != "master" or str(opts.get("__cli")).startswith("salt-ssh"):
        return None
    return "master" if is_of_master(opts) else "guest"


def _is_on(settings: Mapping[str, Any], name: str) -> bool:
    """Whether a setting is true, as the engine reads it."""
    value = settings.get(name)
    return bool(value) and str(value).lower() not in ("false", "no", "off", "0", "null", "none", "~")


def _environment(*wanted: Any) -> str | None:
    """The first environment in the request. It is checked, because it may come from a minion."""
    for name in wanted:
        if name:
            if not isinstance(name, str) or not _ENVIRONMENT.fullmatch(name):
                raise RefusedError("the environment asked for is not a valid name")
            return name
    return None


def _authenticated_id(minion_opts: Mapping[str, Any], opts: Mapping[str, Any]) -> str:
    """The authenticated id of the minion that sent the request.

    Salt passes the options on as the minion wrote them. The authenticated id is in the context of
    the request. Without a request (masterless, salt-ssh) the options are our own.
    """
    claimed = minion_opts.get("id")
    if opts.get("__role") == "master":
        request = _request()
        if request is not None:
            authenticated = request.get("id")
            if not isinstance(authenticated, str):
                raise RefusedError("the request for tops has no authenticated minion id")
            if claimed != authenticated:
                log.error("minion %r asked for the top of another id, refused", authenticated)
                raise RefusedError("the id in the options is not the authenticated id of the minion")
            return authenticated
    if not isinstance(claimed, str):
        raise RefusedError("the options have no minion id")
    return claimed


def _request() -> Mapping[str, Any] | None:
    """The payload of the minion's current request, if there is one."""
    try:
        from salt.utils.ctx import get_request_context

        context = get_request_context()
    except ImportError:
        # Salt 3006
        from salt.utils.ctx import RequestContext

        context = RequestContext.current
    data = (context or {}).get("data")
    return data if isinstance(data, Mapping) else None


# Now, and not at the first request: a process that forks while a thread imports them would have a child that
# waits for ever. Who asks says why the engine does not load.
with suppress(ImportError):
    _engine()
    _request()
