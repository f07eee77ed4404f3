"""Functions of Salt for soft metadata. Their texts are those of `sys.doc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltext.reclass import _edits
from saltext.reclass._edits import text

if TYPE_CHECKING:
    from saltext.reclass._place import Place


def set_cluster_param(
    place: Place,
    name: str,
    value: Any,
    cluster: str = "",
    file_name: str = "",
    interpolate: bool = False,
    test: bool | None = None,
    store: str = "file",
    force: bool = False,
) -> dict[str, Any]:
    """
    Set a soft parameter of a cluster. A missing file is created; its folder must exist.

    name
        The name of the parameter.

    value
        The value, of any type.

    cluster
        The folder of the cluster below ``classes/cluster``. Default: ``classes/cluster`` itself.

    file_name
        The file. Default: ``overrides.yml``.

    interpolate
        Allow references (``${…}``) and queries (``$[…]``) in the value.

    test
        Report the edit without making it.

    store
        ``file``, or ``etcd`` for the key of the class that the file is. The setting ``etcd_endpoints`` names
        the servers.

    force
        Make the edit even if it breaks nodes.

    Returns ``changed``, ``comment``, ``file``, ``diff``, the values ``old`` and ``new``, and ``nodes``: how
    many nodes were rendered with the edit, how many change, and how many break.

    CLI Example::

        salt-call reclass.set_cluster_param database_address 10.0.0.5 cluster=prague
        salt-call reclass.set_cluster_param resolvers '[10.0.0.2, 10.0.0.3]' cluster=prague test=True
        salt-call reclass.set_cluster_param database_address 10.0.0.5 cluster=prague store=etcd
    """
    how = {"interpolate": interpolate, "force": force}
    settings, is_test = place.settings(), place.test(test)
    return _edits.set_param(settings, name, value, cluster, file_name, test=is_test, store=store, **how)


def get_cluster_param(
    place: Place,
    name: str,
    cluster: str = "",
    file_name: str = "",
    default: Any = _edits.NO_DEFAULT,
    store: str = "file",
) -> Any:
    """
    Return the value of a soft parameter from the metadata file of a cluster, with references unresolved.

    default
        The result if the parameter does not exist. Without a default, that is an error.

    store
        ``file`` or ``etcd``.

    CLI Example::

        salt-call reclass.get_cluster_param database_address cluster=prague
        salt-call reclass.get_cluster_param database_address cluster=prague default=none
    """
    return _edits.get_param(place.settings(), name, cluster, file_name, store, default)


def list_cluster_params(
    place: Place, cluster: str = "", file_name: str = "", store: str = "file"
) -> dict[str, Any]:
    """
    Return all soft parameters from the metadata file of a cluster, with references unresolved. ``store`` is
    ``file`` or ``etcd``.

    CLI Example::

        salt-call reclass.list_cluster_params cluster=prague
    """
    return _edits.params(place.settings(), cluster, file_name, store)


def delete_cluster_param(
    place: Place,
    name: str,
    cluster: str = "",
    file_name: str = "",
    test: bool | None = None,
    store: str = "file",
    force: bool = False,
) -> dict[str, Any]:
    """
    Delete a soft parameter of a cluster. ``store`` is ``file`` or ``etcd``. With ``force``, delete it even if
    that breaks nodes.

    Returns ``changed``, ``comment``, ``file``, ``diff``, the value ``old``, and ``nodes``.

    CLI Example::

        salt-call reclass.delete_cluster_param database_address cluster=prague
        salt-call reclass.delete_cluster_param database_address cluster=prague test=True
    """
    settings, is_test = place.settings(), place.test(test)
    return _edits.delete_param(settings, name, cluster, file_name, test=is_test, store=store, force=force)


def cluster_meta_list(place: Place, file_name: str = "overrides.yml", cluster: str = "") -> dict[str, Any]:
    """
    Return the content of the metadata file of a cluster, or ``{}`` if there is no file.

    CLI Example::

        salt-call reclass.cluster_meta_list cluster=prague
    """
    return _edits.cluster_data(place.settings(), cluster, file_name)


def cluster_meta_get(
    place: Place, name: str, file_name: str = "overrides.yml", cluster: str = ""
) -> dict[str, Any]:
    """
    Return a soft parameter of a cluster as ``{name: value}``, or ``{}`` if it does not exist.

    CLI Example::

        salt-call reclass.cluster_meta_get database_address cluster=prague
    """
    name, found = text(name), _edits.params(place.settings(), cluster, file_name)
    return {name: found[name]} if name in found else {}


def cluster_meta_set(
    place: Place,
    name: str,
    value: Any,
    file_name: str = "overrides.yml",
    cluster: str = "",
    interpolate: bool = False,
    test: bool | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """
    Set a soft parameter of a cluster, with the arguments and results of salt-formula-reclass. See
    :py:func:`set_cluster_param`, also for ``interpolate``, ``test`` and ``force``.

    CLI Example::

        salt-call reclass.cluster_meta_set database_address 10.0.0.5 cluster=prague
    """
    edit = set_cluster_param(place, name, value, cluster, file_name, interpolate, test, force=force)
    already = f"Cluster metadata entry {name} already exists and is in correct state"
    return {text(name): edit["new"] if edit["changed"] else already}


def cluster_meta_delete(
    place: Place,
    name: str,
    file_name: str = "overrides.yml",
    cluster: str = "",
    test: bool | None = None,
    force: bool = False,
) -> str | dict[str, Any]:
    """
    Delete a soft parameter of a cluster, with the arguments and results of salt-formula-reclass: ``{}`` if
    it does not exist. See :py:func:`delete_cluster_param`, also for ``test`` and ``force``.

    CLI Example::

        salt-call reclass.cluster_meta_delete database_address cluster=prague
    """
    edit = delete_cluster_param(place, name, cluster, file_name, test, force=force)
    entry = f"Cluster metadata entry {name}"
    return _edits.deleted(entry, edit, place.test(test)) if edit["changed"] else {}
