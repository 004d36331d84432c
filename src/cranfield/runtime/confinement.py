"""A process that reads and writes in one folder only, whatever paths and links it is given later.

On Linux the kernel sees to it (Landlock, since 5.13): it looks at the file that is opened, not at a name that was
looked at before, so that no link that changes meanwhile leads elsewhere, and no library can do what we do not. In every
system Python's own calls are refused too: between that look and the opening, a link can still be changed there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cranfield.runtime import compiled

WHY = "it is outside of the folder that may be used"
NO_NETWORK = "the network may not be used here"
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/System/Library", "/usr/share/zoneinfo")
_CACHES = ("~/.cache/numba", "~/Library/Caches/numba")
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")
_NETWORK = (
    *(f"/etc/{each}" for each in ("hosts", "resolv.conf", "nsswitch.conf", "host.conf", "gai.conf", "ssl", "pki")),
    "/usr/share/ca-certificates",
    "/run/systemd/resolve",
)


@dataclass(frozen=True)
class Places:
    """Folders and files that may be read, and those that may be written too, with links followed."""

    read: tuple[str, ...]
    written: tuple[str, ...]
    network: bool = False

    @classmethod
    def around(cls, root: str, *, may_write: bool, downloads: str | None = None) -> Places:
        """A folder, and what Python and its libraries read; ``downloads`` is where files from the network are kept."""
        written = [os.devnull, *([root] if may_write else []), *([downloads] if downloads else [])]
        read = [root, *_python(root), *_LIBRARIES, *_DEVICES, *(_NETWORK if downloads else ())]
        return cls(_real(read), _real(written), network=downloads is not None)

    def allow(self, path: str | bytes, *, writing: bool) -> bool:
        real = os.path.normcase(os.path.realpath(os.fsdecode(path)))
        places = self.written if writing else (*self.read, *self.written)
        return any(_is_below(real, each) for each in places)


def _is_below(real: str, folder: str) -> bool:
    """Whether a path is a folder, or below it; both with links followed."""
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def _real(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.normcase(os.path.realpath(each)) for each in paths if os.path.exists(each)))


def _python(root: str) -> Iterator[str]:
    """Where modules are imported from: no folder that ``root`` is in, such as the one that a command was given in."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    inner = ("Lib", "DLLs", "Library", "python.exe") if os.name == "nt" else ("lib", "lib64")
    libraries = [os.path.join(prefix, each) for prefix in prefixes for each in inner]
    caches = [os.environ.get("NUMBA_CACHE_DIR", ""), *map(os.path.expanduser, _CACHES)]
    standard = [sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")]
    start = os.path.realpath(os.getcwd())
    for each in (*standard, *libraries, *sys.path, *caches):
        real = os.path.realpath(each)
        if each and real != start and not _is_below(root, real):
            yield real
    yield os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def confine(places: Places) -> bool:
    """Confine this process for good, and all that it starts; whether the kernel sees to it."""
    sys.dont_write_bytecode = True
    compiled.keeps_code = False
    by_kernel = _restrict(places)
    sys.addaudithook(_refuser(places))
    return by_kernel


# --- by Python, in every system

_READS = {"os.listdir": (0,), "os.scandir": (0,), "os.getxattr": (0,), "os.listxattr": (0,)}
_WRITES = {
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.mkdir": (0,),
    "os.link": (0, 1),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.utime": (0,),
    "os.setxattr": (0,),
    "os.removexattr": (0,),
}
_TALKS = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _refuser(places: Places) -> Callable[[str, tuple[Any, ...]], None]:
    """What Python asks before it opens, lists, changes or connects."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            check(arguments[0], writing=bool(flags & _CHANGES))
        elif event in _READS or event in _WRITES:
            for at in _READS.get(event) or _WRITES[event]:
                check(arguments[at], writing=event in _WRITES)
        elif event in _TALKS and not places.network:
            raise PermissionError(errno.EACCES, NO_NETWORK)

    def check(path: Any, *, writing: bool) -> None:
        if isinstance(path, str | bytes | os.PathLike) and not places.allow(os.fspath(path), writing=writing):
            raise PermissionError(errno.EACCES, WHY, os.fsdecode(path))

    return refuse


# --- by the kernel of Linux: linux/landlock.h

_CREATE, _ADD, _RESTRICT, _NO_NEW_PRIVILEGES = 444, 445, 446, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER, _REMOVE_FOLDER, _REMOVE_FILE = (1 << at for at in range(6))
_MAKE_FOLDER, _MAKE_FILE, _MOVE, _TRUNCATE = (1 << at for at in (7, 8, 13, 14))
_READING = _READ_FILE | _READ_FOLDER
_CHANGING = _WRITE_FILE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _MOVE | _TRUNCATE
_OF_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE
_CONNECTING = 0b11  # bind and connect, by TCP


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("place", ctypes.c_int32))


def _restrict(places: Places) -> bool:
    """Have the kernel refuse everything else, where it can."""
    if not sys.platform.startswith("linux"):
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return False
    known = (1 << {1: 13, 2: 14}.get(version, 15)) - 1
    asked = _Ruleset(known & ~_EXECUTE, _CONNECTING if version >= 4 and not places.network else 0)
    size = ctypes.sizeof(asked) if version >= 4 else ctypes.sizeof(ctypes.c_uint64)
    rules = call(_CREATE, ctypes.byref(asked), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        for paths, allowed in ((places.read, _READING), (places.written, _READING | _CHANGING)):
            for path in paths:
                _add(call, rules, path, allowed & known)
        ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(call(_RESTRICT, rules, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(rules)


def _add(call: Any, rules: int, path: str, allowed: int) -> None:
    """Allow what is below a folder, or one file."""
    with suppress(OSError):  # what cannot be opened needs no permission
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = _Rule(allowed if os.path.isdir(path) else allowed & _OF_FILES, place)
        try:
            if call(_ADD, rules, 1, ctypes.byref(rule), ctypes.c_uint32(0)) < 0:
                raise OSError(ctypes.get_errno(), "Landlock", path)
        finally:
            os.close(place)
