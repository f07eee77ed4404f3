"""Functions of Salt for the files of classes and nodes. Their texts are those of `sys.doc`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from saltext.reclass import _commit, _edits, _metadata
from saltext.reclass._edits import Settings, text
from saltext.reclass._salt import RefusedError
from saltext.reclass.errors import NodeNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from saltext.reclass._place import Place


def soft_meta_list(place: Place) -> dict[str, Any]:
    """
    Return all soft parameters, with the files that set them (``created_at``) and the files that refer to
    them (``required_at``).

    CLI Example::

        salt-call reclass.soft_meta_list
    """
    return _metadata.soft_params(place.settings())


def soft_meta_get(place: Place, name: str) -> dict[str, Any]:
    """
    Return one entry of :py:func:`soft_meta_list`.

    CLI Example::

        salt-call reclass.soft_meta_get database_address
    """
    return _metadata.soft_param(place.settings(), name)


def class_list(place: Place) -> dict[str, Any]:
    """
    Return all class and node files, each with its path, its classes (``includes``), the soft parameters
    that it sets (``params_created``) and those that it refers to (``params_required``).

    CLI Example::

        salt-call reclass.class_list
    """
    return _metadata.classes(place.settings())


def class_get(place: Place, name: str) -> dict[str, Any]:
    """
    Return one entry of :py:func:`class_list`.

    name
        The name of the entry, without the leading dot.

    CLI Example::

        salt-call reclass.class_get classes.role.web
    """
    return _metadata.class_(place.settings(), name)


def node_create(
    place: Place,
    name: str,
    path: str | None = None,
    cluster: str | None = None,
    environment: str | None = None,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool | None = None,
    reclass_environment: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """
    Create the file of a node. An existing file is kept as it is.

    name
        The name of the node.

    path
        The folder below ``nodes``. It is created if it is missing.

    cluster, environment
        The values of ``linux:system:cluster`` and ``linux:system:environment``. If one of them is given, the
        file gets ``linux:system:name`` and ``linux:system:domain`` too; otherwise it has no ``linux:system``.

    reclass_environment
        The environment of the node: reclass and Salt use it to choose classes and states.

    classes
        A list of classes, or JSON.

    parameters
        A mapping of soft parameters, or JSON.

    Also takes ``interpolate``, ``test`` and ``force``. The result is that of :py:func:`node_get`.

    CLI Example::

        salt-call reclass.node_create web3.example.com path=_generated classes='[site.lan, role.web]' \\
          parameters='{address: 10.0.0.13}'
    """
    settings, name, is_test = place.settings(), text(name), place.test(test)
    # The files of fetched repositories are not there to be listed.
    if not _commit.is_pushed(settings) and _metadata.has_node(settings, name):
        if not _commit.is_of_commits(settings):
            return _metadata.node(settings, name)
        # The file may be in no commit. On another branch there may be none.
        with suppress(NodeNotFoundError):
            kept = _edits.update_node(settings, name, test=is_test)
            about = kept if kept["changed"] else {key: kept[key] for key in ("warning",) if key in kept}
            return edited(settings, name, about)
    edit = _edits.create_node(
        settings,
        name,
        path,
        cluster,
        environment,
        classes,
        parameters,
        reclass_environment=reclass_environment,
        interpolate=interpolate,
        test=is_test,
        force=force,
    )
    return _of_edit(settings, name, edit, is_test)


def node_get(place: Place, name: str, path: str | None = None) -> dict[str, Any]:
    """
    Return a node file: the parts of its name, its folder (``path``), its classes and its soft parameters.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    CLI Example::

        salt-call reclass.node_get web1.example.com
    """
    return _found(place.settings(), text(name), path)


def _found(settings: Settings, name: str, path: str | None) -> dict[str, Any]:
    found = _metadata.node(settings, name)
    if path is not None and found[name]["path"] != text(path):
        raise RefusedError(f"the file of node {name!r} is not in the folder {text(path)!r}")
    return found


def node_list(place: Place, path: str | None = None) -> dict[str, Any]:
    """
    Return all node files, each in the form of :py:func:`node_get`.

    path
        The folder below ``nodes`` in which the files must be. Default: any folder.

    CLI Example::

        salt-call reclass.node_list
        salt-call reclass.node_list path=_generated
    """
    return _metadata.nodes(place.settings(), path)


def node_update(
    place: Place,
    name: str,
    classes: Any = None,
    parameters: Any = None,
    interpolate: bool = False,
    test: bool | None = None,
    reclass_environment: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """
    Add classes to a node file, and set its soft parameters and its ``reclass_environment``. The rest of the
    file is kept.

    Also takes ``interpolate``, ``test`` and ``force``. The result is that of :py:func:`node_get`.

    CLI Example::

        salt-call reclass.node_update web1.example.com classes='[role.web]' parameters='{address: 10.0.0.9}'
    """
    settings, is_test = place.settings(), place.test(test)
    edit = _edits.update_node(
        settings,
        name,
        classes,
        parameters,
        reclass_environment=reclass_environment,
        interpolate=interpolate,
        test=is_test,
        force=force,
    )
    return _of_edit(settings, text(name), edit, is_test)


def _of_edit(settings: Settings, name: str, edit: dict[str, Any], is_test: bool) -> dict[str, Any]:
    return {name: edit} if is_test or "branch" in edit else edited(settings, name, edit)


def edited(settings: Settings, name: str, edit: Mapping[str, Any]) -> dict[str, Any]:
    """The node, with the numbers of nodes that the edit changed, and its warning."""
    about = {key: edit[key] for key in ("nodes", "warning") if key in edit}
    return {name: {**_metadata.node(settings, name)[name], **about}}


def node_delete(
    place: Place, name: str, path: str | None = None, test: bool | None = None, force: bool = False
) -> str:
    """
    Delete the file of a node.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    Also takes ``test`` and ``force``.

    CLI Example::

        salt-call reclass.node_delete web3.example.com
    """
    return deleted(place.settings(), text(name), path, place.test(test), force)


def deleted(settings: Settings, name: str, path: str | None, test: bool, force: bool) -> str:
    """Deletes the file of a node, if it is in the folder; a sentence."""
    # One that is gone may be in the last commit.
    if path is not None and (_commit.is_pushed(settings) or _metadata.has_node(settings, name)):
        _found(settings, name, path)
    return _edits.deleted(f"Node {name}", _edits.delete_node(settings, name, test=test, force=force), test)
