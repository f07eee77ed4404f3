"""The model of `serve_model`: the commit of each node, by `docs/serving.md`, and what each door answers."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.python.serve_site import Commit

OF_NODE = ("pillar", "top", "explain", "nodeinfo")
# They fetch nothing.
PASSIVE = ("metrics",)

# The code of each error, and the doors that meet it.
MET = {
    "yaml": ("yaml-syntax", {*OF_NODE, "show"}),
    "twice": ("duplicate-definition", {*OF_NODE, "show"}),
    "class": ("class-not-found", {*OF_NODE, "show"}),
    "reference": ("reference-not-found", {"pillar", "nodeinfo", "show"}),
    "torn": ("yaml-syntax", {"pillar"}),
    "schema": ("schema", {"pillar"}),
    "value": ("wire-type", {"pillar"}),
}


@dataclass(frozen=True)
class Blank:
    """There is no decision in the record; ``distrusted`` if something else is there."""

    distrusted: bool = False


@dataclass(frozen=True)
class Decision:
    """Which commit each node gets."""

    most: Commit
    tested: Commit
    others: frozenset[tuple[str, Commit]] = frozenset()
    held: frozenset[str] = frozenset()
    earlier: frozenset[str] = frozenset()
    """Nodes that keep an earlier commit than most, and that this one would mend."""
    is_first: bool = False
    first: frozenset[str] = frozenset()
    trial: frozenset[str] | None = None
    promoted: Decision | None = None
    distrusted: bool = False

    def of(self, node: str) -> Commit:
        return self.tested if node in (self.trial or ()) else self._others.get(node, self.most)

    @cached_property
    def _others(self) -> dict[str, Commit]:
        return dict(self.others)

    def all_held(self) -> list[str]:
        return sorted(node for node in self.held | self.earlier if self.of(node) is not self.tested)

    def in_use(self) -> set[Commit]:
        return {self.most, *self._others.values(), *([] if self.trial is None else [self.tested])}

    def without_trial(self) -> Decision:
        return replace(self, trial=None, promoted=None)

    def ended(self, promote: bool) -> Decision:
        ended = self.promoted if promote and self.promoted else self.without_trial()
        return replace(ended, distrusted=False)


State = Decision | Blank


@dataclass(frozen=True)
class Rule:
    """The settings of a run."""

    whole: bool
    canary: str | None
    start: Commit | None
    """The commit of `serve_from`."""


def decided(rule: Rule, before: Decision | None, new: Commit) -> Decision | None:
    """The decision about a new commit, by `docs/serving.md`. ``None`` if it cannot be made."""
    if before is None and rule.start is None:
        return Decision(new, new, is_first=True, first=frozenset(new.flaws))
    # A branch that is gone has nothing to begin with.
    start = rule.start if rule.start and new.readable else new
    base = (before or Decision(start, start)).without_trial()
    if new.readable:
        broken = {n for n in new.nodes if not new.has_pillar(n) and base.of(n).has_pillar(n)}
    elif base.most.readable:
        broken = {*base.most.nodes, *dict(base.others)}
    else:
        return before
    held = frozenset(broken)
    earlier = frozenset(node for node in base.all_held() if base.of(node) is not base.most) - held
    refused = replace(base, tested=new, held=held, earlier=earlier, is_first=False)
    refused = replace(refused, first=frozenset(), distrusted=False)
    names = sorted({*new.nodes, *dict(base.others), *broken})
    gets = {node: base.of(node) if node in broken else new for node in names}
    counts = {new: 0}
    for commit in gets.values():
        counts[commit] = counts.get(commit, 0) + 1
    # The newest one if two have as many.
    most = max(counts, key=lambda commit: counts[commit])
    others = frozenset((node, commit) for node, commit in gets.items() if commit is not most)
    after = Decision(most, new, others, held)
    on_trial = rule.canary is not None and base.most is not new
    canaries = frozenset(n for n in new.nodes if fnmatch.fnmatch(n, rule.canary or ""))
    nobody_tries = on_trial and canaries and canaries <= broken
    if broken and (rule.whole or not new.readable or new not in after.in_use() or nobody_tries):
        return refused
    # Three with the one on trial. The next one needs a trial too.
    if len(after.in_use()) > (2 if on_trial else 3):
        return refused
    if not on_trial:
        return after
    return replace(refused, trial=canaries - broken, promoted=after)


def expected(state: State, head: Commit, canary: str | None, door: str, node: str) -> Any:
    """The answer of a door by a decision, when this commit is the newest one."""
    if isinstance(state, Blank):
        return None if door in PASSIVE else {"error": "git-branch"}
    if door in (*OF_NODE, "show"):
        return _of_node(state.of(node), door, node)
    if door not in ("metrics", "delivery") and not state.most.readable:
        return {"error": "git-branch"}
    return ANSWERS[door](state, head, canary)


def _of_node(commit: Commit, door: str, node: str) -> Any:
    if not commit.readable:
        return {"error": "git-branch"}
    if node not in commit.nodes:
        return {"error": "node-not-found"}
    code, doors = MET.get(commit.flaws.get(node, ""), ("", ()))
    if door in doors:
        return {"error": code}
    return [f"app-{commit.revision}"] if door == "top" else [commit.revision] * 2


def _metrics(state: Decision, *_: Any) -> list[int]:
    return [int(state.tested not in state.in_use()), len(state.all_held())]


def _state(state: Decision, *_: Any) -> str:
    return state.most.name(state.most)


def _validate(state: Decision, *_: Any) -> dict[str, str]:
    return {node: _verdict(state, node) for node in _nodes(state)}


def _verdict(state: Decision, node: str) -> str:
    answer = _of_node(state.of(node), "pillar", node)
    if isinstance(answer, dict):
        return str(answer["error"])
    return "held" if node in state.all_held() else ""


def _failing(state: Decision, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not state.of(name).has_pillar(name))


def _nodes(state: Decision) -> list[str]:
    """The nodes, each in its own commit."""
    return [name for commit in state.in_use() for name in commit.nodes if state.of(name) is commit]


def _look(state: Decision, head: Commit, _: Any) -> dict[str, Any]:
    delivery, nodes = _delivery(state, head), _nodes(state)
    return {
        "revision": _state(state),
        "nodes": len(nodes),
        "failing": len(_failing(state, nodes)),
        **({} if delivery["is_served"] else {"refused": delivery["tested"]}),
        **{name: delivery[name] for name in ("held", "trial")},
    }


def _status(state: Decision, head: Commit, _: Any) -> dict[str, Any]:
    names = _nodes(state)
    return {"nodes": len(names), "failing": _failing(state, names), "delivery": _delivery(state, head)}


def _check(state: Decision, _: Commit, canary: str | None) -> dict[str, Any]:
    return {
        "held": state.all_held(),
        "first": sorted(state.first),
        "none": bool(state.held) and state.tested not in state.in_use(),
        "trial": None if state.trial is None else len(state.trial),
        "alone": state.is_first,
        "aborted": not state.held and state.tested not in state.in_use(),
        "distrusted": state.distrusted,
        "canary": canary is not None and not fnmatch.filter(_nodes(state), canary),
        "others": [],
    }


def _delivery(state: Decision, head: Commit, *_: Any) -> dict[str, Any]:
    is_served = state.tested in state.in_use()
    other = next((commit for commit in state.in_use() if commit is not state.tested), state.tested)
    return {
        "fetched": head.name(state.tested),
        "tested": state.tested.name(other),
        "served": state.most.name(state.tested if is_served else state.most),
        "is_served": is_served,
        "held": state.all_held(),
        "is_first": state.is_first,
        "first": sorted(state.first),
        "trial": None if state.trial is None else sorted(state.trial),
        "waits": state.tested is not head,
        "distrusted": state.distrusted,
    }


ANSWERS: dict[str, Callable[..., Any]] = {
    "metrics": _metrics,
    "state": _state,
    "validate": _validate,
    "look": _look,
    "status": _status,
    "check": _check,
    "delivery": _delivery,
}
