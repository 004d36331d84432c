"""The one way to run a loop over ranked lists: as it stands when the work is small, compiled when it is large.

A kernel is a plain function of scalars and flat arrays. Interpreted, it answers before a compiler could even be
imported; compiled, it runs at the speed of C. Both run the same lines and give the same bits, because every
transcendental (logarithm, power) is looked up in a table made beforehand. A loop that most commands need has a form in
whole arrays besides, which adds in the same order and so gives the same bits too.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

from cranfield.runtime import threads
from cranfield.runtime.threads import available_workers, slices, spread

# Up to this many loop steps in all, the interpreter (about 0.2 µs a step) beats importing the compiler (about 0.7 s).
WORTH_COMPILING = 3_000_000
# Up to this many, whole arrays (about 0.02 µs a step) beat it, where a loop can be written with them.
WORTH_LOADING = 30_000_000
keeps_code = True  # whether machine code is kept on disk; it is read from there all the same
_spent = 0  # steps interpreted so far: who scores time and again is served by the compiler before long


def is_loaded() -> bool:
    """Whether the compiler is in memory already, which makes using it free."""
    return "numba" in sys.modules


def _spend(work: int) -> bool:
    """Whether ``steps`` more steps are still better interpreted."""
    global _spent
    _spent += work
    return _spent < WORTH_COMPILING


def _skip_linear_algebra() -> None:
    """Keep the compiler from looking for scipy.linalg, which takes 0.15 s; no loop of ours multiplies matrices."""
    if "scipy.linalg" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]


def pays(work: int) -> bool:
    """Whether ``steps`` loop steps in total are better compiled, for callers that call kernels many times."""
    return is_loaded() or not _spend(work)


def machine_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function compiled when it is first called, once for all: the code is kept on disk where there is a place."""
    import numba

    if getattr(numba.config, "DISABLE_JIT", False):  # numba gives the function back, and has no cache
        return function
    if threads.is_command:
        _skip_linear_algebra()
    if not keeps_code:
        _only_read_code()
    made: Any
    try:
        made = numba.njit(cache=True, nogil=True)(function)
        made._cache = _HealingCache(made._cache)
    except RuntimeError:  # neither the package's folder nor the user's can be written
        made = numba.njit(nogil=True)(function)
    return made  # type: ignore[no-any-return]


def _only_read_code() -> None:
    """Let the compiler look where code would be kept, without trying to write there."""
    from numba.core import caching

    def find(locator: Any) -> None:
        place = locator.get_cache_path()
        if not os.access(place, os.W_OK):
            raise PermissionError(place)

    caching._CacheLocator.ensure_cache_path = find  # type: ignore[method-assign]


class _HealingCache:
    """Numba's cache of machine code: files that cannot be read (a full disk, a cut copy) are made again."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, *what: Any) -> Any:
        try:
            return self._cache.load_overload(*what)
        except Exception:  # whatever unpickling arbitrary bytes may raise
            self._empty()
            return None

    def save_overload(self, *what: Any) -> None:
        try:
            self._cache.save_overload(*what)
        except Exception:
            self._empty()

    def _empty(self) -> None:
        try:
            self._cache.flush()
        except OSError:  # it cannot be written either, and will be passed over again
            pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


class Kernel:
    """A loop over ``range(first, last)``, its first two arguments; arguments named ``out_…`` are written to.

    ``uses`` are kernels whose functions this one calls. They are of the same file: compiled code is made again when
    its file changes, not when another does. ``arrays`` does the same by whole arrays, with the same bits, and says
    whether it did: it may decline.
    """

    def __init__(
        self, function: Callable[..., Any], *, uses: tuple[Kernel, ...] = (), arrays: Callable[..., bool] | None = None
    ) -> None:
        self.function, self._uses, self._arrays = function, uses, arrays
        self.__doc__ = function.__doc__
        names = list(inspect.signature(function).parameters)
        self._written = [name.startswith("out_") for name in names]

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The machine-code version."""
        if not self._uses:
            return machine_code(self.function)
        names = {kernel.function.__name__: kernel.compiled for kernel in self._uses}
        return machine_code(FunctionType(self.function.__code__, {**self.function.__globals__, **names}))

    def interpreted(self, *arguments: Any) -> Any:
        """The function as it stands; arrays that are only read become lists, which Python indexes faster."""
        plain = [
            value.tolist() if isinstance(value, np.ndarray) and not written else value
            for value, written in zip(arguments, self._written, strict=True)
        ]
        return self.function(*plain)

    def __call__(self, count: int, *arguments: Any, work: int, workers: int | None = None) -> None:
        """Run over ``range(count)``; ``work`` is the number of steps to expect and decides how."""
        if self._arrays is not None and not is_loaded() and work < WORTH_LOADING and self._arrays(count, *arguments):
            return
        if not pays(work):
            self.interpreted(0, count, *arguments)
            return
        run = self.compiled
        # A slice of less than some 200,000 steps is done before a thread has started.
        parts = min(workers or available_workers(), 1 + work // 200_000)
        spread(lambda piece: run(piece[0], piece[1], *arguments), slices(count, parts), workers=parts)
