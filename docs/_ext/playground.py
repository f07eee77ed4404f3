"""The playground: the page, its files, and a link to it at each example of the page on the language.

`make playground` builds the files into `build/playground`. It needs a compiler for WebAssembly. Where they
are missing, the site is built without the playground.
"""

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)

FILES = ("engine.wasm.gz", "playground.css", "playground.js", "worker.js")
EXAMPLE = re.compile(r'^<div class="example">\n(?P<blocks>.*?)^</div>$', re.S | re.M)
FILE = re.compile(r"^```yaml\n# (?P<path>[\w./-]+\.ya?ml)\n.*?^```$", re.S | re.M)
NODE = re.compile(r"^# \w+ of (\S+)$|^\$ reclass .*--nodeinfo (\S+)", re.M)


def fragment(blocks: str) -> str:
    """The inventory of an example in an address, as `share.ts` of the page reads it."""
    found = FILE.finditer(blocks)
    files = {file["path"]: file[0].removeprefix("```yaml\n").removesuffix("```") for file in found}
    node = NODE.search(blocks)
    inventory = {"files": files, "node": (node[1] or node[2]) if node else None}
    pack = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = pack.compress(json.dumps(inventory, separators=(",", ":")).encode()) + pack.flush()
    return "#z=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def link(match: re.Match[str]) -> str:
    """An example with the link that opens it."""
    address = f"playground.html{fragment(match['blocks'])}"
    return f'{match[0]}\n\n<p class="in-playground"><a href="{address}">Open in the playground</a></p>'


def add(app: Sphinx, page: str, content: list[str]) -> None:
    """Lead to the playground, which is there only if it was built."""
    if page == "language" and app.config.playground_folder:
        content[0] = EXAMPLE.sub(link, content[0])
    if page == "index" and app.config.playground_folder:
        content[0] = content[0].replace("\nlanguage\n```", "\nlanguage\nplayground\n```")


def find(app: Sphinx, _: object) -> None:
    """Look for the built files, before the pages are listed."""
    folder = Path(app.srcdir).parent / "build" / "playground"
    if all((folder / name).exists() for name in FILES):
        app.config.playground_folder = str(folder)
    else:
        app.config.exclude_patterns.append("playground.md")
        print("The playground is left out: 'make playground' builds it, with a compiler for WebAssembly.")


def copy(app: Sphinx, error: Exception | None) -> None:
    """Put the files into the site."""
    if not error and app.config.playground_folder and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / "playground"
        target.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(Path(app.config.playground_folder) / name, target)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("playground_folder", "", "env", str)
    app.connect("config-inited", find)
    app.connect("source-read", add)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True}
