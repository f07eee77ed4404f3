"""A real etcd on loopback, on a port of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDED = pytest.mark.needs(
    "etcd", shutil.which("etcd") and shutil.which("etcdctl"), "install etcd-server and etcd-client"
)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def ctl(endpoint: str, *arguments: str) -> str:
    """What ``etcdctl`` prints."""
    environment = {**os.environ, "ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": endpoint}
    done = subprocess.run(
        ["etcdctl", *arguments], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """Starts a server with its data in this folder. Returns its address when it answers."""
    client, peer = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
    command = ["etcd", "--data-dir", str(folder), "--initial-cluster", f"default={peer}"]
    for listen, advertise, address in [
        ("--listen-client-urls", "--advertise-client-urls", client),
        ("--listen-peer-urls", "--initial-advertise-peer-urls", peer),
    ]:
        command += [listen, address, advertise, address]
    with folder.with_suffix(".log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for _ in range(300):
            try:
                ctl(client, "get", "x")
                break
            except subprocess.CalledProcessError:
                time.sleep(0.05)
        yield client
    finally:
        server.kill()
        server.wait()
