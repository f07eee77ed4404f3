"""Random lists with references and removals: Python, ``-n`` and ``-i`` answer as a plain model."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from saltext.reclass import Inventory

PROGRAM = Path(sys.executable).with_name("reclass")
ROUNDS = int(os.environ.get("RECLASS_MERGE_OPTIONS_ROUNDS", "60"))

# Parameters that items refer to. A `~` in their values is text.
VALUES: dict[str, Any] = {
    "x0": "v0",
    "x1": "v1",
    "x2": "~v0",
    "x3": 7,
    "secret": "S3CRET",
    "host": "web",
    "whole": {"l": ["a", "~a", "v0"]},
}
STRATEGIES: list[Any] = [
    {"remove": True},
    {"strategy": "unique", "remove": True},
    {"strategy": "unique"},
    "extend",
    "replace",
]


def item(rng: random.Random) -> str:
    return rng.choice(
        ["a", "b", "v0", "v1", "~a", "~b", "~v0", "~v1", "~S3CRET", "~${x0}", "~w${host}", r"\~a"]
        + [f"${{{name}}}" for name in VALUES if name != "whole"]
    )


def value(written: str) -> Any:
    if written.startswith("${"):
        return VALUES[written[2:-1]]
    return written.replace("${x0}", "v0").replace("${host}", "web")


def merged(earlier: list[Any], later: list[str], strategy: Any, *, is_data: bool) -> list[Any]:
    """The lists merged as docs/merge-options.md says."""
    options = strategy if isinstance(strategy, dict) else {"strategy": strategy}
    result = [] if options.get("strategy") == "replace" else list(earlier)
    for written in later:
        new = written if is_data else value(written)
        if options.get("remove") and not is_data and written.startswith("~"):
            result = [one for one in result if str(one) != new[1:]]
            continue
        if options.get("remove") and not is_data and written.startswith("\\~"):
            new = new[1:]
        if options.get("strategy") != "unique" or new not in result:
            result.append(new)
    return result


def inventory(rng: random.Random, base: Path) -> dict[str, dict[str, list[Any]]]:
    """Writes an inventory, and returns the lists of each node."""
    shutil.rmtree(base, ignore_errors=True)
    for folder in ("nodes", "classes"):
        (base / folder).mkdir(parents=True)
    names = ["p0", "p1", "p2"]
    strategy = rng.choice(STRATEGIES)
    options = {"*": strategy, "m:l": strategy}

    def layer() -> dict[str, Any]:
        chosen = [name for name in names if rng.random() < 0.8]
        lists: dict[str, Any] = {name: [item(rng) for _ in range(rng.randrange(7))] for name in chosen}
        return lists | ({"m": "${whole}"} if rng.random() < 0.3 else {})

    base.joinpath("reclass-config.yml").write_text("merge_options: true\n")
    classes = {f"c{number}": layer() for number in range(rng.randrange(3))}
    nodes = {f"n{number}": layer() for number in range(3)}
    for number, (name, lists) in enumerate(classes.items()):
        first = {"merge_options": options, "parameters": {**VALUES, **lists}}
        later = {"parameters": lists}
        base.joinpath("classes", f"{name}.yml").write_text(json.dumps(later if number else first))
    for name, lists in nodes.items():
        own: dict[str, Any] = {"classes": list(classes), "parameters": lists}
        if not classes:
            own = {"merge_options": options, "parameters": {**VALUES, **lists}}
        base.joinpath("nodes", f"{name}.yml").write_text(json.dumps(own))

    expected: dict[str, dict[str, list[Any]]] = {}
    for name, lists in nodes.items():
        result: dict[str, list[Any]] = {}
        for one in [*classes.values(), lists]:
            for path in names:
                if path in one:
                    result[path] = merged(result.get(path, []), one[path], strategy, is_data=False)
            if "m" in one:
                result["m"] = merged(result.get("m", []), VALUES["whole"]["l"], strategy, is_data=True)
        expected[name] = result
    return expected


def asked(base: Path, *arguments: str) -> Any:
    command = [PROGRAM, "-b", ".", "-o", "json", *arguments]
    run = subprocess.run(command, cwd=base, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def lists(parameters: dict[str, Any]) -> dict[str, list[Any]]:
    found = {name: parameters[name] for name in ("p0", "p1", "p2") if name in parameters}
    return found | ({"m": parameters["m"]["l"]} if "m" in parameters else {})


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_lists_are_those_of_a_plain_model(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    base = tmp_path / "inventory"
    expected = inventory(rng, base)
    engine = Inventory(inventory_base_uri=str(base), merge_options=True)
    ways = ["python", "python", "python", "-n", "-i"]
    rng.shuffle(ways)
    for way in ways:
        names = rng.sample(sorted(expected), 3)
        if way == "-i":
            nodes = asked(base, "-i")["nodes"]
            found = {name: nodes[name]["parameters"] for name in names}
        elif way == "-n":
            found = {name: asked(base, "-n", name)["parameters"] for name in names}
        else:
            found = {name: engine.nodeinfo(name)["parameters"] for name in names}
        for name in names:
            assert lists(found[name]) == expected[name], (way, name)
