"""Pages that are made while the site is built."""

from pathlib import Path

from sphinx.application import Sphinx


def put(app: Sphinx, name: str, text: str) -> None:
    """Write a page into `docs/reference`. A page that is the same is not built again."""
    path = Path(app.srcdir, "reference", name)
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
