"""The questions of the Python API: explain, lint, diff and the listings return what the commands print."""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from saltext.reclass import Inventory, ReclassError

Write = Callable[[dict[str, str]], Path]

SITE = {
    "nodes/web1": """
        classes: [role.web]
        parameters:
          address: 10.0.0.1
          db:
            password: hunter22
    """,
    "nodes/db1": """
        applications: [postgresql]
    """,
    "classes/role/web": """
        applications: [nginx]
        parameters:
          address: 127.0.0.1
          listen: ${address}:80
          url: pg://${db:password}@db
    """,
}


@pytest.fixture
def folder(write: Write) -> Path:
    return write(SITE)


@pytest.fixture
def site(folder: Path) -> Inventory:
    return Inventory(inventory_base_uri=str(folder))


def test_explain_says_where_a_value_comes_from(site: Inventory, folder: Path) -> None:
    explanation = site.explain("web1", "listen")
    assert explanation["node"] == "web1"
    (trace,) = explanation["parameters"]
    assert (trace["path"], trace["value"]) == ("listen", "10.0.0.1:80")
    place = {"file": f"{folder}/classes/role/web.yml", "line": 5, "column": 11}
    assert trace["place"]["site"] == place
    assert trace["place"]["layer"] == "class 'role.web'"
    assert [link["class"] for link in trace["place"]["chain"]] == ["role.web"]
    (reference,) = trace["steps"][0]["references"]
    assert (reference["written"], reference["path"], reference["value"]) == (
        "${address}",
        "address",
        "10.0.0.1",
    )
    effects = [(step["effect"], step["counts"]) for step in reference["story"]["steps"]]
    assert effects == [("sets", False), ("replaces", True)]


def test_explain_covers_classes_applications_and_everything(site: Inventory) -> None:
    explanation = site.explain("web1", classes=["role.*"], applications=["nginx"])
    assert [trace["name"] for trace in explanation["classes"]] == ["role.web"]
    assert explanation["applications"][0]["steps"][0]["effect"] == "adds"
    assert explanation["parameters"] == []
    everything = site.explain("web1")
    assert everything["environment"]["from"] == "default_environment"
    assert "listen" in [part["path"] for part in everything["parameters"][0]["parts"]]


def test_plain_answers_hold_what_json_has(site: Inventory, folder: Path) -> None:
    (folder / "nodes" / "dated.yml").write_text("parameters: {day: 2001-02-03, file: !!binary aGVsbG8=}\n")
    typed = site.explain("dated", "day", "file")["parameters"]
    assert [trace["value"] for trace in typed] == [date(2001, 2, 3), b"hello"]
    plain = site.explain("dated", "day", "file", plain=True)["parameters"]
    assert [trace["value"] for trace in plain] == ["2001-02-03", "aGVsbG8="]
    assert json.loads(json.dumps(plain)) == plain


def test_what_is_not_there_cannot_be_explained(site: Inventory) -> None:
    with pytest.raises(ReclassError, match="'listen' is similar") as caught:
        site.explain("web1", "lisen")
    assert caught.value.code == "nothing-to-explain"


def test_secrets_are_masked_unless_asked_for(site: Inventory) -> None:
    assert "hunter22" not in str(site.explain("web1", "**"))
    assert site.explain("web1", "url")["parameters"][0]["value"] == "***"
    assert site.explain("web1", "url", show_secrets=True)["parameters"][0]["value"] == "pg://hunter22@db"
    assert "hunter22" not in str(site.params())
    assert "hunter22" in str(site.params(show_secrets=True))


def test_lint_returns_findings(site: Inventory) -> None:
    findings = site.lint()
    assert [(finding["code"], finding["level"]) for finding in findings] == [("secret-plain", "warning")]
    assert "hunter22" not in str(findings)


def test_diff_compares_with_a_revision_and_a_folder(site: Inventory, folder: Path, tmp_path: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    assert site.diff("HEAD")["changes"] == []
    node = folder / "nodes/web1.yml"
    node.write_text(node.read_text().replace("10.0.0.1", "10.0.0.2"))
    difference = site.diff("HEAD")
    assert [(c["path"], c["old"], c["new"], c["nodes"]) for c in difference["changes"]] == [
        ("address", "10.0.0.1", "10.0.0.2", ["web1"]),
        ("listen", "10.0.0.1:80", "10.0.0.2:80", ["web1"]),
    ]
    assert difference["changes"][0]["old_place"]["site"]["file"] == "HEAD:nodes/web1.yml"
    assert site.diff(str(folder), ".")["touched"] == 0
    with pytest.raises(ReclassError) as caught:
        site.diff("no-such-revision")
    assert caught.value.code == "revision"


def test_listings(site: Inventory) -> None:
    assert site.nodes("web*") == ["web1"]
    assert site.nodes(classes=["role.web"]) == ["web1"]
    assert site.nodes(applications=["postgresql"]) == ["db1"]
    assert site.nodes(files=["classes/role/web.yml"], parameters=["db:*"]) == ["web1"]
    assert [(row["name"], row["nodes"]) for row in site.classes()] == [("role.web", ["web1"])]
    assert [row["name"] for row in site.applications()] == ["nginx", "postgresql"]
    assert [(row["path"], len(row["places"])) for row in site.params("address")] == [("address", 2)]
    assert [(row["reference"], row["bearing"]) for row in site.refs("db:**")] == [("${db:password}", "exact")]


@pytest.fixture
def log() -> Iterator[list[logging.LogRecord]]:
    records: list[logging.LogRecord] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler = Handler(logging.WARNING)
    logging.getLogger("saltext.reclass").addHandler(handler)
    yield records
    logging.getLogger("saltext.reclass").removeHandler(handler)


def test_a_name_that_several_files_have_takes_no_other_name_away(
    write: Write, log: list[logging.LogRecord]
) -> None:
    base = str(write({**SITE, "nodes/a/twice": "{}", "nodes/b/twice": "classes: [role.web]"}))
    site = Inventory(inventory_base_uri=base)
    asked: list[Callable[[], object]] = [
        site.nodes,
        lambda: site.nodes("*"),
        lambda: [node for row in site.classes() for node in row["nodes"]],
    ]
    for question, expected in zip(
        asked, [["db1", "twice", "web1"], ["db1", "twice", "web1"], ["web1"]], strict=True
    ):
        log.clear()
        assert question() == expected
        (record,) = log
        assert record.levelno == logging.WARNING
        assert "node 'twice' is defined twice" in record.getMessage()
    assert site.nodeinfo("web1")["classes"] == ["role.web"]
    for failing in (lambda: site.nodeinfo("twice"), site.inventory):
        with pytest.raises(ReclassError) as raised:
            failing()
        assert raised.value.code == "duplicate-definition"
