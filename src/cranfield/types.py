"""Types that many modules share: arrays, what may become an array, and callbacks.

A module that does not import numpy itself imports these under ``TYPE_CHECKING`` only, so that the command starts fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
ArrayLike: TypeAlias = npt.ArrayLike  # a number, a sequence of numbers or an array
Progress: TypeAlias = Callable[[int, int], None]  # called with how many tasks are done, and of how many
