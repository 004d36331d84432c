"""A file that only grows: one line of JSON a step, each sealed with a checksum over itself and the line before.

A step counts once its line is on the disk (fsync); only then does ``append`` return. Whoever is killed, or meets a full
disk, before that leaves at most an unfinished last line, which has no line end: readers pass over it, and the next
writer cuts it off. Writers hold an exclusive lock on the file while they read, decide and write, so that two of them
take turns. The chain of checksums shows when an earlier line was changed, removed or put in. It cannot show that the
last lines were removed, nor that the whole file was written anew: against that, the last checksum (the seal of the
file) is kept elsewhere, and compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cranfield.errors import InputError, WriteError
from cranfield.runtime.file_locks import lock_file

FORMAT = 1
KIND = "cranfield study"
_BYTES = getattr(os, "O_BINARY", 0)  # Windows translates line ends otherwise
_LONGEST_WAIT = 30.0  # seconds for another process to finish with the file
Step = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """The steps of a journal in order, and how many bytes of an unfinished one follow them."""

    steps: tuple[Step, ...]
    length: int
    unfinished: int
    sealed: bool  # whether the last line has its line end

    @property
    def seal(self) -> str:
        """The checksum of the last step, which depends on all of them."""
        return str(self.steps[-1]["check"])


def _seal(content: Mapping[str, Any], before: str) -> str:
    text = json.dumps({**content, "before": before}, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _line(content: Mapping[str, Any], before: str) -> bytes:
    whole = {**content, "before": before, "check": _seal(content, before)}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _stamped(content: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {"step": number, "at": datetime.now(UTC).isoformat(timespec="seconds"), **content}


def create(path: str | Path, content: Mapping[str, Any]) -> None:
    """Start a journal; the file appears whole or not at all, and never in place of another."""
    target = Path(path)
    line = _line(_stamped({"kind": KIND, "format": FORMAT, **content}, 1), "")
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise _refused(target, error) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_mask())
        _place(temporary, target)
        _sync_folder(target.parent)
    except FileExistsError:
        raise WriteError(
            "there is a file already",
            where=str(target),
            fix="A study is never overwritten: choose another name, or add to it.",
        ) from None
    except OSError as error:
        raise _refused(target, error) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _place(temporary: str, target: Path) -> None:
    """Give a finished file its name, unless there is one of that name."""
    try:
        os.link(temporary, target)  # unlike a move, it refuses to replace a file
    except FileExistsError:
        raise
    except OSError:  # a disk without links: claim the name, then move over the claim
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        os.replace(temporary, target)


def read(path: str | Path) -> Reading:
    """All steps of a journal, checked."""
    with _opened(path, writing=False) as descriptor:
        return _parse(_everything(descriptor), str(path))


def require_seal(steps: Iterable[Step], seal: str, path: str | Path) -> None:
    """Refuse a journal none of whose steps has the seal: steps after it may have been added, none before it removed."""
    if seal.strip().lower() not in (step["check"] for step in steps):
        raise InputError(
            f"no step has the seal {seal.strip()}: steps were removed from the end of the file, or it is another one",
            where=str(path),
            fix="Fetch the file from a copy.",
        )


def append(path: str | Path, decide: Callable[[tuple[Step, ...]], Mapping[str, Any] | None]) -> tuple[Step, ...]:
    """Add the step ``decide`` makes of the steps so far, while nobody else can add one; all steps are returned.

    When it returns, the step is on the disk. ``decide`` may raise, or return nothing to add nothing.
    """
    with _opened(path, writing=True) as descriptor:
        reading = _parse(_everything(descriptor), str(path))
        content = decide(reading.steps)
        if content is None:
            return reading.steps
        # What was cut off is said: it was never acknowledged, or the file lost its end in some other way.
        cut = {"cut_off_bytes": reading.unfinished} if reading.unfinished else {}
        stamped = _stamped({**content, **cut}, len(reading.steps) + 1)
        before = str(reading.steps[-1]["check"])
        line = _line(stamped, before)
        _write(descriptor, (b"" if reading.sealed else b"\n") + line, reading.length, str(path))
        return (*reading.steps, json.loads(line))


def _write(descriptor: int, data: bytes, end: int, path: str) -> None:
    """Put ``data`` at ``end``, cutting off whatever is there; on failure the file is as long as before."""
    try:
        os.ftruncate(descriptor, end)
        os.lseek(descriptor, end, os.SEEK_SET)
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fsync(descriptor)
    except OSError as error:
        _cut(descriptor, end)
        raise _refused(Path(path), error) from None
    except BaseException:
        _cut(descriptor, end)
        raise


def _cut(descriptor: int, end: int) -> None:
    try:
        os.ftruncate(descriptor, end)
        os.fsync(descriptor)
    except OSError:  # then an unfinished line stays, which readers pass over
        pass


def _parse(data: bytes, path: str) -> Reading:
    *lines, rest = data.split(b"\n")
    steps: list[Step] = []
    length = 0
    for number, line in enumerate(lines, 1):
        steps.append(_checked(line, number, steps, path))
        length += len(line) + 1
    sealed = True
    if rest:
        try:
            steps.append(_checked(rest, len(lines) + 1, steps, path))
            length, sealed, rest = length + len(rest), False, b""  # only its line end is missing
        except InputError:
            if not steps or not _is_cut_short(rest):
                raise
    if not steps:
        raise InputError("this is no study file", where=path, fix="Start a study with `study_new()`.")
    return Reading(tuple(steps), length, len(rest), sealed)


def _is_cut_short(rest: bytes) -> bool:
    """Whether a last line without its end is the beginning of one; what follows a whole object is damage."""
    try:
        json.JSONDecoder().raw_decode(rest.decode(errors="replace"))
    except ValueError:
        return True
    except RecursionError:  # no step is nested so deeply
        return False
    return False


def _checked(line: bytes, number: int, steps: list[Step], path: str) -> Step:
    where = f"{path}:{number}"
    try:
        step = json.loads(line)
        before, check = step.pop("before"), step.pop("check")
        written = _line(step, before)  # to the byte: a name that is there twice, or nan, is nothing that was written
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise _damaged(where, number) from None
    if number == 1 and step.get("kind") != KIND:
        raise _damaged(where, number)
    if number == 1 and step.get("format") != FORMAT:
        raise InputError(
            f"the study has format {step.get('format')}, and this version reads {FORMAT}",
            where=where,
            fix="Use a newer cranfield.",
        )
    if written != line + b"\n" or before != (steps[-1]["check"] if steps else ""):
        raise InputError(
            "this step is not as it was written, or a step before it is missing",
            where=where,
            fix="Fetch the file from a copy: a study cannot be edited by hand.",
        )
    return {**step, "before": before, "check": check}


def _damaged(where: str, number: int) -> InputError:
    if number == 1:
        return InputError("this is no study file", where=where, fix="Start a study with `study_new()`.")
    return InputError("this line is damaged", where=where, fix="Fetch the file from a copy.")


def is_journal(path: str | Path) -> bool:
    """Whether a file is a study, by its first line."""
    if not os.path.isfile(path):  # a pipe can be read only once
        return False
    try:
        with open(path, "rb") as stream:
            return f'"kind":"{KIND}"'.encode() in stream.read(256)
    except OSError:
        return False


@contextmanager
def _opened(path: str | Path, *, writing: bool) -> Iterator[int]:
    """The file, locked: shared for readers, alone for a writer; the lock goes with the process, however it ends."""
    try:
        descriptor = os.open(path, (os.O_RDWR if writing else os.O_RDONLY) | _BYTES)
    except FileNotFoundError:
        raise InputError("there is no such study", where=str(path), fix="Start it with `study_new()`.") from None
    except IsADirectoryError:
        raise InputError("this is a folder, not a study", where=str(path), fix="Name the study's file.") from None
    except OSError as error:
        raise InputError(
            f"the study cannot be opened: {error.strerror}", where=str(path), fix="Check the path and the permissions."
        ) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError("this is no plain file", where=str(path), fix="Name the study's file.")
        _lock(descriptor, str(path), exclusive=writing)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: str, *, exclusive: bool) -> None:
    until = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            lock_file(descriptor, exclusive=exclusive)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise InputError(
                    "another process has been writing to it for too long",
                    where=path,
                    fix="Wait for it or stop it, and try again.",
                ) from None
            time.sleep(0.02)
        except OSError as error:
            raise InputError(
                f"the file cannot be locked: {error.strerror}", where=path, fix="Keep it on a disk that has locks."
            ) from None


def _everything(descriptor: int) -> bytes:
    """All bytes of the file."""
    parts = []
    os.lseek(descriptor, 0, os.SEEK_SET)
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file last, where folders can be opened: on Windows they cannot."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _refused(target: Path, error: OSError) -> WriteError:
    reason = error.strerror or str(error)
    return WriteError(f"it cannot be written: {reason}", where=str(target), fix="Nothing was added to the study.")
