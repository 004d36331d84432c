"""Errors with the problem, its place and the remedy; and warnings of results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any


class CranfieldError(Exception):
    """Base class of all errors of cranfield.

    ``what`` says what is wrong, ``where`` names the place (``file:line`` where there is one), ``fix`` the next step.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what, where, fix)

    def __reduce__(self) -> tuple[Any, ...]:
        """Make errors picklable, so that they can be passed between processes."""
        return partial(type(self), where=self.where, fix=self.fix), (self.what,)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n  {self.fix}" if self.fix else ""
        return f"{place}{self.what}{advice}"


class InputError(CranfieldError, ValueError):
    """A file or table that cannot be read."""


class RequestError(CranfieldError, ValueError):
    """An invalid request: an unknown measure, an impossible option."""


class PackedFileError(InputError):
    """A packed collection that is truncated, altered or of a newer format, or a file that is no packed collection."""


class WriteError(CranfieldError, OSError):
    """A result that could not be written; an existing file is unchanged."""


@dataclass(frozen=True)
class Caution:
    """A warning about a result. ``slug`` names the kind."""

    slug: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.what}. {self.fix}".rstrip()


class MissingPartError(CranfieldError, ImportError):
    """A function that needs an optional package."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs a part that is not installed", fix=f"pip install 'cranfield[{extra}]'")
        self._made_of = (what, extra)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of
