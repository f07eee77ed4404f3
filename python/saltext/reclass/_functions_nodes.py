"""Functions of Salt for the files of classes and nodes. Their texts are those of `sys.doc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltext.reclass import _commands, _metadata

if TYPE_CHECKING:
    from saltext.reclass._place import Place


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

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_create web3.example.com path=_generated classes='[site.lan, role.web]' \\
          parameters='{address: 10.0.0.13}'
    """
    return _commands.node_create(
        place.settings(),
        name,
        path=path,
        cluster=cluster,
        environment=environment,
        classes=classes,
        parameters=parameters,
        reclass_environment=reclass_environment,
        interpolate=interpolate,
        test=place.test(test),
        force=force,
    )


def node_get(place: Place, name: str, path: str | None = None) -> dict[str, Any]:
    """
    Return a node file: the parts of its name, its folder (``path``), its classes and its soft parameters.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_get web1.example.com
    """
    return _commands.node_get(place.settings(), name, path)


def node_list(place: Place, path: str | None = None) -> dict[str, Any]:
    """
    Return all node files, each in the form of :py:func:`node_get`.

    path
        The folder below ``nodes`` in which the files must be. Default: any folder.

    CLI Example:

    .. code-block:: bash

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

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_update web1.example.com classes='[role.web]' parameters='{address: 10.0.0.9}'
    """
    return _commands.node_update(
        place.settings(),
        name,
        classes=classes,
        parameters=parameters,
        reclass_environment=reclass_environment,
        interpolate=interpolate,
        test=place.test(test),
        force=force,
    )


def node_delete(
    place: Place, name: str, path: str | None = None, test: bool | None = None, force: bool = False
) -> str:
    """
    Delete the file of a node.

    path
        The folder below ``nodes`` in which the file must be. Default: any folder.

    Also takes ``test`` and ``force``.

    CLI Example:

    .. code-block:: bash

        salt-call reclass.node_delete web3.example.com
    """
    return _commands.node_delete(place.settings(), name, path, place.test(test), force)
