"""Finished parts of long work, kept in a file as they come, so that work that broke off can be taken up again.

A line a part: a checksum and JSON, arrays as their bytes. A line that was cut off as the process died is not read, and
neither is what belongs to other work: a part is known by what was asked, of which data, with which seed.
"""

from __future__ import annotations

import base64
import dataclasses
import errno
import hashlib
import json
import os
import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import numpy as np

from cranfield.errors import InputError, WriteError
from cranfield.runtime.file_locks import lock_file

_FIRST = b"cranfield parts 1\n"


class PartialResults:
    """The file; a context in which parts are added. It is removed when all went well, or where it has none."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.taken_up = 0  # parts that were found done
        self.kept = 0  # parts in the file
        self._known: dict[str, dict[int, Any]] = {}
        self._stream: IO[bytes] | None = None
        self._key = ""

    @contextmanager
    def open(self) -> Iterator[PartialResults]:
        is_needed = True
        with self._locked() as self._stream:
            good = self._read(self._stream)
            self._stream.seek(good)
            self._stream.truncate()
            try:
                yield self
                is_needed = False
            finally:
                is_needed = is_needed and self.kept > 0
                self._stream.close()  # before it is removed: Windows removes no open file
                if not is_needed:
                    self.path.unlink(missing_ok=True)

    def found(self, function: Callable[..., Any], shared: Any, items: Sequence[Any]) -> dict[int, Any]:
        """What is done of this work, and from here on its parts are added."""
        self._key = _key(function, shared, items)
        done = dict(self._known.get(self._key, {}))
        self.taken_up += len(done)
        return done

    def add(self, number: int, result: Any) -> None:
        if self._stream is None:
            return
        body = json.dumps([self._key, number, _plain(result)]).encode()
        line = b"%08x %s\n" % (zlib.crc32(body), body)
        try:
            if self._stream.write(line) != len(line):  # the disk took what it had room for
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise WriteError(
                f"finished parts cannot be kept: {error.strerror}",
                where=str(self.path),
                fix=f'Make room, and go on with `resume="{self.path}"`',
            ) from None
        self.kept += 1

    def _locked(self) -> IO[bytes]:
        try:
            stream = open(self.path, "a+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise WriteError(
                f"finished parts cannot be kept: {error.strerror}",
                where=str(self.path),
                fix="Name another file with `resume`.",
            ) from None
        try:
            lock_file(stream.fileno())
        except BlockingIOError:
            stream.close()
            raise InputError(
                "another process keeps its parts here",
                where=str(self.path),
                fix="Wait for it, or name another file with `resume`.",
            ) from None
        except OSError as error:
            stream.close()
            raise WriteError(
                f"the file of finished parts cannot be locked: {error.strerror}",
                where=str(self.path),
                fix="Name a file on a disk that has locks with `resume`.",
            ) from None
        return stream

    def _read(self, stream: IO[bytes]) -> int:
        """Take up the parts that are whole; where the last of them ends."""
        stream.seek(0)
        data = stream.read()
        if not data:
            stream.write(_FIRST)
            return len(_FIRST)
        if not data.startswith(_FIRST):
            raise InputError(
                "this is not a file of finished parts", where=str(self.path), fix="Name another file with `resume`."
            )
        good = len(_FIRST)
        for line in data[good:].splitlines(keepends=True):
            body = line[9:-1]
            if not line.endswith(b"\n") or line[:8] != b"%08x" % zlib.crc32(body):
                break
            try:
                key, number, result = json.loads(body)
                self._known.setdefault(key, {})[number] = _restored(result)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                what = f"its part {self.kept + 1} was not written by cranfield"
                raise InputError(what, where=str(self.path), fix="Name another file with `resume`.") from None
            self.kept += 1
            good += len(line)
        return good


def default_path(command: str) -> str:
    """Where parts are kept when nobody says where: in the current folder."""
    return f"cranfield-{command}-{os.getpid()}.parts"


def _key(function: Callable[..., Any], shared: Any, items: Sequence[Any]) -> str:
    digest = hashlib.sha256(f"{version('cranfield')} {function.__module__}.{function.__qualname__}".encode())
    digest.update(pickle.dumps((shared, list(items)), protocol=5))
    return digest.hexdigest()[:20]


def _plain(value: Any) -> Any:
    """As JSON can say it."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return {"array": [array.dtype.str, array.shape, base64.b64encode(array.tobytes()).decode()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        parts = {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init}
        return {"made": [kind.__module__, kind.__qualname__, parts]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(_restored(each) for each in content)
    if kind == "dict":
        return {_restored(key): _restored(each) for key, each in content}
    if kind == "made":
        return _made(*content)
    dtype, shape, data = content
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()[()]


def _made(module: str, name: str, parts: dict[str, Any]) -> Any:
    """A result of ours; a file cannot ask for anything else to be made."""
    made = getattr(import_module(module), name) if module.startswith("cranfield.") else None
    if not (isinstance(made, type) and dataclasses.is_dataclass(made)):
        raise InputError(
            f"finished parts cannot be of the kind {module}.{name}", fix="Name another file with `resume`."
        )
    return made(**{each: _restored(part) for each, part in parts.items()})
