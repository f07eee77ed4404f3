"""Every command that `sys.doc` shows works as it is typed, on the inventory of the README."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import salt.config
import salt.minion
from salt.utils.args import parse_input
from saltext.reclass.modules import reclass_mod
from saltext.reclass.runners import reclass_runner

from tests.conftest import ROOT
from tests.python import etcd_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULES = {"salt-call": reclass_mod, "salt-run": reclass_runner}
# An inventory lies with the master: `salt '*'` would edit it from every minion.
SALT = {
    "cache.grains": lambda tgt, **_: {tgt[0]: {"reclass": GRAIN[0]}},
    "cache.pillar": lambda **_: {"web1.example.com": {"timezone": "UTC"}, "gone.example.com": {}},
    "salt.execute": lambda *_, **__: {},
    "saltutil.cmd": lambda **_: {},
}
GRAIN: list[Any] = [None]


def commands() -> list[tuple[str, str, list[str]]]:
    """The program, the function and the arguments of each example."""
    found = []
    for program, module in MODULES.items():
        for function_name, called in inspect.getmembers(module, inspect.isfunction):
            text = inspect.getdoc(called) or ""
            lines = text.partition(".. code-block:: bash")[2].replace("\\\n", " ").strip().split("\n")
            examples: list[str] = []
            for line in filter(str.strip, lines):
                # What does not begin with a program goes on with the example above.
                if line.strip().startswith("salt"):
                    examples.append(line.strip())
                else:
                    examples[-1] += f" {line.strip()}"
            for example in examples:
                name, function, *arguments = shlex.split(example)
                assert (name, function) == (program, f"reclass.{function_name}"), example
                found.append((program, function_name, arguments))
    assert len(found) > 60
    readme = re.findall(r"^salt-run reclass\.(\w+)(.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert readme
    return found + [("salt-run", name, shlex.split(rest)) for name, rest in readme]


def examples() -> list[Any]:
    marks = {True: [etcd_server.NEEDED], False: []}
    return [
        pytest.param(one, id=" ".join([*one[:2], *one[2]]), marks=marks["store=etcd" in one[2]])
        for one in commands()
    ]


@pytest.fixture
def with_programs() -> Iterator[contextlib.ExitStack]:
    """Ends the servers that a test has started."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("command", examples())
def test_an_example_works(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_programs: contextlib.ExitStack,
    command: tuple[str, str, list[str]],
) -> None:
    program, function, arguments = command
    base = tmp_path / "reclass"
    shutil.copytree(ROOT / "examples/inventory", base)
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for git in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-qm", "one"],
        ["commit", "-qm", "two", "--allow-empty"],
    ):
        subprocess.run(["git", "-C", str(base), *person, *git], env=environment, check=True)
    settings = {"inventory_base_uri": str(base), "class_mappings": ["db*.example.com role.database"]}
    if function == "stats":
        settings["metrics_file"] = str(tmp_path / "metrics.prom")
    if "store=etcd" in arguments:
        endpoint = with_programs.enter_context(etcd_server.running(tmp_path / "etcd"))
        settings |= {"etcd_endpoints": [endpoint], "etcd_cache_dir": str(tmp_path / "record")}
    opts = salt.config.apply_master_config({"root_dir": str(tmp_path), "ext_pillar": [{"reclass": settings}]})
    opts |= {"__role": "master", "reclass": settings}
    GRAIN[0] = False if function == "declassify_minion" else {"address": "10.0.0.13"}
    module = MODULES[program]
    for name, value in (("__opts__", opts), ("__salt__", SALT), ("__context__", {})):
        monkeypatch.setattr(module, name, value, raising=False)
    if function in ("node_delete", "declassify_minion"):
        module.node_create("web3.example.com", path="_generated")
    called = getattr(module, function)
    args, kwargs = salt.minion.load_args_and_kwargs(called, parse_input(arguments))
    if function in ("promote", "abort"):
        with pytest.raises(Exception, match="no revision is on trial"):
            called(*args, **kwargs)
        return
    called(*args, **kwargs)
    retcode = reclass_mod.__context__.get("retcode", 0) if program == "salt-call" else 0
    assert retcode == 0
