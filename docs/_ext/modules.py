"""Salt's modules turn into pages, one for each, from their docstrings."""

from pathlib import Path
from typing import Any

from pages import put
from sphinx.application import Sphinx

KINDS = {
    "engines": "Engine",
    "pillar": "External pillar",
    "tops": "Master tops",
    "modules": "Execution module",
    "runners": "Runner",
    "states": "State module",
}


def write(app: Sphinx) -> None:
    for path in sorted((Path(app.srcdir).parent / "salt").glob("*/*.py")):
        folder = path.parent.name
        name = f"saltext.reclass.{folder}.{path.stem}"
        title = KINDS[folder]
        head = f"{title}\n{'=' * len(title)}\n\n"
        put(app, f"salt-{folder}.rst", f"{head}.. automodule:: {name}\n   :members:\n   :undoc-members:\n")


def untitled(*event: Any) -> None:
    """A module's docstring has a title of its own. The page has one already."""
    _, what, _, _, _, lines = event
    if what == "module" and len(lines) > 1 and set(lines[1]) == {"="}:
        lines[:2] = [f"**{lines[0]}.**"]


def declared(*event: Any) -> tuple[str, str] | None:
    """A function of the table takes everything, to refuse what it does not know."""
    _, _, _, found, _, signature, returns = event
    if not hasattr(found, "__signature__"):
        return None
    return signature.replace(", **kwargs", "").replace("**kwargs", ""), returns


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", untitled)
    app.connect("autodoc-process-signature", declared)
    return {"parallel_read_safe": True}
