"""salt-ssh: the master renders the pillar and the tops, with the grains that the target reports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.salt.conftest import free_port
from tests.salt.test_grains import FILES, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.salt.conftest import Answer, MakeSite, Site

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = [
    pytest.mark.needs("sshd", SSHD and shutil.which("scp"), "install a server and a client of OpenSSH"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can log in without a password"),
]


class Target:
    """The machine itself, as salt-ssh reaches it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.folder = site.folder / "ssh"
        self.port = free_port()
        self.folder.mkdir()
        for key in ("host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / key)]
            subprocess.run(command, check=True)
        options = {
            "Port": self.port,
            "ListenAddress": "127.0.0.1",
            "HostKey": self.folder / "host",
            "AuthorizedKeysFile": self.folder / "user.pub",
            "PidFile": "none",
            "StrictModes": "no",
            "Subsystem": "sftp internal-sftp",
        }
        lines = [f"{name} {value}\n" for name, value in options.items()]
        (self.folder / "sshd_config").write_text("".join(lines))
        # Some programs named python3 are scripts, which the shim of Salt does not start.
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
        Path("/run/sshd").mkdir(exist_ok=True)
        with (self.folder / "output").open("wb") as output:
            assert SSHD is not None
            command = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
            self.server = subprocess.Popen(command, stdout=output, stderr=output)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise TimeoutError((self.folder / "output").read_text())

    def grains(self, grains: dict[str, Any]) -> None:
        """What the target says of itself."""
        target = {
            "host": "127.0.0.1",
            "port": self.port,
            "user": "root",
            "priv": str(self.folder / "user"),
            "set_path": f"{self.folder / 'bin'}:/usr/bin:/bin",
            # Salt copies the options of a minion to a target once. These are those of another one.
            "thin_dir": str(Path(tempfile.mkdtemp(dir=self.folder)) / "thin"),
            # Not every function of salt-ssh takes its options for unknown hosts to the states.
            "ssh_options": ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"],
            "minion_opts": {"grains": grains},
        }
        (self.site.folder / "master" / "roster").write_text(yaml.safe_dump({"web1": target}))

    def call(self, *arguments: str) -> Answer:
        """`salt-ssh web1 …`; the data are those of the target."""
        # Salt keeps what it knows of a target. The next call must ask again.
        answer = self.site.run("salt-ssh", "master", "--refresh", "web1", *arguments)
        if isinstance(answer.data, dict):
            answer.data = answer.data.get("web1", answer.data)
        return answer


@pytest.fixture(scope="module")
def target(make_site: MakeSite) -> Iterator[Target]:
    site = make_site(OPTIONS)
    site.write(FILES)
    site.configure_master()
    target = Target(site)
    yield target
    target.server.terminate()
    target.server.wait(60)


def test_the_grains_of_the_target_count(target: Target) -> None:
    target.grains({"os_name": "${x}", "tier": "web", "id": "db1"})
    pillar = target.call("pillar.items").data
    assert (pillar["seen"], pillar["listen"], pillar["id"]) == ("${x}", "here", "web1")
    assert "_grains_" not in pillar
    assert target.call("state.show_top").data == {"base": ["common", "web"]}
    states = target.call("state.apply")
    assert states.code == 0, states
    assert {state["name"] for state in states.data.values()} == {"hello", "here"}


def test_a_target_that_forges_its_grains_gets_no_class(target: Target) -> None:
    target.grains({"tier": "secret"})
    for function in ("pillar.items", "state.apply"):
        answer = target.call(function)
        assert "hunter2" not in answer.text + answer.errors, answer
        assert "the value of the grain 'tier' is not permitted" in answer.text, answer
