"""Draws docs/images/neovim.svg: a terminal with Neovim, a problem and a hover.

    NVIM=nvim .venv/bin/python -m tests.editors.picture

Neovim works in a tmux of its own, and the picture is what tmux shows. The inventory is the example in
/srv/salt/reclass, as on the pages: this folder must not exist before.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.conftest import ROOT

PICTURE = ROOT / "docs/images/neovim.svg"
INVENTORY = Path("/srv/salt/reclass")
COLUMNS, LINES = 120, 22
NVIM = os.environ.get("NVIM", "nvim")

# Only what a picture needs; the servers are configured as the page says.
LOOK = """
vim.opt.termguicolors = true
vim.opt.number = true
vim.opt.signcolumn = 'yes'
vim.opt.swapfile = false
vim.opt.ruler = false
vim.opt.laststatus = 0
vim.diagnostic.config({ virtual_text = true })
if vim.fn.exists('+winborder') == 1 then vim.o.winborder = 'rounded' end
"""

# The colours of Neovim, which has its own for all but the frame.
THEME = TerminalTheme((20, 22, 27), (224, 226, 234), [(20, 22, 27)] + [(224, 226, 234)] * 7)


def tmux(*arguments: str) -> str:
    command = ["tmux", "-L", "picture", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def keys(*names: str) -> None:
    for name in names:
        tmux("send-keys", name)
        time.sleep(0.2)


def until(text: str) -> None:
    """Waits until the terminal shows a text."""
    for _ in range(100):
        if text in tmux("capture-pane", "-p"):
            return
        time.sleep(0.1)
    sys.exit(f"no {text!r} in:\n{tmux('capture-pane', '-p')}")


def screen(home: Path) -> str:
    """What the terminal shows in the end, with its colours."""
    # The shell of tmux may set its own PATH.
    environment = ["env", f"HOME={home}", f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"]
    size = ["-x", str(COLUMNS), "-y", str(LINES)]
    command = shlex.join([*environment, NVIM, "classes/role/web.yml"])
    tmux("-f", "/dev/null", "new-session", "-d", *size, command)
    try:
        tmux("set", "status", "off")
        until("upstream")
        time.sleep(2)
        # The reference gets a wrong letter, and the cursor goes to the line below.
        keys("/", "address", "Enter", "l", "x", "Escape")
        until("adress' in")
        keys(":ReclassNode web1.example.com", "Enter", "j", "0", "w", "K")
        until("node web1")
        keys(":", "Escape")
        time.sleep(0.5)
        return tmux("capture-pane", "-e", "-p")
    finally:
        tmux("kill-server")


def main() -> None:
    if INVENTORY.exists():
        sys.exit(f"{INVENTORY} exists")
    page = (ROOT / "docs/editors.md").read_text()
    newer, older, mappings, command = re.findall(r"```lua\n(.*?)```", page, re.S)
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / ".config/nvim"
        (configuration / "ftplugin").mkdir(parents=True)
        has_enable = "if vim.lsp.enable then\n" + newer + "end\n"
        (configuration / "init.lua").write_text(LOOK + mappings + command + has_enable)
        (configuration / "ftplugin/yaml.lua").write_text("if not vim.lsp.enable then\n" + older + "end\n")
        try:
            shutil.copytree(ROOT / "examples/inventory", INVENTORY)
            os.chdir(INVENTORY)
            shown = screen(Path(folder))
        finally:
            shutil.rmtree(INVENTORY)
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown.rstrip("\n")), end="")
    picture = console.export_svg(title="", theme=THEME, unique_id="neovim")
    # The fonts of the reader: a picture loads nothing from elsewhere.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.S)
    picture = picture.replace("Fira Code", "ui-monospace, DejaVu Sans Mono, Menlo, Consolas")
    PICTURE.write_text(re.sub(r"\s*<!-- Generated.*?-->", "", picture))


if __name__ == "__main__":
    main()
