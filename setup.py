"""The README becomes the page of the package on PyPI, and the addresses are those of `Cargo.toml`.

Everything else is in `pyproject.toml`.

The links of the README are relative, for readers of the repository. On PyPI they lead to the files of the
release. While the repository has no address, they are plain text.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent
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


# Tests call the functions, without setuptools.
if __name__ == "__main__":
    from setuptools import setup

    urls = addresses()
    setup(
        long_description=page(urls.get("Source")),
        long_description_content_type="text/markdown",
        project_urls=urls,
    )
