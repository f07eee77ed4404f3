"""Writes an inventory: ``python -m benches.gen --out FOLDER --preset L``."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaml import CSafeDumper, dump

from benches.gen.layers import Layers, Numbers
from benches.gen.leaves import Block

if TYPE_CHECKING:
    from yaml import ScalarNode

    from benches.gen.layers import Content

PRESETS = {
    "S": Numbers(50, 100, 2),
    "M": Numbers(500, 500, 4),
    "L": Numbers(2000, 1000, 8),
    "XL": Numbers(10000, 2000, 20),
}


class Dumper(CSafeDumper):
    """Literal blocks where text has lines, and no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def block(self, data: Block) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", str(data), style="|")


Dumper.add_representer(Block, Dumper.block)


def write(folder: Path, layers: Layers) -> None:
    """Writes an inventory into a folder, in place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in layers.classes.items():
        path = name.replace(".", "/") + ("/init.yml" if content.init else ".yml")
        _write(folder / "classes" / path, name, content)
    for name, content in layers.nodes.items():
        _write(folder / "nodes" / f"{name}.yml", name, content)


def _write(file: Path, name: str, content: Content) -> None:
    keys = ("classes", "applications", "parameters", "exports")
    values: dict[str, Any] = {key: value for key in keys if (value := getattr(content, key))}
    text = dump(values, Dumper=Dumper, default_flow_style=False, sort_keys=False, width=160)
    file.parent.mkdir(parents=True, exist_ok=True)
    # The generator was one file, `gen.py`, once. The inventories stay the same to the byte.
    file.write_text(f"# {name}\n# generated, see gen.py\n{text}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.gen")
    parser.add_argument("--out", required=True, type=Path, help="the folder, which is made anew")
    parser.add_argument("--preset", choices=PRESETS)
    for name in ("nodes", "classes", "clusters", "formulas-per-role"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--queries", type=int, help="1: nodes ask for exports of the others")
    arguments = vars(parser.parse_args())
    numbers = asdict(PRESETS.get(arguments["preset"], Numbers()))
    for part in fields(Numbers):
        if arguments[part.name] is not None:
            numbers[part.name] = arguments[part.name]
    layers = Layers(Numbers(**numbers))
    write(arguments["out"], layers)
    print(f"{arguments['out']}: {len(layers.nodes)} nodes, {len(layers.classes)} classes")


if __name__ == "__main__":
    main()
