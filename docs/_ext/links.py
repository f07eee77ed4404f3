"""Links between the pages, the rest of the repository and the site are right in all three places.

A link that leaves `docs/` leads to the file on the forge, or is plain text while the repository has no
address. Links of the pages beside `docs/` (README.md and others) are checked like those within it.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

log = logging.getLogger(__name__)

LINK = re.compile(r"\[([^][]*)\]\(([^)\s]+)\)")
RULING = re.compile(r"^\*\*([A-Z][0-9]+)\.", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def leave(app: Sphinx, page: str, content: list[str]) -> None:
    """Replace links to files outside of `docs/` by their addresses on the forge, if it has one."""
    folder = Path(app.env.doc2path(page)).parent
    root = Path(app.srcdir).parent

    def address(match: re.Match[str]) -> str:
        text, link = match.groups()
        if ":" in link or not (target := (folder / link.split("#")[0]).resolve()).is_relative_to(root):
            return match.group()
        if target.is_relative_to(app.srcdir):
            return match.group()
        if not target.exists():
            log.warning("there is no file '%s'", link, location=page)
        if not app.config.source_url:
            return text
        kind = "tree" if target.is_dir() else "blob"
        return f"[{text}]({app.config.source_url}/{kind}/main/{target.relative_to(root)})"

    content[0] = LINK.sub(address, content[0])


def name_rulings(_: Sphinx, page: str, content: list[str]) -> None:
    """Make each ruling a target of links: `semantics.md#s5`. On the forge they lead to the page."""
    if page == "semantics":
        content[0] = RULING.sub(lambda match: f"({match[1].lower()})=\n{match[0]}", content[0])


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Check the links of the pages beside `docs/`."""
    root = Path(app.srcdir).parent
    for page in sorted(root.glob("*.md")):
        for _, link in LINK.findall(FENCE.sub("", page.read_text())):
            name, _, anchor = link.partition("#")
            if ":" in link or not name:
                continue
            path = root / name
            if not path.exists():
                log.warning("%s: there is no file '%s'", page.name, link)
            elif anchor and path.is_relative_to(app.srcdir):
                document = path.relative_to(app.srcdir).with_suffix("").as_posix()
                anchors: dict[str, Any] = env.metadata[document].get("myst_slugs", {})
                if anchor not in anchors:
                    log.warning("%s: there is no anchor '%s'", page.name, link)


def always(*_: object) -> list[str]:
    """Read one page in each build: without a change of the site, Sphinx would not check the other pages."""
    return ["index"]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("source_url", "", "env", str)
    app.connect("source-read", leave)
    app.connect("source-read", name_rulings)
    app.connect("env-get-outdated", always)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}
