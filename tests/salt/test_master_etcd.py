"""Soft metadata in a real etcd through a real Salt: a write by the runner, and a server that dies."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.python import etcd_server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.salt.conftest import MakeSite

FILES = {
    "nodes/etcd1": "classes: [cluster.prague.overrides]\nparameters: {address: '${_param:address}'}",
    "classes/cluster/prague/overrides": "parameters: {_param: {address: 10.0.0.1}}",
}


@etcd_server.NEEDED
def test_the_runner_writes_and_no_pillar_is_without_its_data(make_site: MakeSite, tmp_path: Path) -> None:
    with contextlib.ExitStack() as programs:
        endpoint = programs.enter_context(etcd_server.running(tmp_path / "etcd"))
        options = {"etcd_endpoints": [endpoint], "etcd_interval": 0, "etcd_timeout": 2}
        site = make_site({**options, "etcd_cache_dir": str(tmp_path / "record")})
        site.write(FILES)
        site.start_master()
        assert site.call("etcd1", "pillar.items").data["address"] == "10.0.0.1"

        write = ("reclass.set_cluster_param", "address", "10.0.0.2", "cluster=prague", "store=etcd")
        tested = site.runner(*write, "test=True").data
        assert "changed" in tested, tested
        assert (tested["changed"], tested["new"]) == (True, "10.0.0.2")
        assert site.call("etcd1", "pillar.items").data["address"] == "10.0.0.1"
        done = site.runner(*write)
        key = "/reclass/classes/cluster.prague.overrides/_param/address"
        assert done.data["file"] == f"etcd {key}", done
        assert etcd_server.ctl(endpoint, "get", "--print-value-only", key).strip() == "10.0.0.2"
        assert site.call("etcd1", "pillar.items").data["address"] == "10.0.0.2"
        explained = site.runner("reclass.explain", "etcd1", "address")
        assert f"etcd {key} revision" in explained.text, explained

        programs.pop_all().close()
        assert site.call("etcd1", "pillar.items").data["address"] == "10.0.0.2"
        assert f"etcd at '{endpoint}' is served as it was fetched last: " in site.log("master")
        # `etcd_failure: serve` is no reason to be well.
        answer = site.runner("reclass.check")
        assert answer.code == 1, answer
        assert answer.data["problems"][0].startswith(f"etcd at '{endpoint}' is served as it was fetched last")
    # Of two parts of a request, none is answered without the data.
    for record in (tmp_path / "record").iterdir():
        record.unlink()
    answer = site.call("etcd1", "pillar.items")
    assert "cannot use etcd at" in answer.text, answer
    assert "10.0.0" not in answer.text.replace("127.0.0", ""), answer
    top = site.call("etcd1", "state.show_top")
    assert top.code != 0, top
