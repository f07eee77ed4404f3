"""The README becomes the page of the package on PyPI. Everything else is in `pyproject.toml`.

Its links are relative, for readers of the repository. On PyPI they lead to the files of the release.
"""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
REPOSITORY = "salt-extensions/saltext-reclass"


def page() -> str:
    """The text of the README with absolute links."""
    [version] = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    files = f"https://raw.githubusercontent.com/{REPOSITORY}/v{version}/"
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\g<1>{files}", text)
    pages = f"https://github.com/{REPOSITORY}/blob/v{version}/"
    return re.sub(r"\]\((?!https?:|#)", rf"]({pages}", text)


setup(long_description=page(), long_description_content_type="text/markdown")
