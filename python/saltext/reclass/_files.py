"""Replaces files outside of the inventory: the one door for all that this package writes.

Others may write in some of these folders, such as that of node_exporter. So a new file has a name that
nobody can guess, and no link of its name is followed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def replace(path: str | Path, data: bytes, mode: int = 0o666) -> None:
    """Replace a file in one step; its readers see the old bytes or the new ones.

    ``mode`` is reduced by the umask. Raises :class:`OSError`; then the file is as before.
    """
    new = f"{path}.{secrets.token_hex(8)}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(new, flags, mode), "wb") as file:
            file.write(data)
        os.replace(new, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(new)
        # With the name that people know, and the same text each time.
        raise OSError(error.errno, error.strerror, str(path)) from None
