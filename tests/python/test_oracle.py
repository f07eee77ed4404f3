"""The judge of the differential test knows rulings that the program beside us does not have."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from saltext.reclass import Inventory, ReclassError

from tests.conftest import ROOT

PROGRAM = ROOT / ".venv-oracle/bin/python"
Write = Callable[[dict[str, str]], Path]


def plain(value: Any) -> Any:
    """A value as the oracle writes it, without its types."""
    if isinstance(value, dict) and "$map" in value:
        return {plain(key): plain(inner) for key, inner in value["$map"]}
    return [plain(item) for item in value] if isinstance(value, list) else value


def answers(base: Path, *rulings: list[str]) -> list[dict[str, Any]]:
    """What the oracle answers for the nodes, with each of these sets of rulings."""
    questions = [{"directory": str(base), "settings": {}, "rulings": names} for names in rulings]
    done = subprocess.run(
        [PROGRAM, ROOT / "tests/oracles/differential/kapicorp_oracle.py"],
        input="\n".join(map(json.dumps, questions)),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line)["nodes"] for line in done.stdout.splitlines()]


@pytest.mark.needs("kapicorp-reclass", PROGRAM.exists(), "make .venv-oracle/.tools")
def test_a_text_that_refers_to_itself_is_replaced_by_a_reference_to_a_scalar(write: Write) -> None:
    own = {
        "scalar": "t: v",
        "chain": "t: '${u}', u: 'w${v}', v: 1",
        "selected": "t: '${t${z}}', tq: v, z: q",
        "list": "t: [1]",
        "mapping": "t: {k: 1}",
        "cycle": "t: '${s}'",
    }
    nodes = {
        f"nodes/{name}": f"classes: [a]\nparameters: {{s: '${{t}}', {more}}}\n" for name, more in own.items()
    }
    base = write({"classes/a": "parameters: {s: 'x${s}'}\n", **nodes})
    refused, *ruled = answers(base, [], ["R16"], ["R16", "R14", "R10", "order", "closed"])
    assert {answer["error"] for answer in refused.values()} == {"InfiniteRecursionError"}
    inventory = Inventory(inventory_base_uri=str(base), automatic_parameters=False)
    ours: dict[str, Any] = {}
    for name in own:
        try:
            ours[name] = inventory.nodeinfo(name)["parameters"]["s"]
        except ReclassError as error:
            ours[name] = error.code
    cycle = "reference-cycle"
    values = {"scalar": "v", "chain": "w1", "selected": "v"}
    assert ours == {**values, **dict.fromkeys(("list", "mapping", "cycle"), cycle)}
    for judged in ruled:
        theirs = {
            name: plain(answer["value"])["parameters"]["s"] if "value" in answer else cycle
            for name, answer in judged.items()
        }
        assert theirs == ours


@pytest.mark.needs("kapicorp-reclass", PROGRAM.exists(), "make .venv-oracle/.tools")
def test_a_query_reads_such_a_text(write: Write) -> None:
    base = write(
        {
            "classes/a": "parameters: {s: 'x${s}'}\nexports: {e: '${s}'}\n",
            "nodes/n": "classes: [a]\nparameters: {s: '${t}', t: v, q: '$[ exports:e ]'}\n",
        }
    )
    refused, ruled = answers(base, [], ["R16", "Q4", "Q7"])
    assert refused["n"]["error"] == "InvQueryError"
    assert plain(ruled["n"]["value"])["parameters"]["q"] == {"n": "v"}
    parameters = Inventory(inventory_base_uri=str(base)).nodeinfo("n")["parameters"]
    assert parameters["q"] == {"n": "v"}
