"""The program, the files of a small inventory, and places in a text as an editor counts them."""

from __future__ import annotations

import sys
from pathlib import Path

from lsprotocol import types

# The one that `make build` installs beside the interpreter of the tests.
PROGRAM = Path(sys.executable).with_name("reclass")

FILES = {
    "nodes/web1": "classes: [site, app.web]\nparameters: {nginx: {port: 8080}}\n",
    "nodes/web2": "classes: [site, app.web]\n",
    "classes/site": "# What every machine has.\nparameters:\n  db:\n    host: db1\n    port: 5432\n",
    # Characters of two bytes and of two units before a reference: its column depends on the encoding.
    "classes/app/web": """\
classes:
  - app.common
parameters:
  nginx:
    port: 80
    url: 'é😀 http://${db:host}:${nginx:port}'
""",
    "classes/app/common": "parameters: {nginx: {user: www}}\n",
}


def position(text: str, mark: str, encoding: str = "utf-16", *, after: bool = False) -> types.Position:
    """The place of the first `mark`, or the place behind it. Columns are bytes, or units of UTF-16."""
    at = text.index(mark) + (len(mark) if after else 0)
    line = text[:at].rsplit("\n", maxsplit=1)[-1]
    width = len(line.encode("utf-8")) if encoding == "utf-8" else len(line.encode("utf-16-le")) // 2
    return types.Position(text[:at].count("\n"), width)


def part(text: str, span: types.Range, encoding: str = "utf-16") -> str:
    """The text of a range within one line."""
    code, width = ("utf-8", 1) if encoding == "utf-8" else ("utf-16-le", 2)
    line = text.split("\n")[span.start.line].encode(code)
    assert span.start.line == span.end.line
    return line[span.start.character * width : span.end.character * width].decode(code)
