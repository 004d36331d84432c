"""One call of the record, and what of its answer is not frozen."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

ALWAYS_FROZEN = ("exit", "error", "where", "parameter", "inputs")

Reason = str
KnownWrong = tuple[str, Reason]
"""A pattern of keys (``pairs*.p_adjusted``) whose values are known to be wrong, and why."""


@dataclass(frozen=True)
class Call:
    """A command line without ``cranfield`` and ``--json``, or an expression of Python that starts with ``cf.``.

    Attributes
    ----------
    text
        The call, which is its name in the record too.
    before
        Command lines that are run before it, in the same folder.
    known_wrong
        Keys that must exist, and whose values are not compared.
    varies
        Patterns of keys that are not recorded: times and checksums.
    tolerance
        Relative difference up to which two numbers are the same.
    because
        Why the tolerance is wider than usual.
    """

    text: str
    before: tuple[str, ...] = ()
    known_wrong: tuple[KnownWrong, ...] = ()
    varies: tuple[str, ...] = ()
    tolerance: float = 1e-12
    because: str = ""

    def __post_init__(self) -> None:
        if self.tolerance > 1e-12 and not self.because:
            raise ValueError(f"{self.text}: a wider tolerance needs a reason")

    @property
    def is_python(self) -> bool:
        return self.text.startswith("cf.")

    def is_recorded(self, key: str) -> bool:
        """Whether a key belongs to the record."""
        return not any(fnmatchcase(key, pattern) for pattern in self.varies)

    def is_known_wrong(self, key: str) -> bool:
        """Whether the value of a key is not frozen."""
        return not key.startswith(ALWAYS_FROZEN) and any(fnmatchcase(key, pattern) for pattern, _ in self.known_wrong)


def calls(
    *texts: str, known_wrong: tuple[KnownWrong, ...] = (), tolerance: float = 1e-12, because: str = ""
) -> list[Call]:
    """Calls that share what is declared of them."""
    return [Call(text, known_wrong=known_wrong, tolerance=tolerance, because=because) for text in texts]
