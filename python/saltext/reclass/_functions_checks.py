"""Functions of Salt that check an inventory and its setup. Their texts are those of `sys.doc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltext.reclass import _check, _metadata, _versions
from saltext.reclass._edits import text
from saltext.reclass._functions_values import as_text

if TYPE_CHECKING:
    from saltext.reclass._place import Place


def lint(place: Place, *nodes: str) -> Any:
    """
    Report errors and probable mistakes of the inventory, or of some nodes only. In the execution module the
    exit code is 1 if there is an error or a warning; in the runner it is always 0. ``salt-run`` prints a
    text; ``--out json`` and other callers get the data.

    CLI Example::

        salt-call reclass.lint
        salt-call reclass.lint web1.example.com
    """
    inventory, names = _metadata.opened(place.settings(*nodes or "*")), map(text, nodes)
    if place.is_read_by_people():
        return as_text(inventory.lint_text(*names))
    findings = inventory.lint(*names)
    return place.with_code(findings, any(finding["level"] in ("error", "warning") for finding in findings))


def validate_yaml(place: Place) -> dict[str, list[str]] | None:
    """
    Fail with exit code 1 if a file is not YAML or not a mapping, and name all such files. The execution
    module returns them as ``{"Errors": […]}``.

    CLI Example::

        salt-call reclass.validate_yaml
    """
    errors = _metadata.yaml_errors(place.settings())
    return place.failed({"Errors": errors}, errors) if errors else None


def validate_pillar(place: Place, node_name: str | None = None) -> Any:
    """
    Fail with exit code 1 if a node has no pillar, or one that breaks a schema of its parameters, with the
    errors of all such nodes. Otherwise return the nodes, each with an empty string, or with a warning that
    names its empty files, or with the error that keeps it at an earlier commit (``serve``). ``salt-run``
    prints the warnings and the number of nodes; ``--out json`` and other callers get the data. The execution
    module always returns all nodes, each with its error.

    CLI Example::

        salt-call reclass.validate_pillar
        salt-call reclass.validate_pillar web1.example.com
    """
    settings = place.settings(node_name or "*")
    errors = _metadata.pillar_errors(settings, node_name, place.earlier, schemas=True)
    answer = _metadata.with_empty_files(settings, errors)
    if any(errors.values()):
        # A node that is held has a pillar, and people want to know of it beside those that have none.
        named = {name: text for name, text in answer.items() if errors[name] or text.startswith("held: ")}
        return place.failed(answer, [f"{name}: {text}" for name, text in named.items()])
    if place.is_read_by_people():
        told = [f"{name}: {warning}" for name, warning in answer.items() if warning]
        nodes = f"{len(answer):,} node has" if len(answer) == 1 else f"{len(answer):,} nodes have"
        return as_text("\n".join([*told, f"{nodes} a pillar"]))
    return answer


def cache_info(place: Place) -> dict[str, Any]:
    """
    Return the content of this process's cache, and the counts of reads, parses and computations. Each command
    has its own process, so the figures do not describe the workers of a master.

    CLI Example::

        salt-call reclass.cache_info
    """
    return _metadata.opened(place.settings()).cache_info()  # type: ignore[no-any-return]


def check(place: Place) -> dict[str, Any]:
    """
    Check the installation: settings, folders, permissions of the master's user, locks, git caches, versions.

    Returns ``user``, ``inventories``, ``versions``, and the lists ``problems`` and ``remarks``. With
    problems, ``retcode`` and the exit code are 1.

    CLI Example::

        salt-run reclass.check
    """
    report = _check.check(place.opts)
    # Makes the job fail; the exit code of `salt-run` is that of the report.
    place.context["retcode"] = report["retcode"]
    return report


def versions(place: Place) -> dict[str, Any]:
    """
    Return the versions of the package, the engine and Salt, the start time of the master, and the program
    ``reclass`` on the path.

    CLI Example::

        salt-run reclass.versions
    """
    return _versions.versions(place.opts)
