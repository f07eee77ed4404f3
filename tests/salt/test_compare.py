"""A master with Salt's own adapter and kapicorp-reclass is compared, switched, and compared again. Its
configuration stays as it is."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import salt.pillar.reclass_adapter
import salt.tops.reclass_adapter
from tests.salt.conftest import PROGRAMS

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite

ROOT = Path(__file__).parents[2]
OLD = next(ROOT.glob(".venv-oracle/lib/python3*/site-packages/reclass"), None)
# A name with dots has other parts in kapicorp-reclass: ruling S12.
FILES = {
    "nodes/app1.example.com": """
        classes: [common]
        parameters: {address: 10.0.0.3, secret: swordfish}
    """,
}
MINIONS = ["web1", "db1", "dev1", "app1.example.com"]


@pytest.mark.needs("kapicorp-reclass", OLD, "make .venv-oracle/.tools")
def test_a_master_is_compared_switched_and_compared_again(make_site: MakeSite, tmp_path: Path) -> None:
    assert OLD is not None
    # A file in this folder comes before the package of this project. Salt looks only below its own folder.
    options = {"reclass_source_path": str(OLD.parent), "secret_keys": ["secret"]}
    site = make_site(options, extension_modules="extensions")
    extensions = site.folder / "master" / "extensions"
    for kind, module in (("pillar", salt.pillar.reclass_adapter), ("tops", salt.tops.reclass_adapter)):
        (extensions / kind).mkdir(parents=True)
        shutil.copy(inspect.getsourcefile(module) or "", extensions / kind / "reclass_adapter.py")
    site.write(FILES)
    site.start_master()
    before = {minion: site.call(minion, "pillar.items").data for minion in MINIONS}
    assert before["web1"]["listen"] == "10.0.0.1:80"
    # Only the old program splits the name.
    assert before["app1.example.com"]["_reclass_"]["name"]["short"] == "com"

    answer = site.runner("reclass.compare")
    assert (answer.code, answer.data["retcode"]) == (1, 1), answer
    command = [PROGRAMS / "salt-run", "--config-dir", site.folder / "master", "reclass.compare"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 1, shown
    assert "4 of 4 nodes differ" in shown.stdout
    assert "Traceback" not in shown.stdout + shown.stderr
    assert (answer.data["touched"], answer.data["unexplained"], answer.data["nodes"]) == (4, 0, 4), answer
    causes = {
        cause["rulings"][0]["ruling"]: [change["path"] for change in cause["difference"]["changes"]]
        for cause in answer.data["causes"]
    }
    # Salt's own adapter hands dates over as objects.
    names = ["_reclass_:name:parts", "_reclass_:name:path", "_reclass_:name:short"]
    assert causes == {"S12": names, "Y4": ["released"]}
    assert answer.data["settings"] == {"compat_flags": ["ComposeNodeNameLiteralDots"]}
    assert "swordfish" not in answer.text
    # The same from a file, as people have it who do not run the package on the master yet.
    pillars = tmp_path / "pillars.json"
    pillars.write_text(json.dumps(before))
    program = [PROGRAMS / "reclass", "compare", "-b", site.inventory, f"pillars:{pillars}", "-o", "json"]
    compared = subprocess.run(program, capture_output=True, text=True, check=False)
    assert compared.returncode == 1, compared
    assert json.loads(compared.stdout)["settings"] == answer.data["settings"]

    # The switch: the same configuration, without Salt's own adapter in front.
    shutil.rmtree(extensions)
    site.stop()
    site.start_master()
    after = {minion: site.call(minion, "pillar.items").data for minion in MINIONS}
    for minion in MINIONS[:3]:
        assert before[minion]["released"] == "datetime.datetime(2001, 2, 3, 0, 0)"
        assert after[minion] == {**before[minion], "released": "2001-02-03"}
    assert after["app1.example.com"]["_reclass_"]["name"]["short"] == "app1"
    again = site.runner("reclass.compare")
    assert (again.code, again.data["touched"], again.data["causes"]) == (0, 0, []), again
    for minion in MINIONS:
        top = site.call(minion, "state.show_top").data
        assert "common" in str(top), top


def test_masked_pillars_are_refused(tmp_path: Path) -> None:
    pillars = tmp_path / "pillars.json"
    pillars.write_text(json.dumps({"web1": {"a": "**********", "b": {"c": ["**********"]}}}))
    program = [PROGRAMS / "reclass", "compare", "-b", ROOT / "examples/inventory", f"pillars:{pillars}"]
    compared = subprocess.run(program, capture_output=True, text=True, check=False)
    assert compared.returncode == 65, compared
    assert "unmask=True" in compared.stderr
