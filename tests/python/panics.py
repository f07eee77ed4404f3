"""Asks a build for tests for everything again and again, each time with another point that panics.

``test_panics.py`` runs it: ``panics.py ENGINE FOLDER``. It prints what it did.
"""

from __future__ import annotations

import datetime
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Question = Callable[[], Any]

CLASS = """
parameters:
  list: [1, 2, {a: b, c: [d]}]
  map: {one: {two: {three: 3}}, date: 2026-01-01, text: x}
  of: ${so:far::none}
  version: VERSION
"""
NODE = "classes: [c]\napplications: [app]\nparameters: {own: OWN, other: '${map}'}\n"
SO_FAR = {"so": {"far": [1, "two", {"three": datetime.date(2026, 1, 1)}], "more": (1, 2)}}


def files(base: Path, version: int) -> None:
    for folder in ("nodes", "classes/cluster"):
        (base / folder).mkdir(parents=True, exist_ok=True)
    (base / "classes/c.yml").write_text(CLASS.replace("VERSION", str(version)))
    for number in range(4):
        (base / f"nodes/n{number}.yml").write_text(NODE.replace("OWN", str(number)))


def questions(package: Any, settings: dict[str, Any]) -> Iterator[Question]:
    """Everything that is answered, and an edit."""
    inventory: Any = None

    def opened() -> Any:
        nonlocal inventory
        inventory = inventory or package.Inventory(**settings)
        return inventory

    def edit() -> Any:
        return package.Editor(**settings).set_cluster_param("p", {"a": [1, {"b": 2}]})["new"]

    for number in range(4):
        yield lambda name=f"n{number}": opened().pillar(name, SO_FAR)
        yield lambda name=f"n{number}": opened().nodeinfo(name)["classes"]
        yield lambda name=f"n{number}": opened().top(name)
    yield lambda: sorted(opened().inventory()["nodes"])
    yield lambda: opened().explain("n0", "map")
    yield lambda: opened().params("map")
    yield lambda: opened().lint()
    yield lambda: opened().nodes()
    yield edit


def main(engine: str, folder: str) -> None:
    sys.path.insert(0, engine)
    import saltext.reclass as package
    from saltext.reclass import InternalError, _engine

    assert _engine.__file__.startswith(engine), _engine.__file__
    base = Path(folder)
    settings = {"inventory_base_uri": str(base), "propagate_pillar_data_to_reclass": True}
    panics, points, at = 0, set(), 1
    while True:
        files(base, at)
        _engine.arm(at)
        before = panics
        for question in questions(package, settings):
            try:
                question()
            except InternalError as error:
                panics += 1
                points.add(str(error).partition("panic at ")[2].partition(" ")[0])
        _engine.arm(0)
        # In this thread, which has seen the panic, and in one that has not.
        answers: list[list[Any]] = []

        def ask(answers: list[list[Any]] = answers) -> None:
            answers.append([question() for question in questions(package, settings)])

        for _ in range(2):
            ask()
            other = threading.Thread(target=ask)
            other.start()
            other.join(600)
            assert not other.is_alive(), "it waits for a thread that panicked"
        first = answers[0]
        assert [answer["version"] for answer in first[0:12:3]] == [at] * 4
        assert first[0]["of"] == [1, "two", {"three": "2026-01-01"}], first[0]["of"]
        assert first[0]["other"] == first[0]["map"]
        assert all(answer == first for answer in answers), f"point {at}"
        if panics == before:
            break
        at += 1 + at // 64
    print(json.dumps({"panics": panics, "points": sorted(points)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
