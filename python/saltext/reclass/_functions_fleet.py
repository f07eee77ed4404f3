"""Functions of Salt for all minions of a master. Their texts are those of `sys.doc`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from saltext.reclass import _audit, _check, _configuration, _fleet, _metadata, _metrics, _revision, _versions
from saltext.reclass._edits import Settings, text
from saltext.reclass._functions_values import of_keys, states
from saltext.reclass._salt import RefusedError, settings_of

if TYPE_CHECKING:
    from saltext.reclass._place import OfRunner

# Maximum number of failing nodes that are named; the others are counted.
_SHOWN = 10
# A name, or a file with or without a line.
_SUBJECT = re.compile(r"^(class|parameter):|\.ya?ml(:[0-9]+){0,2}$")


def status(place: OfRunner) -> dict[str, Any]:
    """
    Return what the master serves: for each inventory its revision and since when it is served, its sources
    with their commits, the times of the last fetch and of the last failure, with ``serve`` the way of the
    newest commits to the minions, the number of nodes, and those that have no pillar. It renders every node.

    CLI Example::

        salt-run reclass.status
    """
    entries = [settings for _, settings in _configuration.entries(place.opts)]
    inventories = []
    for places, given in _check.configured(place.opts):
        own = settings_of(given, place.opts)
        number = entries.index(own) + 1 if own in entries else None
        settings = place.with_grains(own, ("*",))
        errors = _metadata.pillar_errors(
            settings,
            earlier=lambda minion, number=number: (  # type: ignore[misc]
                _configuration.earlier_pillar(place.opts, minion, number) if number else None
            ),
        )
        failing = [name for name, error in errors.items() if error]
        inventory = _metadata.opened(settings)
        delivery = inventory.delivery()
        inventories.append(
            {
                "configured": places,
                **inventory.state(),
                **({} if delivery is None else {"delivery": delivery}),
                "nodes": len(errors),
                "failing": len(failing),
                "failing_nodes": failing[:_SHOWN],
            }
        )
    return {"inventories": inventories, "engine": _versions.versions(place.opts)["engine"]}


def stats(place: OfRunner) -> dict[str, Any]:
    """
    Return what all workers of the master did since its cache is there: answers, errors by code, and a
    histogram of the times in seconds; and what is served of each inventory. The setting ``metrics_file``
    makes the workers count.

    CLI Example::

        salt-run reclass.stats
    """
    inventories = []
    for _, given in _check.configured(place.opts):
        own = settings_of(given, place.opts)
        if not own.get("metrics_file"):
            raise RefusedError("nothing is counted without the setting 'metrics_file'")
        inventory = _metadata.opened(own)
        state = inventory.state()
        name = _revision.source(state)
        fetched, delivery = inventory.fetch_states(), inventory.last_delivery()
        found = _metrics.of_inventory(name, state["revision"], fetched, delivery)
        inventories.append({**found, **_fleet.last_drift(place.opts, name)})
    return {**_metrics.summed(place.opts), "inventories": inventories}


def impact(place: OfRunner, since: str = "HEAD~1", new: str = ".", *nodes: str, form: str = "data") -> Any:
    """
    Return the nodes that differ between two states of the inventory, without their values: their number and
    names, those that break, those that are gone, and the paths with the number of nodes. Or return the nodes
    that depend on a line of a file, a class or a parameter.

    since, new
        Revisions of the git repository that contains the inventory. ``.`` is the current state of the files.
        Instead of ``since``: ``FILE``, ``FILE:LINE``, ``class:NAME`` or ``parameter:PATH``.

    nodes
        Globs. Default: all nodes.

    form
        ``data``, or ``list`` for the names with commas, as ``salt -L`` takes them.

    CLI Example::

        salt-run reclass.impact
        salt-run reclass.impact HEAD~1 HEAD form=list
        salt-run reclass.impact classes/app/nginx.yml:6
    """
    if form not in ("data", "list"):
        raise RefusedError(f"'form' must be 'data' or 'list', not {form!r}")
    answer = _impact(place.settings(*nodes or "*"), since, new, nodes)
    if form == "list":
        return ",".join(answer["names"])
    is_state = answer["new"] == text(new)
    return place.with_code(answer, is_state and bool(answer["breaks"]))


def _impact(settings: Settings, since: Any, new: Any, nodes: tuple[Any, ...] = ()) -> dict[str, Any]:
    asked = (text(since), text(new)) if _SUBJECT.search(text(since)) else states(since, new)
    found: dict[str, Any] = _metadata.opened(settings).impact(*asked, *map(text, nodes))
    return found


def drift(
    place: OfRunner, tgt: str = "*", only: Any = None, exclude: Any = None, live: bool = False
) -> dict[str, Any]:
    """
    Return the minions whose pillar differs from that of the inventory, with the paths and the age of the
    pillar, but without values. The exit code is 1 if there is one.

    The pillars are those that the master has cached (``minion_data_cache``). A minion without one is not
    compared.

    tgt
        A glob of minions.

    only, exclude
        Compare only the parameters below these first keys, or leave them out, as in :py:func:`compare`.

    live
        Ask the minions for a hash of the pillar that they use, and compare that. There are no paths then,
        and ``only`` and ``exclude`` do not apply. Minions that do not answer to a ping are
        ``silent``.

    CLI Example::

        salt-run reclass.drift
        salt-run reclass.drift 'web*' exclude='[mine_functions, schedule]'
        salt-run reclass.drift live=True
    """
    settings = place.settings("*")
    answer = _compared(place, settings, tgt, only, exclude, live)
    if text(tgt) == "*" and only is None:
        source = _revision.source(_metadata.opened(settings).state())
        _fleet.remember_drift(place.opts, source, answer["differ"])
    return place.with_code(answer, bool(answer["differ"]))  # type: ignore[no-any-return]


def _compared(
    place: OfRunner, settings: dict[str, Any], tgt: str, only: Any, exclude: Any, live: bool
) -> dict[str, Any]:
    if live:
        if only is not None or exclude is not None:
            raise RefusedError("a minion hashes all of its node: 'only' and 'exclude' are without 'live'")
        names = _metadata.opened(settings).nodes(text(tgt))
        accepted = _fleet.accepted(place.opts)
        return _fleet.live(settings, names, place.salt["salt.execute"], accepted, place.earlier)
    pillars = {minion: pillar for minion, pillar in place.salt["cache.pillar"](tgt=tgt).items() if pillar}
    # A comparison is with the revision of most nodes. Where some are held or on trial, others differ from it.
    inventory = _metadata.opened(settings)
    others = {name: pillars.pop(name) for name in inventory.nodes_of_other_commits() if name in pillars}
    compared, keys = {"nodes": 0, "causes": []}, of_keys(only, exclude)
    if pillars:
        compared = inventory.compare(pillars, *pillars, **keys, plain=True)
    own = {}
    for name, pillar in others.items():
        ours = inventory.pillar(name, place.earlier(name))
        own[name] = _fleet.different(pillar, ours, **keys)
    return _fleet.drift(compared, own, lambda name: _cached(place, name))


def _cached(place: OfRunner, minion: str) -> float | None:
    """When the master cached the pillar of a minion."""
    import salt.cache

    cache = salt.cache.factory(place.opts)
    # The second one is the place before Salt 3008.
    for bank, key in (("pillar", minion), (f"minions/{minion}", "data")):
        if cache.contains(bank, key):
            return cache.updated(bank, key)  # type: ignore[no-any-return]
    return None


def refresh(
    place: OfRunner,
    since: str | None = None,
    new: str = ".",
    batch: Any = None,
    canary: Any = None,
    live: bool = False,
    test: bool | None = None,
    exclude: Any = None,
    merge: bool = False,
) -> dict[str, Any]:
    """
    Refresh the pillars of the connected minions that a change touches, and of no others. The answer has a
    sentence for each minion. The exit code is 1 if one fails, and the next groups are then left out. A node
    that has no pillar is left out too, and one that keeps an earlier revision (``serve``).

    since, new
        Revisions, as in :py:func:`impact`. Without ``since``, the minions of :py:func:`drift` are refreshed.

    canary
        The minions that come first: a glob, a list, or a percentage such as ``5%``.

    batch
        The number of the others that are refreshed together, or a percentage. Default: all.

    live, exclude
        Without ``since``: ask the minions for hashes, or leave out the parameters of other pillars, as
        :py:func:`drift` does.

    merge
        For reactors: wait until another refresh with ``merge`` is over. If one waits already, do nothing,
        with ``merged`` in the answer: that one has not looked yet, so it finds these minions too.

    Also takes ``test``.

    CLI Example::

        salt-run reclass.refresh HEAD~1 canary='web1*' batch=25%
        salt-run reclass.refresh test=True exclude='[mine_functions, schedule]'
    """
    if merge:
        with _fleet.alone(place.opts) as is_alone:
            if not is_alone:
                return {"refreshed": 0, "stopped": False, "groups": [], "minions": {}, "merged": True}
            return refresh(place, since, new, batch, canary, live, test, exclude)
    settings = place.settings("*")
    if since is None:
        found = _compared(place, settings, "*", None, exclude, live)
    elif exclude is not None:
        raise RefusedError("'exclude' is without 'since': revisions have no parameters of other pillars")
    else:
        found = _impact(settings, since, new)
    left_out = set(found.get("removed", []))
    # The revisions of a change are not those that these nodes have.
    held = [] if since is None else _fleet.held(_metadata.opened(settings))
    names = [name for name in found["names"] if name not in left_out.union(held)]
    breaks = [name for name in found["breaks"] if name not in held]
    execute, keys = place.salt["salt.execute"], _fleet.accepted(place.opts)
    answer = _fleet.refresh(names, breaks, execute, keys, canary, batch, place.test(test))
    kept = [name for name in found["names"] if name in held]
    answer["minions"] |= dict.fromkeys(kept, "left out: the node keeps an earlier revision")
    # Makes the job fail, as an orchestration needs it; the exit code of `salt-run` is that of the answer.
    place.context["retcode"] = answer["retcode"]
    return answer


def promote(place: OfRunner) -> dict[str, Any]:
    """
    Serve the revision that is on trial (``canary``) to all nodes that it does not break. Without a trial it
    fails.

    CLI Example::

        salt-run reclass.promote
    """
    return _end_trial(place, True)


def abort(place: OfRunner) -> dict[str, Any]:
    """
    Serve the revision that is on trial (``canary``) to no node any more. Without a trial it fails.

    CLI Example::

        salt-run reclass.abort
    """
    return _end_trial(place, False)


def _end_trial(place: OfRunner, promoted: bool) -> dict[str, Any]:
    settings = place.settings()
    inventory = _metadata.opened(settings)
    revision = inventory.end_trial(promoted)
    if revision is None:
        raise RefusedError("no revision is on trial")
    source = _revision.source(inventory.state())
    _audit.ended_trial(source, revision, "promoted" if promoted else "aborted")
    return {"revision": revision, "served": "all" if promoted else "none"}


def orphans(place: OfRunner) -> dict[str, list[str]]:
    """
    Return the accepted keys that have no node, and the nodes that have no accepted key.

    CLI Example::

        salt-run reclass.orphans
    """
    keys = _fleet.accepted(place.opts)
    names = set(_metadata.opened(place.settings()).nodes())
    return {"keys_without_node": sorted(keys - names), "nodes_without_key": sorted(names - keys)}
