"""Functions of Salt for the files of an inventory as they are written. Their texts are those of `sys.doc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltext.reclass import _metadata

if TYPE_CHECKING:
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
