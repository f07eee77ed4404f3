"""A real Salt master and minion on loopback, in folders and on ports of their own.

The programs run as an administrator runs them, from the environment of the tests,
where the wheel is installed: Salt finds our modules only through the package.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import salt.config
import salt.utils.event
import yaml

PROGRAMS = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parent.parent.parent

INVENTORY = {
    "nodes/web1": """
        classes: [common, role.web]
        parameters: {address: 10.0.0.1, secret: hunter2}
    """,
    "nodes/db1": """
        classes: [common]
        applications: [database]
        parameters: {secret: swordfish}
    """,
    "nodes/dev1": """
        environment: dev
        classes: [common, role.web]
        parameters: {address: 10.0.9.1}
    """,
    "classes/common": """
        applications: [common]
        parameters: {text: hello, released: 2001-02-03}
    """,
    "classes/role/web": """
        applications: [web]
        parameters: {listen: '${address}:80'}
    """,
}
STATES = {
    "base/common": "common:\n  test.succeed_with_changes:\n    - name: {{ pillar['text'] }}\n",
    "base/web": "web in base:\n  test.succeed_with_changes:\n    - name: {{ pillar['listen'] }}\n",
    "base/database": "database:\n  test.nop\n",
    "dev/common": "common:\n  test.succeed_with_changes:\n    - name: {{ pillar['text'] }}\n",
    "dev/web": "web in dev:\n  test.succeed_with_changes:\n    - name: {{ pillar['listen'] }}\n",
}


@dataclass
class Answer:
    """What a program left behind."""

    code: int
    data: Any
    text: str
    errors: str

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.text}\n{self.errors}"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Site:
    """A master with an inventory, and minions on demand."""

    folder: Path
    options: dict[str, Any] = field(default_factory=dict)
    master_options: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ports: tuple[int, int] = field(default_factory=lambda: (free_port(), free_port()))

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory"

    def write(self, files: dict[str, str], folder: str = "inventory", suffix: str = ".yml") -> None:
        for name, text in files.items():
            path = self.folder / folder / (name + suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            # As editors and `git` do it: another file takes the place of the old one.
            new = path.with_suffix(".new")
            new.write_text(textwrap.dedent(text))
            new.replace(path)

    def configure_master(self) -> None:
        reclass = {"inventory_base_uri": str(self.inventory), **self.options}
        folder = self.folder / "master"
        folder.mkdir(parents=True, exist_ok=True)
        config = {
            "root_dir": str(folder),
            "user": "root",
            "interface": "127.0.0.1",
            "publish_port": self.ports[0],
            "ret_port": self.ports[1],
            "auto_accept": True,
            "worker_threads": 3,
            "log_level_logfile": "info",
            "file_roots": {env: [str(self.folder / "states" / env)] for env in ("base", "dev")},
            "ext_pillar": [{"reclass": reclass}],
            "master_tops": {"reclass": reclass},
            **self.master_options,
        }
        (folder / "master").write_text(yaml.safe_dump(config))

    def configure_minion(self, name: str, **more: Any) -> Path:
        folder = self.folder / name
        # As a package would: `salt-call` of Salt 3007 makes none of them.
        for directory in ("etc/salt/pki/minion", "var/cache/salt/minion", "var/run/salt", "var/log/salt"):
            (folder / directory).mkdir(parents=True, exist_ok=True)
        config = {
            "id": name,
            "root_dir": str(folder),
            "user": "root",
            "master": "127.0.0.1",
            "master_port": self.ports[1],
            "publish_port": self.ports[0],
            "pillar_mask_output": False,
            "auth_timeout": 20,
            "request_channel_timeout": 30,
            "enable_fqdns_grains": False,
            **more,
        }
        (folder / "minion").write_text(yaml.safe_dump(config))
        return folder

    def start(self, program: str, folder: Path) -> None:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **self.environment}
        with (folder / "output").open("wb") as output:
            self.daemons[folder.name] = subprocess.Popen(
                [PROGRAMS / program, "--config-dir", folder, "--log-level", "warning"],
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )

    def start_master(self) -> None:
        self.configure_master()
        self.start("salt-master", self.folder / "master")
        end = time.monotonic() + 600
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.ports[1])) == 0:
                    return
            time.sleep(0.2)
        raise TimeoutError(self.log("master"))

    def restart_master(self, **options: Any) -> None:
        """The master with other options, or for the first time; its engine then knows the state."""
        self.options |= options
        looks = self.log("master").count(" without a pillar")
        if "master" in self.daemons:
            self.daemons["master"].terminate()
            self.daemons["master"].wait(60)
        self.start_master()
        until(lambda: self.log("master").count(" without a pillar") > looks)

    def start_minion(self, name: str, **options: Any) -> None:
        self.start("salt-minion", self.configure_minion(name, **options))
        end = time.monotonic() + 600
        while time.monotonic() < end:
            answer = self.salt(name, "test.ping", timeout=5)
            if answer.data == {name: True}:
                return
        raise TimeoutError(self.log("master") + self.log(name))

    def stop(self) -> None:
        # All first, so that they end together. Each is the leader of its own session.
        for daemon in self.daemons.values():
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(60)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait(60)

    def log(self, name: str) -> str:
        files = [self.folder / name / "output", *(self.folder / name).glob("var/log/salt/*")]
        return "\n".join(file.read_text(errors="replace") for file in files if file.is_file())

    def run(self, program: str, config: str, *arguments: str, timeout: int = 900) -> Answer:
        command = [
            PROGRAMS / program,
            "--config-dir",
            self.folder / config,
            "--out",
            "json",
            "--log-level",
            "error",
        ]
        result = subprocess.run(
            [*map(str, command), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, **self.environment},
        )
        try:
            data = json.loads(result.stdout)
        except ValueError:
            data = None
        return Answer(result.returncode, data, result.stdout, result.stderr)

    def salt(self, minion: str, *arguments: str, timeout: int = 600) -> Answer:
        """`salt MINION …` on the master."""
        return self.run("salt", "master", f"--timeout={timeout}", minion, *arguments)

    def call(self, minion: str, *arguments: str) -> Answer:
        """`salt-call …` on the minion; the data are those of the minion."""
        if not (self.folder / minion).exists():
            self.configure_minion(minion)
        answer = self.run("salt-call", minion, *arguments)
        if isinstance(answer.data, dict):
            answer.data = answer.data.get("local", answer.data)
        return answer

    def runner(self, *arguments: str) -> Answer:
        """`salt-run …` on the master."""
        return self.run("salt-run", "master", *arguments)


MakeSite = Callable[..., Site]


def until(holds: Callable[[], Any], seconds: float = 120) -> Any:
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.2)
    assert found
    return found


@contextmanager
def bus(site: Site, name: str) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Listens on the event bus of the master or of a minion, for all events that begin with a tag."""
    read = salt.config.master_config if name == "master" else salt.config.minion_config
    opts = read(str(site.folder / name / ("master" if name == "master" else "minion")))
    kind = "master" if name == "master" else "minion"
    with salt.utils.event.get_event(kind, sock_dir=opts["sock_dir"], opts=opts, listen=True) as events:
        seen: list[dict[str, Any]] = []

        def heard(tag: str) -> list[dict[str, Any]]:
            while (event := events.get_event(wait=0.2, full=True, auto_reconnect=True)) is not None:
                seen.append(event)
            return [event for event in seen if event["tag"].startswith(tag)]

        heard("")
        yield heard


@pytest.fixture(scope="module")
def make_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeSite]:
    sites: list[Site] = []

    def make(options: dict[str, Any] | None = None, **master_options: Any) -> Site:
        # Short: the sockets of Salt have long names, and the system a limit for them.
        folder = Path(tmp_path_factory.mktemp("s"))
        site = Site(folder, options or {}, master_options)
        site.write(INVENTORY)
        site.write(STATES, "states", ".sls")
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.stop()
        shutil.rmtree(site.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def site(make_site: MakeSite) -> Site:
    """A master whose only option is the place of the inventory, and the minion `web1`."""
    site = make_site()
    site.start_master()
    site.start_minion("web1")
    return site


@pytest.fixture
def inventory(site: Site) -> Iterator[Callable[[dict[str, str]], None]]:
    """Edits the inventory of the site for one test."""
    yield site.write
    shutil.rmtree(site.inventory)
    site.write(INVENTORY)
