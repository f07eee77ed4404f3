"""Grains through a real Salt: those of the authenticated minion count, and a forging minion gets no class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import salt.version

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite, Site

OPTIONS = {"grains": ["os_name", "roles"], "trusted_grains": {"tier": ["web", "1"]}}
FILES = {
    "nodes/web1": """
        classes: [common, 'tier.${_grains_:tier::web}']
        parameters:
          seen: ${_grains_:os_name::none}
          roles: ${_grains_:roles::none}
          id: ${_grains_:id}
    """,
    "nodes/forger1": """
        classes: [common, 'tier.${_grains_:tier::web}']
        parameters: {id: '${_grains_:id}'}
    """,
    "nodes/naive1": "classes: [common, 'tier.${_grains_:roles:0}']",
    "classes/tier/web": "applications: [web]\nparameters: {listen: here}",
    "classes/tier/secret": "parameters: {listen: hunter2}",
}
# What a minion can write into its grains to reach another class, or the files beside it.
FORGED = ["secret", "../tier/secret", "${secret}", ["web"], {"web": "web"}, 1, True]


@pytest.fixture(scope="module")
def grains_site(make_site: MakeSite) -> Site:
    site = make_site(OPTIONS)
    site.write(FILES)
    site.start_master()
    return site


def grains_of(site: Site, minion: str, grains: dict[str, object]) -> None:
    site.configure_minion(minion, grains=grains)


def test_the_grains_of_a_request_count(grains_site: Site) -> None:
    site = grains_site
    grains_of(site, "web1", {"os_name": "${x}", "roles": ["a", "b"], "tier": "web", "id": "db1"})
    pillar = site.call("web1", "pillar.items").data
    assert (pillar["seen"], pillar["roles"], pillar["id"]) == ("${x}", ["a", "b"], "web1")
    assert pillar["listen"] == "here"
    assert "_grains_" not in pillar
    assert site.call("web1", "state.show_top").data == {"base": ["common", "web"]}
    # The next request has other grains, and an absent one is a missing reference.
    grains_of(site, "web1", {"os_name": "other"})
    pillar = site.call("web1", "pillar.items").data
    assert (pillar["seen"], pillar["roles"], pillar["listen"]) == ("other", "none", "here")


def test_a_forging_minion_gets_no_class(grains_site: Site) -> None:
    site = grains_site
    for tier in FORGED:
        grains_of(site, "forger1", {"tier": tier, "id": "web1"})
        answer = site.call("forger1", "pillar.items")
        assert "hunter2" not in answer.text, answer
        assert "the value of the grain 'tier' is not permitted" in answer.text, answer
        top = site.call("forger1", "state.show_top")
        assert top.code != 0, top
        assert "(grain-refused)" in top.errors, top
    grains_of(site, "naive1", {"roles": ["secret"]})
    answer = site.call("naive1", "pillar.items")
    assert "depends on the grain 'roles', which is not trusted" in answer.text.replace("\\n", " "), answer
    assert "hunter2" not in answer.text


def test_the_runner_uses_the_cached_grains(grains_site: Site) -> None:
    site = grains_site
    grains_of(site, "web1", {"os_name": "cached", "tier": "web"})
    site.call("web1", "pillar.items")
    assert site.runner("reclass.show_pillar", "web1").data["seen"] == "cached"
    assert site.runner("reclass.show_top", "web1").data == {"base": ["common", "web"]}
    explained = site.runner("reclass.explain", "web1", "seen")
    assert "known grains of the minion" in explained.text, explained
    # This minion has never asked: nothing is guessed.
    site.write({"nodes/new1": "parameters: {seen: '${_grains_:os_name::none}'}"})
    answer = site.runner("reclass.show_pillar", "new1")
    assert answer.code != 0, answer
    assert "the grain 'os_name' is needed" in answer.text + answer.errors


def test_masterless(make_site: MakeSite) -> None:
    site = make_site(OPTIONS)
    site.write(FILES)
    reclass = {"inventory_base_uri": str(site.inventory), **OPTIONS}
    site.configure_minion(
        "web1",
        file_client="local",
        ext_pillar=[{"reclass": reclass}],
        master_tops={"reclass": reclass},
        file_roots={"base": [str(site.folder / "states" / "base")]},
        grains={"os_name": "own", "tier": "web"},
    )
    assert site.call("web1", "pillar.items").data["seen"] == "own"
    if salt.version.__saltstack_version__.major >= 3007:
        # Before, Salt asked no module for the tops of a minion without a master.
        assert site.call("web1", "state.show_top").data == {"base": ["common", "web"]}
    assert site.call("web1", "reclass.node_pillar", "web1").data["web1"]["seen"] == "own"
