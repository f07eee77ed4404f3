"""Derives the classes and parameters of a new node from rules and the data of its machine.

The rules are those of salt-formula-reclass, ``class_mapping``: each rule has conditions and values.
``<<name>>`` in a value is a placeholder for data of the machine. The data come from the machine itself,
so they are not trusted: they cannot add a condition, refer to a parameter, or lead to a class of another
shape.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from saltext.reclass import _edits
from saltext.reclass._salt import RefusedError

if TYPE_CHECKING:
    from saltext.reclass._edits import Settings

_PLACEHOLDER = re.compile(r"<<(.*?)>>")
Fill = Callable[..., str]
"""Puts data into a template."""

_IN_CLASS_NAME = re.compile(r"[A-Za-z0-9_-]+")


def classify(  # noqa: PLR0913, PLR0917 - the arguments of Salt's function
    settings: Settings,
    name: str,
    node_data: Any = None,
    class_mapping: Any = None,
    test: bool = False,
    force: bool = False,
) -> dict[str, Any]:
    """Creates or updates a node and the soft parameters of its cluster by rules.

    Returns the edits: ``node``, or ``None`` if no rule has classes for it, and ``cluster_params`` by name.
    """
    data = {str(key): value for key, value in _mapping(node_data).items() if not str(key).startswith("__")}
    # The caller names the node; the data must not.
    data["node_name"] = name
    fill = functools.partial(_filled, data=data, opening=_opening(settings))
    classes: list[str] = []
    node_params: dict[str, Any] = {}
    cluster_params: dict[str, Any] = {}
    for rule in map(_mapping, _mapping(class_mapping).values()):
        _known(rule, {"expression", "node_class", "node_param", "cluster_param"})
        if not _applies(rule.get("expression", ""), data):
            continue
        classes += _classes(_mapping(rule.get("node_class")), fill)
        node_params |= _params(_mapping(rule.get("node_param")), fill)
        cluster_params |= _params(_mapping(rule.get("cluster_param")), fill)
    # The administrator writes the rules, so they may refer to parameters. Data may not, see `_filled`.
    how = {"interpolate": True, "test": test, "force": force}
    # First, because the classes of the node may refer to them.
    edits = {
        param: _edits.set_param(settings, param, value, **how) for param, value in cluster_params.items()
    }
    node = None
    if classes:
        node = _edits.put_node(settings, name, "_generated", classes=classes, parameters=node_params, **how)
    return {"node": node, "cluster_params": edits}


def _applies(expressions: Any, data: Mapping[str, Any]) -> bool:
    """Whether all conditions hold: ``all``, or ``<<name>>__equals__text``, or ``…__startswith__…``."""
    for expression in _listed(expressions or [], "expression"):
        if expression in ("", "all"):
            continue
        # Split before placeholders are replaced, or data could add a condition.
        parts = str(expression).split("__")
        if len(parts) != 3 or parts[1] not in ("equals", "startswith"):
            raise RefusedError(f"the condition {expression!r} is not '<<name>>__equals__text' or the like")
        names = _PLACEHOLDER.findall(parts[0] + parts[2])
        if any(name not in data for name in names):
            return False
        left, right = (_PLACEHOLDER.sub(lambda m: _text(data, m[1]), part) for part in (parts[0], parts[2]))
        if not (left == right if parts[1] == "equals" else left.startswith(right)):
            return False
    return True


def _known(rule: Mapping[str, Any], words: set[str]) -> None:
    """Refuses a slip of the pen, which would leave a part of a rule out."""
    if unknown := [str(word) for word in rule if word not in words]:
        raise RefusedError(f"a rule has no {unknown[0]!r}; it may have {', '.join(sorted(words))}")


def _classes(rule: Mapping[str, Any], fill: Fill) -> list[str]:
    _known(rule, {"value", "value_template"})
    return [
        *(fill(template, in_class_name=True) for template in _listed(rule.get("value_template") or [])),
        *map(str, _listed(rule.get("value") or [])),
    ]


def _params(rules: Mapping[str, Any], fill: Fill) -> dict[str, Any]:
    params = {}
    for name, rule in ((name, _mapping(rule)) for name, rule in rules.items()):
        _known(rule, {"value", "value_template"})
        if rule.get("value") is not None:
            params[name] = rule["value"]
        elif rule.get("value_template"):
            params[name] = fill(rule["value_template"])
    return params


def _opening(settings: Settings) -> set[str]:
    """The first characters of references, queries and escapes."""
    opening = {"$", "\\", str(settings.get("escape_character", ""))[:1]}
    for name in ("reference_sentinels", "export_sentinels"):
        pair = settings.get(name)
        if isinstance(pair, (list, tuple)):
            opening |= {str(sentinel)[:1] for sentinel in pair[:1]}
    return opening - {""}


def _filled(template: str, data: Mapping[str, Any], opening: set[str], in_class_name: bool = False) -> str:
    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name not in data:
            raise RefusedError(f"nothing is known of {name!r}, which a rule needs")
        value = _text(data, name)
        if opening.intersection(value):
            raise RefusedError(f"what is known of {name!r} could be taken for a reference")
        if in_class_name and not _IN_CLASS_NAME.fullmatch(value):
            raise RefusedError(f"what is known of {name!r} cannot be a part of a class name")
        return value

    return _PLACEHOLDER.sub(fill, str(template))


def _text(data: Mapping[str, Any], name: str) -> str:
    if isinstance(data[name], (str, int, float)):
        return str(data[name])
    kind = type(data[name]).__name__
    raise RefusedError(f"what is known of {name!r} must be a text or a number, not a {kind}")


def _listed(value: Any, what: str = "value") -> list[Any]:
    """Items as a list; text is one item."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, str):
        return [value]
    raise RefusedError(f"'{what}' of a rule must be text or a list, not a {type(value).__name__}")


def _mapping(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise RefusedError("node data and rules must be mappings")
