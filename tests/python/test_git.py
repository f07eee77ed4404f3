"""Inventories in git, over ssh with a key and over https: who is let in, and what a push changes."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import asyncssh
import pytest
from saltext.reclass import Inventory, ReclassError, _check, _edits, _functions_fleet
from saltext.reclass._salt import RefusedError

from tests.python.git_servers import Https, Ssh, https_server, ssh_server

if TYPE_CHECKING:
    from tests.conftest import GitSite

LOGIN = "ada:p@ss/w%rd"
LOGIN_IN_ADDRESS = "ada:p%40ss%2Fw%25rd"

Push = Callable[[str], None]


def git(folder: Path, *arguments: str) -> str:
    person = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com"}
    person |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in person.items()}
    environment = {**os.environ, **person, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def push(tmp_path: Path) -> Push:
    """Commits a value to the repository `site`, which is then served by the servers."""
    folder = tmp_path / "served" / "site"
    (folder / "nodes").mkdir(parents=True)
    (folder / "classes").mkdir()
    git(folder, "init", "-q", "-b", "master")

    def push(value: str) -> None:
        (folder / "nodes" / "n.yml").write_text("classes: [c]\n")
        (folder / "classes" / "c.yml").write_text(f"parameters: {{value: {value}}}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", value)

    push("first")
    return push


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A private key, with the public one beside it."""
    return write_key(tmp_path / "it's 100% a key")


def write_key(path: Path) -> Path:
    pair = asyncssh.generate_private_key("ecdsa-sha2-nistp256")
    pair.write_private_key(str(path))
    pair.write_public_key(f"{path}.pub")
    path.chmod(0o600)
    return path


@pytest.fixture
def ssh(tmp_path: Path, push: Push, key: Path) -> Iterator[Ssh]:
    if shutil.which("ssh") is None:
        pytest.skip("there is no program 'ssh'")
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    with ssh_server(tmp_path / "served", Path(f"{key}.pub"), host_key) as server:
        (tmp_path / "known hosts").write_text(server.known_hosts)
        yield server


@pytest.fixture
def https(tmp_path: Path, push: Push, monkeypatch: pytest.MonkeyPatch) -> Iterator[Https]:
    with https_server(tmp_path / "served", LOGIN) as server:
        monkeypatch.setenv("GIT_SSL_CAINFO", str(server.authority))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        yield server


@pytest.fixture
def options(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The options of an inventory in the repository at an address."""

    def options(repo: str, settings: dict[str, Any] | None = None, **login: Any) -> dict[str, Any]:
        tree = {
            "repo": repo,
            "branch": "master",
            "cache_dir": str(tmp_path / "cache"),
            "lock_dir": str(tmp_path / "lock"),
            **login,
        }
        return {
            "storage_type": "yaml_git",
            "nodes_uri": {**tree, "root": "nodes"},
            "classes_uri": {**tree, "root": "classes"},
            "git_fetch_interval": 0,
            "git_fetch_timeout": 60,
            "git_known_hosts": str(tmp_path / "known hosts"),
            **(settings or {}),
        }

    return options


Options = Callable[..., dict[str, Any]]


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """What is logged meanwhile."""
    seen: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("saltext.reclass")
    logger.addHandler(handler)
    yield seen
    logger.removeHandler(handler)


def commands() -> list[str]:
    """The command lines of all processes."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_bytes().decode(errors="replace"))
    return lines


def value(inventory: Inventory) -> str:
    return str(inventory.nodeinfo("n")["parameters"]["value"])


@pytest.mark.parametrize("scheme", ["ssh", "git+ssh"])
def test_ssh_with_a_key(ssh: Ssh, key: Path, push: Push, options: Options, scheme: str) -> None:
    repo = f"{scheme}://git@127.0.0.1:{ssh.port}/site"
    inventory = Inventory(**options(repo, privkey=str(key), pubkey=f"{key}.pub"))
    assert value(inventory) == "first"
    assert inventory.nodeinfo("n")["__reclass__"]["uri"] == f"git_fs://{repo} master nodes/n.yml"
    push("second")
    assert value(inventory) == "second"
    assert set(ssh.commands) == {"git-upload-pack"}


def test_ssh_in_the_spelling_without_a_port(
    ssh: Ssh, key: Path, options: Options, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The command of the caller is used where no key is named.
    simple = tmp_path / "key"
    simple.write_bytes(key.read_bytes())
    simple.chmod(0o600)
    known = f"-o 'UserKnownHostsFile=\"{tmp_path}/known hosts\"'"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"ssh -p {ssh.port} -i {simple} -o IdentitiesOnly=yes {known}")
    assert value(Inventory(**options("git+ssh://git@127.0.0.1:site"))) == "first"


def test_ssh_with_an_encrypted_key(ssh: Ssh, key: Path, options: Options, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    asyncssh.read_private_key(key).write_private_key(str(locked), "pkcs8-pem", "open sesame")
    locked.chmod(0o600)
    repo = f"ssh://git@127.0.0.1:{ssh.port}/site"
    assert value(Inventory(**options(repo, privkey=str(locked), password="open sesame"))) == "first"
    shutil.rmtree(tmp_path / "cache")
    for wrong in ({}, {"password": "sesame open"}):
        with pytest.raises(ReclassError) as error:
            Inventory(**options(repo, privkey=str(locked), **wrong)).nodes()
        assert error.value.code == "git-access"
        assert "sesame" not in str(error.value)


def test_an_edit_is_pushed_with_an_encrypted_key(
    ssh: Ssh, key: Path, options: Options, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    asyncssh.read_private_key(key).write_private_key(str(locked), "pkcs8-pem", "open sesame")
    locked.chmod(0o600)
    repo = f"ssh://git@127.0.0.1:{ssh.port}/site"
    login = {"privkey": str(locked), "password": "open sesame"}
    settings = options(repo, {"edit_branch": "edits"}, **login)
    done = _edits.update_node(settings, "n", parameters={"a": 1})
    assert git(tmp_path / "served/site", "rev-parse", "edits") == done["commit"]
    assert ssh.commands[-1] == "git-receive-pack"
    assert "sesame" not in git(tmp_path / "served/site", "log", "edits") + str(done)


def test_ssh_with_an_agent(
    ssh: Ssh, key: Path, options: Options, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Not in the folder of the test: the names of sockets have a limit.
    folder = tempfile.mkdtemp()
    socket = f"{folder}/agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 600
        while not Path(socket).exists() and time.monotonic() < end:
            time.sleep(0.05)
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        subprocess.run(["ssh-add", "-q", str(key)], check=True)
        repo = f"ssh://git@127.0.0.1:{ssh.port}/site"
        assert value(Inventory(**options(repo))) == "first"
        shutil.rmtree(tmp_path / "cache")
        # Of many keys that an agent may have, this one.
        assert value(Inventory(**options(repo, pubkey=f"{key}.pub"))) == "first"
    finally:
        agent.kill()
        agent.wait()
        shutil.rmtree(folder)


def test_ssh_with_a_key_that_nobody_knows(ssh: Ssh, options: Options, tmp_path: Path) -> None:
    other = write_key(tmp_path / "other")
    with pytest.raises(ReclassError, match="Permission denied") as error:
        Inventory(**options(f"ssh://git@127.0.0.1:{ssh.port}/site", privkey=str(other))).nodes()
    assert error.value.code == "git-access"


def test_ssh_repository_that_does_not_exist(ssh: Ssh, key: Path, options: Options) -> None:
    with pytest.raises(ReclassError, match="does not appear to be a git repository") as error:
        Inventory(**options(f"ssh://git@127.0.0.1:{ssh.port}/nowhere", privkey=str(key))).nodes()
    assert error.value.code == "git-fetch"


def test_a_server_that_is_not_known(ssh: Ssh, key: Path, options: Options, tmp_path: Path) -> None:
    known = tmp_path / "known hosts"
    known.write_text("")
    repo = f"ssh://git@127.0.0.1:{ssh.port}/site"
    with pytest.raises(ReclassError) as error:
        Inventory(**options(repo, privkey=str(key))).nodes()
    assert error.value.code == "git-access"
    assert "ost key" in str(error.value)
    assert known.read_text() == ""
    accepting = {"git_unknown_hosts": "accept"}
    assert value(Inventory(**options(repo, accepting, privkey=str(key)))) == "first"
    assert ssh.host_key.export_public_key().decode().split()[1] in known.read_text()
    # Whoever is known is known: another key is refused, whatever is accepted.
    impostor = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    known.write_text(f"[127.0.0.1]:{ssh.port} {impostor}")
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(ReclassError) as error:
        Inventory(**options(repo, accepting, privkey=str(key))).nodes()
    assert error.value.code == "git-access"
    assert "the host key of the server has changed" in str(error.value)


def test_a_server_that_falls_silent(
    ssh: Ssh, key: Path, push: Push, options: Options, logged: list[str]
) -> None:
    repo = f"ssh://git@127.0.0.1:{ssh.port}/site"
    inventory = Inventory(**options(repo, {"git_fetch_timeout": 1}, privkey=str(key)))
    assert value(inventory) == "first"
    ssh.silent = True
    begun = time.monotonic()
    assert value(inventory) == "first"
    assert 1 <= time.monotonic() - begun < 600
    [warning] = [line for line in logged if "git-stale" in line]
    stale = f"'{repo}' is served as it was fetched last: no answer within a second (git-stale); fetched "
    assert warning.startswith(stale)
    # It has been killed; the system may still be at it.
    deadline = time.monotonic() + 60
    while [command for command in commands() if repo in command]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with pytest.raises(ReclassError) as error:
        Inventory(**options(repo, {"git_fetch_failure": "fail"}, privkey=str(key))).nodes()
    assert error.value.code == "git-timeout"


def test_https_with_a_password(https: Https, push: Push, options: Options, tmp_path: Path) -> None:
    repo = f"https://{LOGIN_IN_ADDRESS}@127.0.0.1:{https.port}/site"
    inventory = Inventory(**options(repo))
    assert value(inventory) == "first"
    push("second")
    assert value(inventory) == "second"
    uri = inventory.nodeinfo("n")["__reclass__"]["uri"]
    assert uri == f"git_fs://https://ada:***@127.0.0.1:{https.port}/site master nodes/n.yml"
    for file in (tmp_path / "cache").rglob("*"):
        if file.is_file():
            text = file.read_bytes()
            assert b"p@ss" not in text, file
            assert b"p%40ss" not in text, file


@pytest.mark.parametrize("login", ["", "ada@", "ada:wr0ng@"])
def test_https_with_a_wrong_password(https: Https, options: Options, login: str) -> None:
    with pytest.raises(ReclassError) as error:
        Inventory(**options(f"https://{login}127.0.0.1:{https.port}/site")).nodes()
    assert error.value.code == "git-access"
    assert "wr0ng" not in str(error.value)


def test_https_repository_that_does_not_exist(https: Https, options: Options) -> None:
    with pytest.raises(ReclassError, match="not found") as error:
        Inventory(**options(f"https://{LOGIN_IN_ADDRESS}@127.0.0.1:{https.port}/nowhere")).nodes()
    assert error.value.code == "git-fetch"


def test_https_server_that_is_not_trusted(
    https: Https, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_SSL_CAINFO")
    with pytest.raises(ReclassError, match="certificate") as error:
        Inventory(**options(f"https://{LOGIN_IN_ADDRESS}@127.0.0.1:{https.port}/site")).nodes()
    assert error.value.code == "git-access"


def test_nodes_and_classes_from_different_servers(
    ssh: Ssh, https: Https, key: Path, push: Push, options: Options
) -> None:
    given = options(f"ssh://git@127.0.0.1:{ssh.port}/site", privkey=str(key))
    given["classes_uri"]["repo"] = f"https://{LOGIN_IN_ADDRESS}@127.0.0.1:{https.port}/site"
    inventory = Inventory(**given)
    assert value(inventory) == "first"
    push("second")
    assert value(inventory) == "second"


def test_a_forked_child_fetches(https: Https, push: Push, options: Options) -> None:
    repo = f"https://{LOGIN_IN_ADDRESS}@127.0.0.1:{https.port}/site"
    assert value(Inventory(**options(repo))) == "first"
    push("second")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if value(Inventory(**options(repo))) == "second" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert value(Inventory(**options(repo))) == "second"


def test_a_decision_about_a_commit_is_logged_once(git_site: GitSite) -> None:
    nodes = {f"nodes/{name}": "classes: [c]\n" for name in ("n1", "n2")}
    git_site.commit({**nodes, "classes/c": "parameters: {a: 1}\n"})
    settings = git_site.settings
    inventory = Inventory(**settings, serve="tested")
    assert inventory.last_delivery() is None
    assert inventory.pillar("n1")["a"] == 1
    delivery = inventory.delivery() or {}
    assert (delivery["is_served"], delivery["held"], delivery["first"]) == (True, [], [])
    assert delivery["fetched"] == delivery["tested"] == delivery["served"]
    git_site.commit({"nodes/n1": "classes: [gone]\n", "classes/c": "parameters: {a: 2}\n"})
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("saltext.reclass").addHandler(handler)
    try:
        assert (inventory.pillar("n1")["a"], inventory.pillar("n2")["a"]) == (1, 2)
    finally:
        logging.getLogger("saltext.reclass").removeHandler(handler)
    [line] = lines
    assert "breaks 1 node, which keeps the one before: " in line
    [held] = (inventory.last_delivery() or {})["held"]
    assert held["nodes"] == ["n1"]
    assert "nodes/n1.yml:1:11" in held["problem"]
    assert _check._held(inventory, [])[0].startswith(
        "the newest revision is not served to 1 node (n1) that it breaks: "
    )
    assert inventory.end_trial(True) is None
    place: Any = SimpleNamespace(settings=lambda: {**settings, "serve": "tested"})
    with pytest.raises(RefusedError, match="no revision is on trial"):
        _functions_fleet.abort(place)
    git_site.commit({"nodes/n2": "classes: [lost]\n"})
    whole = Inventory(**settings, serve="whole")
    assert whole.pillar("n2")["a"] == 2
    head = git_site.git("rev-parse", "HEAD")
    problems = _check._held(whole, [])
    begin = f"revision {head[:8]} of master is served to none, and minions have "
    assert [problem.startswith(begin) for problem in problems] == [True, True]
    assert inventory.test_revisions() is True
