"""`salt-run` prints explanations, findings and differences as text; with `--out json` they are data."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from conftest import PROGRAMS, MakeSite, Site


@pytest.fixture(scope="module")
def place(make_site: MakeSite) -> Site:
    """A master with an inventory in a repository."""
    site = make_site()
    site.start_master()
    git = ["git", "-C", str(site.inventory), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    site.write({"nodes/extra": "parameters: {port: 012, secret_password: hunter22}\n"})
    return site


def printed(site: Site, *arguments: str, code: int = 0) -> str:
    command = [
        PROGRAMS / "salt-run",
        "--config-dir",
        site.folder / "master",
        "--log-level",
        "error",
        *arguments,
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == code, result
    return result.stdout


def test_people_get_the_text_of_the_programs(place: Site) -> None:
    explained = printed(place, "reclass.explain", "extra", "port")
    assert explained.startswith("port: 10\n"), explained
    assert f"{place.inventory}/nodes/extra.yml:1:" in explained
    found = printed(place, "reclass.lint", "extra")
    assert "warning[scalar-misread]: '012' is read as 10" in found
    assert "1 │ parameters: {port: 012" in found
    assert found.rstrip().endswith("errors: 0, warnings: 2"), found
    different = printed(place, "reclass.diff", "HEAD", code=1)
    assert "extra" in different
    assert "{" not in different, different
    assert "hunter22" not in explained + found + different


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("reclass.explain", "extra", "port"), dict, 0),
        (("reclass.lint", "extra"), list, 0),
        (("reclass.diff", "HEAD"), dict, 1),
    ],
)
def test_another_output_has_the_data(
    place: Site, arguments: tuple[str, ...], kind: type[Any], code: int
) -> None:
    answer = place.runner(*arguments)
    assert answer.code == code, answer
    data: Any = answer.data
    assert isinstance(data, kind), answer
    assert "outputter" not in data
