"""Heap breaks the memory of all kept answers down by its kind, as valgrind's DHAT finds it."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

from benches.programs import KEPT, REPOSITORY, environment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benches.inventories import Inventory

# The kind of an allocation, by the innermost source file of ours that says it.
KINDS = {
    "dicts and lists of answers": ("deep.rs",),
    "merged layers, for edits and nodes with the same first classes": ("merge.rs",),
    "results that nodes with the same classes share": ("memo.rs", "partial.rs"),
    "layers of files: classes, parameters, references": (
        *("layer.rs", "slots.rs", "grammar.rs", "template.rs", "path.rs", "query.rs"),
    ),
    "positions in files": ("compose.rs",),
    "text of files, to see whether it changed": ("fingerprint.rs",),
    "keys of mappings": ("keys.rs", "interner.rs"),
    "strings": ("construct.rs", "mod.rs", "reference.rs", "fold.rs", "whnf.rs"),
    "answers, sequences of classes, tables of files": (
        *("node.rs", "database.rs", "sequence.rs", "prefix.rs", "walk.rs", "files.rs"),
        *("parameters.rs", "linearize.rs", "catalog.rs", "list.rs", "names.rs"),
    ),
}
OTHER = "other"

_KIND = {file: kind for kind, files in KINDS.items() for file in files}
_PLACE = re.compile(r"\(([\w.]+\.rs):\d+\)$")


def breakdown(inventory: Inventory) -> dict[str, float]:
    """Bytes per node by kind, the largest first, of an inventory with all answers kept."""
    found = KEPT / "heap.json"
    command = ["valgrind", "--tool=dhat", f"--dhat-out-file={found}", _program(), str(inventory.base)]
    subprocess.run(command, check=True, capture_output=True, env=environment())
    profile = json.loads(found.read_text())
    by_kind: Counter[str] = Counter()
    for point in profile["pps"]:
        by_kind[_kind(profile["ftbl"][frame] for frame in point["fs"])] += point["eb"]
    return {kind: size / len(inventory.nodes) for kind, size in by_kind.most_common()}


def _kind(frames: Iterable[str]) -> str:
    for frame in frames:
        place = _PLACE.search(frame)
        if place and place[1] in _KIND and not _is_foreign(frame):
            return _KIND[place[1]]
    return OTHER


def _is_foreign(frame: str) -> bool:
    """Whether a file of the same name belongs to a library."""
    return re.search(r": <?(alloc|core|std|hashbrown|indexmap|arcstr)::", frame) is not None


def _program() -> str:
    command = ["cargo", "bench", "--locked", "--quiet", "--bench", "heap", "--no-run"]
    built = subprocess.run(
        [*command, "--message-format=json"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    messages = (json.loads(line) for line in built.stdout.splitlines())
    programs = [message["executable"] for message in messages if message.get("executable")]
    return str(programs[-1])
