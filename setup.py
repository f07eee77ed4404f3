"""The page of the package on PyPI, which is the README, its addresses, its manual pages and its examples.

Everything else is in `pyproject.toml`.

The links of the README are relative, for readers of the repository. On PyPI they lead to the files of the
release. While the repository has no address, they are plain text.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent
EXAMPLES = ("ansible", "ci", "database", "fleet", "inventory", "reactor", "states")
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]*)\)")


def addresses() -> dict[str, str]:
    """The addresses that exist, by the names that PyPI has for them."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    known = {}
    for name, key in {"Documentation": "homepage", "Source": "repository", "Tracker": "tracker"}.items():
        [address] = re.findall(rf'^{key} = "(.*)"$', text, re.MULTILINE)
        if address:
            known[name] = address
    if source := known.get("Source"):
        known |= {"Homepage": source, "Changelog": f"{source}/blob/main/CHANGELOG.md"}
    return known


def page(repository: str | None) -> str:
    """The text of the README with absolute links."""
    [version] = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    if not repository:
        return LINK.sub(lambda link: "" if link[1] else link[2], text)
    return LINK.sub(
        lambda link: (
            f"{link[1]}[{link[2]}]({repository}/{'raw' if link[1] else 'blob'}/v{version}/{link[3]})"
        ),
        text,
    )


def data() -> list[tuple[str, list[str]]]:
    """The manual pages, and the inventories to try, by their folders below the one of the environment."""
    pages = sorted((ROOT / "docs/man").glob("*.1"))
    folders = {"share/man/man1": [str(path.relative_to(ROOT)) for path in pages]}
    for name in EXAMPLES:
        for path in sorted((ROOT / "examples" / name).rglob("*")):
            if path.is_file():
                file = path.relative_to(ROOT)
                folders.setdefault(f"share/saltext-reclass/{file.parent}", []).append(str(file))
    return list(folders.items())


# Tests call the functions, without setuptools.
if __name__ == "__main__":
    from setuptools import setup

    urls = addresses()
    setup(
        long_description=page(urls.get("Source")),
        long_description_content_type="text/markdown",
        project_urls=urls,
        data_files=data(),
    )
