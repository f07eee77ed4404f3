"""Neovim's own client, configured as docs/editors.md says, and `reclass lsp`.

`NVIM=/path/to/nvim` takes another Neovim than that of `PATH`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT
from tests.editors.server import FILES, PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write

NVIM = shutil.which(os.environ.get("NVIM", "nvim"))
pytestmark = pytest.mark.needs("nvim", NVIM, "install neovim")

Play = Callable[..., list[Any]]


def configurations() -> list[str]:
    """The blocks of Lua in the page's section of Neovim."""
    page = (ROOT / "docs/editors.md").read_text()
    section = re.search(r"^## Neovim\n(.*?)^## ", page, re.S | re.M)
    assert section
    return re.findall(r"```lua\n(.*?)```", section[1], re.S)


def version() -> tuple[int, ...]:
    shown = subprocess.run([str(NVIM), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"NVIM v(\d+)\.(\d+)", shown)
    assert found
    return tuple(map(int, found.groups()))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the configuration of the page that is for this version."""
    newer, older, keys, command = configurations()
    folder = tmp_path / "home/.config/nvim"
    folder.mkdir(parents=True)
    is_new = version() >= (0, 11)
    (folder / "init.lua").write_text(keys + command + (newer if is_new else ""))
    if not is_new:
        (folder / "ftplugin").mkdir()
        (folder / "ftplugin/yaml.lua").write_text(older)
    return tmp_path / "home"


@pytest.fixture
def play(home: Path, tmp_path: Path) -> Play:
    """Opens a file in Neovim, does the steps of `neovim.lua`, and returns what was seen."""

    def play(path: Path, *steps: tuple[str, ...]) -> list[Any]:
        seen = tmp_path / "seen.json"
        environment = {
            "HOME": str(home),
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
            "RECLASS_STEPS": json.dumps(steps),
            "RECLASS_SEEN": str(seen),
        }
        script = ROOT / "tests/editors/neovim.lua"
        command = [str(NVIM), "--headless", "-n", "-c", f"luafile {script}", str(path)]
        done = subprocess.run(
            command,
            env=environment,
            cwd=path.parent,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert seen.exists(), done.stderr
        answer = json.loads(seen.read_text())
        assert answer["error"] is None, (answer, done.stderr)
        return list(answer["seen"])

    return play


def test_problems_of_unsaved_text_come_and_go(write: Write, play: Play) -> None:
    base = write(FILES)
    path = base / "classes/app/web.yml"
    _, problems, _, _ = play(
        path,
        ("type", "db:host", "db:hots"),
        ("diagnostics",),
        ("type", "db:hots", "db:host"),
        ("no_diagnostics",),
    )
    (problem,) = (one for one in problems if one[1] == "reference-not-found")
    assert problem[0] == 6
    assert "db:hots" in problem[2]
    assert path.read_text() == FILES["classes/app/web"]


def test_hover_shows_values_and_classes(write: Write, play: Play) -> None:
    path = write(FILES) / "classes/app/web.yml"
    value, reference, entry = play(path, ("hover", "url:"), ("hover", "nginx:port}"), ("hover", "app.common"))
    # Behind the wide characters: Neovim counts in UTF-16 before 0.11.
    assert "8080" in reference
    assert "nodes/web1.yml" in reference
    assert "http://db1:8080" in value
    assert "app.common" in entry
    assert "2 nodes" in entry


def test_definition_jumps(write: Write, play: Play) -> None:
    base = write(FILES)
    (to_class,) = play(base / "nodes/web1.yml", ("definition", "app.web"))
    assert to_class == [str(base / "classes/app/web.yml"), 1]
    (to_value,) = play(base / "classes/app/web.yml", ("definition", "db:host"))
    assert to_value == [str(base / "classes/site.yml"), 4]


def test_completion_goes_on_behind_a_dot_and_a_colon(write: Write, play: Play) -> None:
    path = write(FILES) / "classes/app/web.yml"
    _, entry, reference = play(
        path,
        ("hover", "app.common"),
        ("complete", "app.common", "  - app.c"),
        ("complete", "port: 80", "    x: ${nginx:us"),
    )
    assert entry == "  - app.common"
    assert reference == "    x: ${nginx:user"


def test_a_class_gets_another_name(write: Write, play: Play) -> None:
    base = write(FILES)
    # Hover waits until the server has read the inventory.
    path = base / "classes/app/web.yml"
    play(path, ("hover", "app.common"), ("rename", "app.common", "app.shared"))
    assert not (base / "classes/app/common.yml").exists()
    assert (base / "classes/app/shared.yml").read_text() == FILES["classes/app/common"]
    assert "  - app.shared\n" in (base / "classes/app/web.yml").read_text()


def test_a_parameter_gets_another_name(write: Write, play: Play) -> None:
    base = write(FILES)
    path = base / "classes/site.yml"
    play(path, ("hover", "host"), ("rename", "host", "address"))
    assert "    address: db1\n" in (base / "classes/site.yml").read_text()
    assert "${db:address}" in (base / "classes/app/web.yml").read_text()


def test_other_yaml_files_start_no_server(write: Write, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other/compose.yml"
    other.parent.mkdir()
    other.write_text("parameters: {}\n")
    count = "lua io.stdout:write(#(vim.lsp.get_clients or vim.lsp.get_active_clients)())"
    environment = {"HOME": str(home), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    command = [str(NVIM), "--headless", "-n", "-c", "sleep 200m", "-c", count, "-c", "qall!", str(other)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0", done.stderr
