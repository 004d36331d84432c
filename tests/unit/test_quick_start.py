"""SciPy starts quicker in a command, and nothing is missing afterwards."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from cranfield.__main__ import UNUSED, skip_unused_numpy
skip_unused_numpy()
from scipy import special
import numpy
early = [name for name in UNUSED if f"numpy.{name}" in sys.modules]
import scipy.stats
whole = all(getattr(numpy, name) is not None for name in UNUSED)
print(early, whole, round(float(special.ndtri(0.975)), 2), round(float(scipy.stats.norm.cdf(0)), 2))
"""


def test_scipy_special_starts_without_the_fortran_reader_and_numpy_is_whole_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    early, _, rest = done.stdout.strip().partition("] ")
    assert "f2py" not in early
    assert rest == "True 1.96 0.5"
