"""Parquet files: which library reads and writes them here, and one error for whatever it meets."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from cranfield.errors import CranfieldError, InputError, MissingPartError, speak
from cranfield.formats.problems import shorten
from cranfield.runtime import threads


def is_parquet(data: bytes) -> bool:
    return data.startswith(b"PAR1")


def parquet_library(wish: str) -> Callable[..., Any]:
    """How Parquet is read or written here: by Polars, or by PyArrow where only that is installed."""
    try:
        import polars
    except ImportError:
        try:
            from pyarrow import parquet, table
        except ImportError:
            raise MissingPartError("parquet") from None
        return parquet.read_table if wish == "read" else lambda columns, file: parquet.write_table(table(columns), file)
    return (
        polars.read_parquet if wish == "read" else lambda columns, file: polars.DataFrame(columns).write_parquet(file)
    )


def parquet_names(data: bytes, file: str) -> list[str]:
    """The names of the columns."""
    parquet_library("read")
    with parquet_errors(file):
        try:
            import polars
        except ImportError:
            from pyarrow import parquet

            return list(map(str, parquet.read_schema(io.BytesIO(data)).names))
        return list(polars.read_parquet_schema(io.BytesIO(data)))


@contextmanager
def parquet_errors(file: str) -> Iterator[None]:
    """One error for whatever a library meets in a damaged Parquet file.

    Where Polars finds its own rules broken it panics: that is no `Exception`, and is printed besides. Where a page
    says that it has more values than memory holds, it aborts: the command has the same message then, and ends.
    """
    try:
        with _unprinted(file):
            yield
    except CranfieldError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = shorten(next(iter(str(error).splitlines()), "") or type(error).__name__, 200)
        raise _no_parquet(file, why) from None


def _no_parquet(file: str, why: str) -> InputError:
    return InputError(f"it cannot be read as Parquet: {why}", where=file, fix="Write it again.")


_STDERR = 2
_quiet = Lock()
_quiet_since: list[tuple[int, str]] = []  # one copy of the standard error, and the file, for each thread that reads


@contextmanager
def _unprinted(file: str) -> Iterator[None]:
    """Without what a library prints to the standard error, which may not exist; threads may overlap."""
    try:
        with _quiet:
            _quiet_since.append((os.dup(_STDERR), file))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, _STDERR)
            os.close(nowhere)
            if threads.is_command:
                _last_words()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        with _quiet:
            last, _ = _quiet_since.pop()
            if not _quiet_since:
                os.dup2(last, _STDERR)
            os.close(last)


@cache
def _last_words() -> Any:
    """Where a library aborts, say which file it was reading, and end with the exit code of a file that is refused.

    `signal.signal` cannot do it: Python runs such a handler later, and after an abort there is no later.
    """
    import ctypes

    def say(_: int) -> None:
        if not _quiet_since:
            return
        stream, file = _quiet_since[0]
        error = _no_parquet(file, "Polars aborted")
        os.write(stream, f"error: {speak(str(error), 'command')}\n".encode(errors="backslashreplace"))
        os._exit(error.exit_code)

    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(say)
    try:
        ctypes.CDLL(None).signal(int(signal.SIGABRT), handler)
    except (OSError, TypeError, AttributeError):  # Windows ends an aborted process without asking
        return None
    return handler  # kept, because it is called from outside Python
