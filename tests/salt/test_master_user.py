"""A master that runs as another user: what root does beside it never stops it, and its files stay its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from saltext.reclass import _commit, _edits

from tests.salt.conftest import INVENTORY, PROGRAMS, STATES, Answer, Site, until
from tests.salt.test_master_git import PERSON, in_repository

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "nobody"
# The interpreter may be in a closed folder, such as the home of root. Here the others see it, too.
OPEN = """mount --bind "$1" /mnt && mount -t tmpfs -o mode=755 none "$0" &&
mkdir -p "$1" && mount --move /mnt "$1" && shift && exec "$@" """


def closed() -> Path | None:
    """The outermost folder of the interpreter that others cannot enter."""
    folders = [folder for folder in reversed(Path(sys.base_prefix).parents) if not folder.stat().st_mode & 1]
    return folders[0] if folders else None


def opened(*command: str) -> list[str]:
    if closed() is None:
        return list(command)
    return ["unshare", "--mount", "sh", "-c", OPEN, str(closed()), sys.base_prefix, *command]


def as_user(*command: str) -> list[str]:
    return ["setpriv", f"--reuid={USER}", f"--regid={pwd.getpwnam(USER).pw_gid}", "--clear-groups", *command]


def can_run() -> bool:
    command = opened(*as_user(sys.executable, "-c", "import saltext.reclass._engine"))
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_run(), reason="only root can become another user, who must be able to use this Python"
)


def git(folder: Path, *arguments: str) -> str:
    command = as_user("git", "-C", str(folder), *arguments)
    environment = {**os.environ, **PERSON, "HOME": "/"}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    own(folder)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


def own(path: Path) -> None:
    account = pwd.getpwnam(USER)
    subprocess.run(["chown", "-R", f"{account.pw_uid}:{account.pw_gid}", path], check=True)


def foreign(*folders: Path) -> list[str]:
    """What belongs to somebody else, but for files that Salt itself makes as root."""
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    return [str(path) for path in paths if path.lstat().st_uid != pwd.getpwnam(USER).pw_uid]


class UserSite(Site):
    """A master of another user. Commands are run by root, or by the user too."""

    def run(
        self, program: str, config: str, *arguments: str, timeout: int = 900, user: bool = False
    ) -> Answer:
        command = [str(PROGRAMS / program), "--config-dir", str(self.folder / config), "--out", "json"]
        command = [*command, "--log-level", "error", *arguments]
        done = subprocess.run(
            opened(*(as_user(*command) if user else command)),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "HOME": "/"} if user else None,
        )
        try:
            data = yaml.safe_load(done.stdout)
        except yaml.YAMLError:
            data = None
        return Answer(done.returncode, data, done.stdout, done.stderr)

    def each(self, *arguments: str, code: int = 0) -> Any:
        """The answers of a runner to root and to the user, which are equal."""
        first, second = (self.run("salt-run", "master", *arguments, user=user) for user in (False, True))
        assert (first.code, second.code) == (code, code), f"{first}\n{second}"
        return first.data, second.data


@pytest.fixture
def site() -> Iterator[UserSite]:
    # The folders of pytest are closed to others.
    folder = Path(tempfile.mkdtemp(prefix="s"))
    folder.chmod(0o755)
    site = UserSite(folder, {"secret_keys": ["secret"]}, {"user": USER})
    yield site
    site.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def started(site: UserSite, monkeypatch: pytest.MonkeyPatch) -> UserSite:
    """A master that tests what it fetches from a repository of its user, and the minion `web1`."""
    folder = site.folder
    site.options = in_repository(serve="tested", canary={"match": "web1"}, secret_keys=["secret"])
    site.options["metrics_file"] = str(folder / "prom/reclass.prom")
    site.master_options |= {
        "engines": [{"reclass": {"interval": 0.5, "settle": 0.1}}],
        "worker_threads": 5,
        "pillar_cache": True,
    }
    site.write(STATES, "states", ".sls")
    # As a package makes them; root makes no folder for the master.
    for name in ("etc/salt/pki/master", "var/cache/salt/master", "var/run/salt/master", "var/log/salt"):
        (folder / "master" / name).mkdir(parents=True)
    for name in ("served.git", "cache", "lock", "prom", "master"):
        (folder / name).mkdir(exist_ok=True)
        own(folder / name)
    for name in ("cache", "lock"):
        (folder / name).chmod(0o700)
    git(folder / "served.git", "init", "-q", "-b", "master")
    git(folder / "served.git", "config", "receive.denyCurrentBranch", "ignore")
    commit(folder / "served.git", INVENTORY)
    site.configure_master()
    # Root is the first one who uses the caches.
    assert site.runner("reclass.check").data["problems"] == []
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **more: popen(opened(*map(str, command)), **more)
    )
    site.start_master()
    site.start_minion("web1")
    monkeypatch.undo()
    return site


def processes(site: Site, kind: str) -> list[int]:
    """The processes of the master with this word in their names."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    lines = [line for line in listed.splitlines() if str(site.folder / "master") in line and kind in line]
    return [int(line.split()[0]) for line in lines]


def test_root_and_the_user_of_the_master_share_all_it_keeps(started: UserSite) -> None:
    folder = started.folder
    common = {"classes/common": "applications: [common]\nparameters: {text: changed}\n"}

    def on_trial() -> Any:
        lines = [line for line in started.log("master").splitlines() if "on trial with 1 node" in line]
        return len(lines)

    commit(folder / "served.git", common)
    # Who tests it is killed; another process tests it again.
    time.sleep(1)
    for process in [*processes(started, "Engine")[:1], *processes(started, "RequestServer")[-1:]]:
        os.kill(process, signal.SIGKILL)
    until(on_trial)
    assert started.runner("reclass.promote").data["served"] == "all"
    # The pillar that the master has cached is the old one.
    assert [answer["names"] for answer in started.each("reclass.drift", code=1)] == [["web1"]] * 2
    refreshed = started.run("salt-run", "master", "reclass.refresh", user=True)
    assert refreshed.data["minions"]["web1"] == "refreshed", refreshed
    assert started.salt("web1", "pillar.items").data["web1"]["text"] == "changed"
    stats = started.run("salt-run", "master", "reclass.stats", user=True).data
    assert stats["answers"]["pillar"]["computed"] >= 2
    assert stats["inventories"][0]["drift_minions"] == 1
    kept = ["cache", "lock", "prom", "master/var/cache/salt/master/reclass"]
    assert foreign(*[folder / name for name in kept]) == []
    assert (folder / "prom/reclass.prom").exists()


def test_root_edits_and_commits_in_a_repository_of_the_user(site: UserSite) -> None:
    site.inventory.mkdir()
    own(site.inventory)
    git(site.inventory, "init", "-q", "-b", "main")
    commit(site.inventory, INVENTORY)
    site.configure_minion("web1", reclass={"inventory_base_uri": str(site.inventory)})
    node = site.inventory / "nodes/web1.yml"
    node.chmod(0o640)
    edited = site.call("web1", "--local", "reclass.node_update", "web1", "parameters={x: 1}", "commit=True")
    assert edited.code == 0, edited
    with _commit.asked(True, branch="edits"):
        _edits.create_node({"inventory_base_uri": str(site.inventory)}, "new1")
    assert node.stat().st_mode & 0o777 == 0o640
    assert git(site.inventory, "show", "--name-only", "--format=") == "nodes/web1.yml"
    assert git(site.inventory, "diff", "--name-only", "main", "edits") == "nodes/new1.yml"
    assert foreign(site.inventory) == []
    commit(site.inventory, {"nodes/dev1": "classes: []\n"})


def test_root_leaves_nothing_that_stops_the_user(site: UserSite) -> None:
    from saltext.reclass._engine import Inventory

    (site.folder / "of_user").mkdir()
    own(site.folder / "of_user")
    caches = {"cache_dir": "../of_user/cache", "lock_dir": "../of_user/lock"}
    options = in_repository("/nowhere.git", inventory_base_uri=str(site.inventory))
    trees = {name: {**options[name], **caches} for name in ("nodes_uri", "classes_uri")}
    with pytest.raises(Exception, match=f"run this as user '{USER}'"):
        Inventory(**{**options, **trees}).nodes()
    # As in `salt-ssh`, which root runs with the options of the master.
    metrics = "import sys; from saltext.reclass import _metrics; " + (
        "_metrics.counted('pillar', {'cachedir': sys.argv[1]}, lambda: None)"
    )
    subprocess.run([sys.executable, "-c", metrics, str(site.folder / "of_user")], check=True)
    assert list((site.folder / "of_user").iterdir()) == []
