"""Locks on open files, so that two processes do not write to the same one, on Unix and on Windows."""

from __future__ import annotations

import errno
import os
from importlib import import_module
from typing import Any

_BEYOND = 1 << 40  # Windows lets nobody read a locked byte: this one is past the end of every file that is locked


def lock_file(descriptor: int, *, exclusive: bool = True) -> None:
    """Lock an open file until it is closed; on Windows, readers exclude each other too.

    Raises
    ------
    BlockingIOError
        If another process has locked it.
    OSError
        If the file, or the system, has no locks.
    """
    try:
        import fcntl
    except ImportError:
        _lock_on_windows(descriptor)
    else:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)


def _lock_on_windows(descriptor: int) -> None:
    try:
        msvcrt: Any = import_module("msvcrt")
    except ImportError:
        raise OSError(errno.ENOLCK, "this system has no file locks") from None
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _BEYOND, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EDEADLK):
            raise
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)
