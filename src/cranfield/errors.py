"""The one family of errors: what is wrong, where it is, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any


class CranfieldError(Exception):
    """Base of every error raised on purpose.

    ``what`` says what is wrong, ``where`` names the place (``file:line`` where there is one), ``fix`` the next step.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what, where, fix)

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross process borders whole."""
        return partial(type(self), where=self.where, fix=self.fix), (self.what,)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n  {self.fix}" if self.fix else ""
        return f"{place}{self.what}{advice}"


class InputError(CranfieldError, ValueError):
    """A file or table that cannot be read as what it is said to be."""


class RequestError(CranfieldError, ValueError):
    """A request that makes no sense: an unknown measure, an impossible option."""


class PackedFileError(InputError):
    """A packed collection that is truncated, altered, of a newer format, or no packed collection at all."""


class WriteError(CranfieldError, OSError):
    """A result that could not be written; whatever stood there before is untouched."""


@dataclass(frozen=True)
class Caution:
    """What a result should be read with: no error, but not to be kept quiet. ``slug`` names the kind."""

    slug: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.what}. {self.fix}".rstrip()


class MissingPartError(CranfieldError, ImportError):
    """Something that needs an optional part of the installation; ``packages`` are those it lacks, where known."""

    def __init__(self, what: str, extra: str, packages: tuple[str, ...] = ()) -> None:
        needed = (
            f"{', '.join(packages)}, which {'is' if len(packages) == 1 else 'are'}" if packages else "a part that is"
        )
        super().__init__(f"{what} needs {needed} not installed", fix=f"pip install 'cranfield[{extra}]'")
        self._made_of = (what, extra, packages)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of
