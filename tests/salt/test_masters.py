"""Two real masters of one repository: their metrics raise the alert of the example, until both are pinned."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.salt.conftest import INVENTORY, ROOT, Site, until
from tests.salt.test_master_git import git, in_repository, make_repository, push

if TYPE_CHECKING:
    from pathlib import Path

    from tests.salt.conftest import MakeSite

ALERT = "ReclassMastersDiffer"


def revision(site: Site) -> str:
    """What the metrics of a master name as served, as Prometheus gets it."""
    text = (site.folder / "reclass.prom").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("reclass_revision_info{")]
    return line.removesuffix("} 1")


def alerts(folder: Path, *sites: Site) -> list[str]:
    """The masters that the rules of the example name, if all stay as they are."""
    names = [str(site.master_options["id"]) for site in sites]
    series = [
        {"series": f'{revision(site)},instance="{name}"}}', "values": "1x5"}
        for site, name in zip(sites, names, strict=True)
    ]
    expected = [{"eval_time": "5m", "alertname": ALERT, "exp_alerts": []}]
    given = {"interval": "1m", "input_series": series, "alert_rule_test": expected}
    rules = str(ROOT / "examples/monitoring/reclass.rules.yml")
    (folder / "test.yml").write_text(yaml.safe_dump({"rule_files": [rules], "tests": [given]}))
    done = subprocess.run(
        ["promtool", "test", "rules", folder / "test.yml"], capture_output=True, text=True, check=False
    )
    found = [name for name in names if f'instance="{name}"' in done.stdout + done.stderr]
    assert (done.returncode != 0) == bool(found), done
    return found


@pytest.mark.needs("promtool", bool(shutil.which("promtool")), "install the package prometheus of Debian")
def test_masters_that_serve_different_commits(make_site: MakeSite, tmp_path: Path) -> None:
    one, other = sites = [make_site(id=name) for name in ("m1", "m2")]
    served = make_repository(one)
    push(one, INVENTORY)
    git(one.folder / "clone", "tag", "v1")
    git(one.folder / "clone", "push", "-q", "origin", "v1")
    for site in sites:
        site.options |= in_repository(str(served), metrics_file=str(site.folder / "reclass.prom"))
        site.master_options["engines"] = [{"reclass": {"interval": 0.5, "settle": 0.5}}]
        site.restart_master()
        until((site.folder / "reclass.prom").exists)
    first = revision(one)
    assert first.endswith(' of master"')
    assert revision(other) == first
    assert alerts(tmp_path, *sites) == []

    # One is pinned to the tag, and the other goes on.
    other.restart_master(git_revision="v1")
    push(one, {"classes/common": "applications: [common]\nparameters: {text: second}\n"})
    until(lambda: revision(one) != first and revision(other) != first)
    pinned = first.replace(" of master", " of v1")
    assert revision(other) == pinned
    assert alerts(tmp_path, *sites) == ["m1", "m2"]

    # Both are pinned, and stay at the tag.
    one.restart_master(git_revision="v1")
    until(lambda: revision(one) == pinned)
    push(one, {"classes/common": "applications: [common]\nparameters: {text: third}\n"})
    assert alerts(tmp_path, *sites) == []
    assert other.runner("reclass.node_pillar", "web1").data["web1"]["text"] == "hello"
