"""Servers of git on loopback: ssh with keys, https with a password. Nothing of the system is used."""

from __future__ import annotations

import asyncio
import base64
import os
import shlex
import ssl
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import asyncssh
import trustme

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


async def pump(reader: Any, writer: Any) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@dataclass
class Ssh:
    """A server of ssh that runs git in a folder, for one key."""

    folder: Path
    host_key: asyncssh.SSHKey
    port: int = 0
    #: Whether it answers nothing any more.
    silent: bool = False
    commands: list[str] = field(default_factory=list)

    @property
    def known_hosts(self) -> str:
        """The line that a file of known hosts has for it."""
        return f"[127.0.0.1]:{self.port} {self.host_key.export_public_key().decode()}"

    async def handle(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        program, path = shlex.split(process.command or "")
        self.commands.append(program)
        if self.silent:
            await process.stdin.read()
        git = await asyncio.create_subprocess_exec(
            "git",
            program.removeprefix("git-"),
            str(self.folder / path.lstrip("/")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        asks = asyncio.create_task(pump(process.stdin, git.stdin))
        await asyncio.gather(pump(git.stdout, process.stdout), pump(git.stderr, process.stderr))
        asks.cancel()
        code = await git.wait()
        process.exit(code)


async def close(acceptor: asyncssh.SSHAcceptor) -> None:
    acceptor.close()
    await acceptor.wait_closed()
    # What answers to clients that are gone ends by itself.
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def ssh_server(folder: Path, public_key: Path, host_key: asyncssh.SSHKey) -> Iterator[Ssh]:
    server = Ssh(folder, host_key)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[host_key],
            authorized_client_keys=str(public_key),
            process_factory=server.handle,
            encoding=None,
        )

    acceptor = asyncio.run_coroutine_threadsafe(listen(), loop).result(30)
    server.port = acceptor.get_port()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(close(acceptor), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(600)


@dataclass
class Https:
    """A server of https that runs git in a folder, for one user with a password."""

    folder: Path
    authority: Path
    port: int = 0


def handler(folder: Path, login: str) -> type[BaseHTTPRequestHandler]:
    expected = "Basic " + base64.b64encode(login.encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def answer(self, body: bytes) -> None:
            if self.headers.get("Authorization") != expected:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            environment = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            ran = subprocess.run(
                ["git", "http-backend"], input=body, env=environment, capture_output=True, check=True
            )
            headers, _, content = ran.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in headers.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


@contextmanager
def https_server(folder: Path, login: str) -> Iterator[Https]:
    authority = trustme.CA()
    file = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(folder, login))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Https(folder, file, server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join(600)
