"""The addresses of the project are in one file, and nothing leads to one that does not exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from importlib.metadata import distribution

import pytest

from tests.conftest import ROOT

spec = importlib.util.spec_from_file_location("reclass_setup", ROOT / "setup.py")
assert spec
assert spec.loader
package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)

# The helps of the programs have the address of the documentation, and a test compares them.
WRITTEN = re.compile(r"docs/cli\.md|docs/man/.*")


def test_only_one_file_has_the_addresses() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    for address in package.addresses().values():
        found = subprocess.run(
            ["git", "grep", "--files-with-matches", "--fixed-strings", address],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        files = {name for name in found.stdout.splitlines() if not WRITTEN.fullmatch(name)}
        assert files <= {"Cargo.toml"}, address


def test_the_package_names_the_addresses_that_exist() -> None:
    said = distribution("saltext-reclass").metadata.get_all("Project-URL") or []
    assert sorted(said) == sorted(f"{name}, {address}" for name, address in package.addresses().items())


def test_the_page_of_the_package_leads_to_the_release() -> None:
    links = re.findall(r"\]\(([^)]+)", package.page("https://git.example.com/project"))
    assert links
    assert all(
        re.match(r"https://git\.example\.com/project/(?:blob|raw)/v\d|#|https:", link) for link in links
    )


def test_without_an_address_of_the_repository_the_page_of_the_package_has_no_link_to_it() -> None:
    links = re.findall(r"\]\(([^)]+)", package.page(None))
    assert all(link.startswith(("https:", "#")) for link in links)
