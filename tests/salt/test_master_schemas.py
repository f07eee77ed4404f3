"""Schemas of parameters through a real Salt: each policy for a pillar that breaks one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.salt.conftest import MakeSite

SCHEMA = """
    type: object
    properties:
      workers: {type: integer}
      password: {type: string, minLength: 20}
      threads: {deprecated: true, description: set workers}
"""
FILES = {
    "nodes/good1": "classes: [common]\nparameters: {nginx: {workers: 4}}",
    "nodes/bad1": "classes: [common]\nparameters: {nginx: {workers: many, password: hunter2}}",
    "nodes/old1": "classes: [common]\nparameters: {nginx: {threads: 4}}",
}
WRONG = "'nginx:workers' must be an integer, not a string"


@pytest.mark.parametrize("policy", ["off", "warn", "error"])
def test_a_pillar_that_breaks_a_schema(make_site: MakeSite, policy: str) -> None:
    site = make_site({"schema_check": policy})
    site.write(FILES)
    site.write({"schemas/nginx": SCHEMA}, suffix=".yaml")
    site.start_master()
    good, bad, old = (site.call(name, "pillar.items") for name in ("good1", "bad1", "old1"))
    again = site.call("bad1", "pillar.items")
    log = site.log("master")
    assert good.data["nginx"] == {"workers": 4}
    # What is deprecated is no error.
    assert old.data["nginx"] == {"threads": 4}
    assert ("'nginx:threads' is deprecated: set workers" in log) == (policy != "off")
    if policy == "error":
        # Nothing of the pillar, the place, and no value.
        for answer in (bad, again):
            assert "nginx" not in answer.data
            assert "text" not in answer.data
            assert "nodes/bad1.yml:2:31: node 'bad1': " + WRONG in answer.text.replace("\\n", "\n"), answer
            assert f"the schema says so at {site.inventory}/schemas/nginx.yaml:4:13" in answer.text, answer
            assert "'nginx:password' must have at least 20 characters" in answer.text, answer
            assert "hunter2" not in answer.text
            assert "many" not in answer.text
        assert site.call("bad1", "state.apply", "test=True").code != 0
    else:
        assert bad.data["nginx"] == again.data["nginx"] == {"workers": "many", "password": "hunter2"}
        assert bad.data["text"] == "hello"
        # In the file and in the output, once in each of the three workers that answered.
        assert (0 < log.count(WRONG) <= 6) == (policy == "warn"), log
    assert "hunter2" not in log

    # The runner says it with each policy, and fails.
    checked = site.runner("reclass.validate_pillar")
    assert checked.code != 0
    assert f"bad1: reclass: {site.inventory}/nodes/bad1.yml:2:31: node 'bad1': {WRONG}" in (
        checked.text + checked.errors
    ).replace("\\n", "\n")
    assert site.runner("reclass.validate_pillar", "good1").data == {"good1": ""}

    # A repaired file counts at once; a broken schema is an error for the nodes that have the parameter.
    site.write({"nodes/bad1": FILES["nodes/good1"]})
    assert site.call("bad1", "pillar.items").data["nginx"] == {"workers": 4}
    site.write({"schemas/nginx": "type: objekt"}, suffix=".yaml")
    broken = site.call("good1", "pillar.items")
    assert ("(schema-invalid)" in broken.text) == (policy == "error"), broken
