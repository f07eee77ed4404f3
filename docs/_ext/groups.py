"""The sections of long pages in groups, sorted by name.

`docs/errors.md` and `docs/settings.md` are written from the tables of the engine, in their order. The tables
keep together what belongs together, so a group is named by its first section. A section that is new is in the
group of the one before it.
"""

import re

from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)

# By page: the heading of a section, and by the first section of each part the group that it belongs to.
GROUPS = {
    "errors": (
        "##",
        {
            "unknown-setting": "Settings",
            "storage-unsupported": "Files and folders",
            "git-program": "Git",
            "etcd-unreachable": "etcd",
            "yaml-syntax": "YAML and the sections of a file",
            "class-name-invalid": "Classes",
            "unknown-section": "YAML and the sections of a file",
            "reference-syntax": "References",
            "query-syntax": "Inventory queries",
            "class-not-found": "Classes",
            "reference-not-found": "References",
            "merge-type": "Merging",
            "grains-set": "Grains and the earlier pillar",
            "default-syntax": "References",
            "query-embedded": "Inventory queries",
            "evaluation-limit": "Limits",
            "revision": "Commands",
            "path-refused": "Edits",
            "wire-type": "The program itself",
            "old-answers": "Commands",
            "edit-refused": "Edits",
            "host-without-group": "Commands",
        },
    ),
    "settings": (
        "###",
        {
            "storage_type": "The place of the inventory",
            "schemas_uri": "Schemas",
            "git_fetch_interval": "Git",
            "etcd_endpoints": "etcd",
            "stale_log_interval": "Reports",
            "edit_branch": "Edits",
            "linked_folders": "The place of the inventory",
            "class_mappings": "Classes",
            "compose_node_name": "Nodes",
            "scalar_parameters": "Parameters and merging",
            "delimiter": "Syntax",
            "ignore_class_notfound": "Errors and warnings",
            "compat_flags": "Nodes",
            "propagate_pillar_data_to_reclass": "Salt, pillar and grains",
            "applications_postfix": "Ansible",
            "reclass_source_path": "Salt, pillar and grains",
            "secret_keys": "Reports",
            "cache": "Cache",
            "limit_file_size": "Limits",
            "threads": "The program",
        },
    ),
}


def group(_: Sphinx, page: str, content: list[str]) -> None:
    """Put the sections below headings of groups."""
    if page not in GROUPS:
        return
    heading, begins = GROUPS[page]
    section = re.compile(
        rf"^{heading} `(?P<name>[^`]+)`\n.*?(?=^{heading} `|^<!-- End|\Z|^## (?!`))", re.M | re.S
    )
    found = list(section.finditer(content[0]))
    names = {match["name"] for match in found}
    for name in begins.keys() - names:
        log.warning("no section '%s', with which a group begins", name, location=page)
    # As first named, not as first met.
    groups: dict[str, list[re.Match[str]]] = {title: [] for title in begins.values()}
    title = next(iter(groups))
    for match in found:
        title = begins.get(match["name"], title)
        groups[title].append(match)
    text = ""
    for title, sections in groups.items():
        text += f"{heading} {title}\n\n"
        for match in sorted(sections, key=lambda match: match["name"]):
            text += f"#{match[0].rstrip()}\n\n"
    content[0] = content[0][: found[0].start()] + text + content[0][found[-1].end() :]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", group)
    return {"parallel_read_safe": True}
