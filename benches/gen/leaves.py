"""Leaves are the parameters of a formula: fixed paths for each role, and values that each class draws.

The kind of a value belongs to its path, so the values of all classes merge.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from benches.gen.words import AREAS, KEYS, PARTS, PROSE

if TYPE_CHECKING:
    from collections.abc import Mapping

Tree: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]


class Share(NamedTuple):
    """How many leaves a class sets, and how many of them are references."""

    leaves: int
    references: int
    # Whether it comes after another class, and may replace a list of it (`~key`).
    tuning: bool = True


OF_SERVICE = Share(12, 4, tuning=False)
OF_SYSTEM = Share(8, 4)
OF_ROLE = Share(3, 1)
# How many leaves a role has.
_LEAVES = 24

# How often each kind of value comes.
_KINDS = {
    "text": 30,
    "int": 18,
    "bool": 11,
    "list": 5,
    "dicts": 5,
    "block": 2,
    "quoted": 8,
    "null": 0.7,
    "float": 2,
    "defaults": 0.6,
}
_LONGEST_LIST = 6
_LONGEST_LIST_OF_DICTS = 3
_PARAMETERS = ["address", "bind_port", "version", "password", "user", "region", "log_level", "backend_host"]


class Block(str):
    """Text that is written as a literal block."""

    __slots__ = ()


def drawing(*names: object) -> random.Random:
    """The random numbers of what has these names."""
    return random.Random(":".join(map(str, (1, *names))))  # noqa: S311 - nothing is secret


def put(tree: Tree, path: Path, value: object) -> None:
    """Sets a value at a path, with dicts on the way."""
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = value


def soft_parameters(formula: str, role: str) -> list[str]:
    """The keys below `_param` that the service class of a role defines."""
    return [f"{formula}_{role}_{name}" for name in _PARAMETERS]


def fill(tree: Tree, service: tuple[str, str], drawn: random.Random, share: Share) -> None:
    """Sets leaves of a formula's role below `tree`."""
    schema = _schema(*service)
    picked = drawn.sample(sorted(schema), min(share.leaves, len(schema)))
    referring = [path for path in picked if schema[path] == "text"][: share.references]
    for path in picked:
        if path in referring:
            value: object = _reference(drawn, *service)
        else:
            value = _value(drawn, schema[path], *service)
        *above, key = path
        if schema[path] == "list" and share.tuning and drawn.random() < 0.04:
            key = "~" + key
        put(tree, (*service, *above, key), value)


@cache
def _schema(formula: str, role: str) -> Mapping[Path, str]:
    """The kinds of all leaves of a role, by path."""
    drawn = drawing("schema", formula, role)
    kinds: dict[Path, str] = {}
    above: set[Path] = set()
    groups = _groups(drawn)
    for _ in range(50 * _LEAVES):
        if len(kinds) == _LEAVES:
            break
        path: Path = (*drawn.choice(groups), drawn.choice(KEYS))
        prefixes = [path[:length] for length in range(1, len(path))]
        # The class itself sets the first three.
        taken = path[0] in ("enabled", "version", "bind") or path in kinds or path in above
        if taken or any(prefix in kinds for prefix in prefixes):
            continue
        [kinds[path]] = drawn.choices(list(_KINDS), list(_KINDS.values()))
        above.update(prefixes)
    return kinds


def _groups(drawn: random.Random) -> list[Path]:
    """Dicts within dicts, so that leaves share the beginnings of their paths."""
    areas, parts = drawn.sample(AREAS, 8), drawn.sample(PARTS, 7)
    groups: list[Path] = [()]
    for _ in range(_LEAVES // 4):
        group = drawn.choice(groups)
        if len(group) < 4:
            groups.append((*group, drawn.choice(parts if len(group) % 2 else areas)))
    return groups


def _value(drawn: random.Random, kind: str, formula: str, role: str) -> object:
    match kind:
        case "list":
            value: object = [drawn.choice(AREAS) + str(i) for i in range(drawn.randint(1, _LONGEST_LIST))]
        case "dicts":
            value = [
                _member(drawn, i, formula, role) for i in range(drawn.randint(1, _LONGEST_LIST_OF_DICTS))
            ]
        case "block":
            lines = [_sentence(drawn, 4, 11) for _ in range(drawn.randint(3, 9))]
            value = Block("\n".join(lines) + "\n")
        case "defaults":
            value = f"${{_param:{formula}_{role}_defaults}}"
        case _:
            value = _scalar(drawn, kind)
    return value


def _member(drawn: random.Random, number: int, formula: str, role: str) -> Tree:
    refers = drawn.random() < 0.3
    return {
        "name": f"m{number:02}",
        "host": _reference(drawn, formula, role) if refers else f"10.0.{drawn.randint(0, 255)}.{number + 1}",
        "port": drawn.randint(1, 65535),
        "params": {"check": True, "weight": drawn.randint(1, 100), "opts": "inter 2000 rise 3"},
    }


def _scalar(drawn: random.Random, kind: str) -> object:
    value: object = None
    match kind:
        case "int":
            value = drawn.choice([drawn.randint(0, 9), drawn.randint(10, 65535), 443, 8080, 3600])
        case "float":
            value = round(drawn.random() * 100, 2)
        case "bool":
            value = drawn.random() < 0.6
        case "quoted":
            version = f"{drawn.randint(0, 5)}.{drawn.randint(0, 30)}.{drawn.randint(0, 9)}"
            odd = ["on_failure: restart", "# not a comment", "{{ pillar }}", "10:30", "*"]
            value = drawn.choice(["0644", "0750", version, *odd])
        case "text":
            value = _text(drawn)
    return value


def _text(drawn: random.Random) -> str:
    share = drawn.random()
    if share < 0.35:
        return f"{drawn.choice(AREAS)}-{drawn.choice(PARTS)}"
    if share < 0.55:
        return "".join("/" + drawn.choice(AREAS) for _ in range(drawn.randint(2, 4)))
    if share < 0.7:
        return f"10.{drawn.randint(0, 255)}.{drawn.randint(0, 255)}.{drawn.randint(1, 254)}"
    if share < 0.8:
        return f"https://{drawn.choice(AREAS)}.{drawn.choice(PARTS)}.example.com/{drawn.choice(KEYS)}"
    if share < 0.9:
        return f"{drawn.getrandbits(128):032x}"
    return _sentence(drawn, 3, 9)


def _sentence(drawn: random.Random, least: int, most: int) -> str:
    return " ".join(drawn.choice(PROSE) for _ in range(drawn.randint(least, most)))


def _reference(drawn: random.Random, formula: str, role: str) -> str:
    own = f"${{_param:{drawn.choice(soft_parameters(formula, role))}}}"
    share = drawn.random()
    if share < 0.50:
        return own
    if share < 0.62:
        of_cluster = ["cluster_domain", "cluster_name", "region", "single_address", "ntp_server"]
        return f"${{_param:{drawn.choice(of_cluster)}}}"
    if share < 0.80:
        url = f"http://{own}:${{_param:{formula}_{role}_bind_port}}/"
        return drawn.choice([url, f"{own}.${{_param:cluster_domain}}", f"prefix-{own}-suffix"])
    if share < 0.88:
        full = "${linux:system:name}.${linux:system:domain}"
        return drawn.choice(["${linux:system:name}", full, "${linux:network:fqdn}"])
    # A reference within a reference.
    repository = "${_param:${_param:flavor}_repo_url}"
    return repository if share < 0.97 else f"{repository}/{own}"
