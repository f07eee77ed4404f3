"""What an administrator sees of a setup: at the start of a master, by `reclass.check`, and of a pillar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import salt.version

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite, Site


def logged(site: Site, text: str) -> bool:
    end = time.monotonic() + 60
    while text not in site.log("master"):
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def test_options_that_cannot_work_are_logged_when_the_master_starts(make_site: MakeSite) -> None:
    site = make_site({"nodes_uri": "gone"})
    site.start_master()
    gone = f"'{site.inventory}/gone' is not there"
    assert logged(site, f"the options of reclass in ext_pillar and master_tops cannot work: {gone}")
    # Minions get an error, as they do without the check at the start.
    [error] = site.call("web1", "pillar.items").data["_errors"]
    assert "directory-not-found" in error

    answer = site.runner("reclass.check")
    assert answer.code == 1, answer
    assert gone in answer.data["problems"][0]


def test_a_master_that_is_well(site: Site) -> None:
    answer = site.runner("reclass.check")
    assert answer.code == 0, answer
    assert answer.data["problems"] == []
    assert answer.data["inventories"][0]["node_count"] == 3
    assert "cannot work" not in site.log("master")
    versions = site.runner("reclass.versions").data
    assert versions == answer.data["versions"]
    assert versions["package"] == versions["engine"]
    assert versions["master"]["process"] == site.daemons["master"].pid


def test_salt_masks_a_pillar_on_the_screen(make_site: MakeSite) -> None:
    site = make_site()
    reclass = {"inventory_base_uri": str(site.inventory)}
    local = {"file_client": "local", "ext_pillar": [{"reclass": reclass}]}
    site.configure_minion("web1", pillar_mask_output=True, **local)
    masks = salt.version.__saltstack_version__.major >= 3008
    shown = site.call("web1", "--local", "pillar.items").data
    assert shown["text"] == ("**********" if masks else "hello")
    if masks:
        # The older ones do not know the argument.
        assert site.call("web1", "--local", "pillar.items", "unmask=True").data["text"] == "hello"
    assert site.call("web1", "--local", "reclass.node_pillar", "web1").data["web1"]["text"] == "hello"
