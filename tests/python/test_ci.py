"""The action of GitHub and the component of GitLab: their steps run on a repository made for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACTION = ROOT / ".github/actions/reclass/action.yml"
COMPONENT = ROOT / "examples/ci/gitlab.yml"
WHEELS = [*(ROOT / "dist").glob("*.whl"), *(ROOT / "build/quick").glob("*.whl")]


class Comments(BaseHTTPRequestHandler):
    """The part of both interfaces that a review needs."""

    kept: list[dict[str, Any]]
    calls: list[str]

    def answer(self, data: Any) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(data).encode())

    def do_GET(self) -> None:
        if self.path.startswith("/forbidden"):
            self.send_error(403)
        else:
            self.answer(self.kept if self.path.endswith("page=1") else [])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        self.calls.append(f"{self.command} {self.path}")
        if self.command == "POST":
            self.kept.append({"id": len(self.kept) + 1, "body": body})
        else:
            self.kept[int(self.path.rpartition("/")[2]) - 1]["body"] = body
        self.answer({})

    do_PATCH = do_PUT = do_POST

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[Comments]]]:
    class Fresh(Comments):
        kept = [{"id": 1, "body": "of a person"}]  # noqa: RUF012
        calls = []  # noqa: RUF012

    http = HTTPServer(("127.0.0.1", 0), Fresh)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}", Fresh
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    base = tmp_path / "inventory"
    shutil.copytree(ROOT / "examples/inventory", base)
    (base / "reclass-config.yml").write_text("inventory_base_uri: .\nsecret_keys: ['*password*']\n")
    git(base, "init", "-q")
    return commit(base, {})


def git(base: Path, *arguments: str) -> None:
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(base), *person, *arguments], env=environment, check=True)


def commit(base: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (base / name).write_text(text)
    git(base, "add", "-A")
    git(base, "commit", "-qm", "a change", "--allow-empty")
    return base


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a runner, after the first step of the action."""
    if not WHEELS:
        pytest.skip("needs a wheel: make build")
    folder = tmp_path_factory.mktemp("runner")
    done = step("Install", folder, folder, {"PACKAGE": str(WHEELS[0])})
    assert done.returncode == 0, done.stderr
    return folder


def step(
    name: str, runner: Path, folder: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """A step of the action, as a runner runs it."""
    [found] = [one for one in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if one["name"] == name]
    assert set(found["env"]) <= set(variables), "a variable of the step has no value here"
    return run(found["run"], runner, folder, variables)


def run(
    script: str, runner: Path, folder: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    known = {
        "PATH": os.environ["PATH"],
        "HOME": str(runner),
        "RUNNER_TEMP": str(runner),
        "GITHUB_STEP_SUMMARY": str(runner / "summary"),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env={**known, **variables}, capture_output=True, text=True, check=False
    )


def compare(
    installed: Path, repository: Path, address: str, config: str = "reclass-config.yml"
) -> subprocess.CompletedProcess[str]:
    (installed / "summary").unlink(missing_ok=True)
    variables = {"CONFIG": config, "OLD": "HEAD^1", "GITHUB_TOKEN": "t", "PULL_REQUEST": "7"}
    variables |= {"GITHUB_API_URL": address, "GITHUB_REPOSITORY": "ada/site"}
    return step("Compare", installed, repository, variables)


def test_a_pull_request_gets_one_comment_that_is_updated(
    installed: Path, repository: Path, server: tuple[str, type[Comments]]
) -> None:
    address, comments = server
    node = (repository / "nodes/web1.example.com.yml").read_text()
    commit(repository, {"nodes/web1.example.com.yml": node.replace("workers: 4", "workers: 8")})
    config = {"CONFIG": "reclass-config.yml"}
    assert step("Lint", installed, repository, config).returncode == 0
    done = compare(installed, repository, address)
    assert done.returncode == 0, done.stderr
    [person, ours] = comments.kept
    assert person["body"] == "of a person"
    assert "**1 of 4 nodes differs, 0 break.**" in ours["body"]
    assert "<details><summary>web1.example.com: 1 change</summary>" in ours["body"]
    assert "parameters nginx:workers" in ours["body"]
    assert comments.calls == ["POST /repos/ada/site/issues/7/comments"]
    assert (installed / "summary").read_text().strip() == ours["body"].strip()

    broken = "classes: [role.wbe]\nparameters: {db_password: hunter2}\n"
    commit(repository, {"nodes/web2.example.com.yml": broken, "nodes/new.example.com.yml": broken})
    done = step("Lint", installed, repository, config)
    assert done.returncode == 1
    assert "::error file=nodes/web2.example.com.yml,line=1,col=11,title=class-not-found::" in done.stdout
    done = compare(installed, repository, address)
    assert done.returncode == 1, done.stderr
    [_, ours] = comments.kept
    assert "**2 of 5 nodes differ, 2 break.**" in ours["body"]
    assert "`new.example.com` breaks:" in ours["body"]
    assert "`web2.example.com` breaks:" in ours["body"]
    assert comments.calls[1:] == ["PATCH /repos/ada/site/issues/comments/2"]
    assert "hunter2" not in ours["body"]


def test_a_comment_is_masked_and_bounded(
    installed: Path, repository: Path, server: tuple[str, type[Comments]]
) -> None:
    address, comments = server
    many = "".join(f"  key{number}: {'x' * 40}\n" for number in range(2000))
    fence = "  text: '```'\n  db_password: hunter2\n"
    commit(repository, {"nodes/big.example.com.yml": f"parameters:\n{fence}"})
    longer = fence.replace("`", "````").replace("hunter2", "hunter3")
    commit(repository, {"nodes/big.example.com.yml": f"parameters:\n{longer}"})
    assert compare(installed, repository, address).returncode == 0
    body = comments.kept[1]["body"]
    assert "db_password" in body
    assert "hunter" not in body
    assert body.count("\n" + "`" * 13 + "\n") == 2
    commit(repository, {"nodes/big.example.com.yml": f"parameters:\n{longer}{many}"})
    assert compare(installed, repository, address).returncode == 0
    body = comments.kept[1]["body"]
    assert len(body) < 65_536
    assert "Too long; this shows all: `reclass diff HEAD^1 HEAD`" in body
    # The token of a fork may only read.
    done = compare(installed, repository, f"{address}/forbidden")
    assert done.returncode == 0, done.stderr
    assert "the comment is not written: HTTP Error 403" in done.stderr
    assert "### reclass" in (installed / "summary").read_text()
    assert compare(installed, repository, address, config="gone.yml").returncode not in (0, 1)


def test_the_component_of_gitlab(
    installed: Path, repository: Path, server: tuple[str, type[Comments]]
) -> None:
    address, comments = server
    commit(repository, {"nodes/web2.example.com.yml": "classes: [role.wbe]\n"})
    head, text = COMPONENT.read_text().split("\n---\n")
    inputs = yaml.safe_load(head.partition("\n")[2])["spec"]["inputs"]
    for name, about in inputs.items():
        text = text.replace(f"$[[ inputs.{name} ]]", str(about["default"]))
    assert "$[[" not in text
    job = yaml.safe_load(text)["reclass"]
    variables = {name: str(value) for name, value in job["variables"].items()}
    variables |= {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "HEAD~1", "CI_MERGE_REQUEST_IID": "7"}
    variables |= {"GITLAB_TOKEN": "t", "CI_API_V4_URL": address, "CI_PROJECT_ID": "3"}
    for expected in ("POST /projects/3/merge_requests/7/notes", "PUT /projects/3/merge_requests/7/notes/2"):
        # Where `pip` of the first lines installs it.
        script = [f'PATH="{installed}/reclass/bin:$PATH"', *job["script"]]
        done = run("\n".join(script), installed, repository, variables)
        assert done.returncode == 1, done.stderr
        assert comments.calls[-1] == expected
    assert "`web2.example.com` breaks:" in comments.kept[1]["body"]
