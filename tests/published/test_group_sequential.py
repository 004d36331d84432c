"""Published constants of group-sequential boundaries, to three decimals."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.methods.sequential.boundaries import (
    SPENDING,
    crossing_probabilities,
    obrien_fleming_constant,
    pocock_constant,
    spending_bounds,
)

# Pocock 1977 and O'Brien & Fleming 1979, as tabled by Jennison & Turnbull 2000 (Tables 2.1 and 2.3), two-sided α.
POCOCK = {
    0.01: {2: 2.772, 3: 2.873, 4: 2.939, 5: 2.986, 10: 3.117},
    0.05: {2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413, 10: 2.555, 20: 2.672},
    0.10: {2: 1.875, 3: 1.992, 4: 2.067, 5: 2.122, 10: 2.270},
}
OBRIEN_FLEMING = {
    0.01: {2: 2.580, 3: 2.595, 4: 2.609, 5: 2.621, 10: 2.660},
    0.05: {2: 1.977, 3: 2.004, 4: 2.024, 5: 2.040, 10: 2.087, 20: 2.126},
    0.10: {2: 1.678, 3: 1.710, 4: 1.733, 5: 1.751, 10: 1.801},
}
# Lan & DeMets' spending functions at even looks, α = .05 two-sided, as Reboussin et al. 2000 and their program print.
LAN_DEMETS = {
    "obrien-fleming": {
        2: [2.963, 1.969],
        3: [3.710, 2.511, 1.993],
        4: [4.333, 2.963, 2.359, 2.014],
        5: [4.877, 3.357, 2.680, 2.290, 2.031],
    },
    "pocock": {
        2: [2.157, 2.201],
        3: [2.279, 2.295, 2.296],
        4: [2.368, 2.368, 2.358, 2.350],
        5: [2.438, 2.427, 2.410, 2.397, 2.386],
    },
}


@pytest.mark.parametrize("alpha", POCOCK)
def test_pococks_constants(alpha: float) -> None:
    for looks, printed in POCOCK[alpha].items():
        assert pocock_constant(looks, alpha) == pytest.approx(printed, abs=1e-3)


@pytest.mark.parametrize("alpha", OBRIEN_FLEMING)
def test_obrien_and_flemings_constants(alpha: float) -> None:
    for looks, printed in OBRIEN_FLEMING[alpha].items():
        assert obrien_fleming_constant(looks, alpha) == pytest.approx(printed, abs=1e-3)


@pytest.mark.parametrize("spending", LAN_DEMETS)
def test_lan_and_demets_tables(spending: str) -> None:
    for looks, printed in LAN_DEMETS[spending].items():
        times = np.arange(1, looks + 1) / looks
        assert spending_bounds(times, SPENDING[spending](times, 0.05)) == pytest.approx(printed, abs=1e-3)


def test_one_look_is_the_usual_test() -> None:
    assert pocock_constant(1) == pytest.approx(1.959964, abs=1e-6)
    assert obrien_fleming_constant(1) == pytest.approx(1.959964, abs=1e-6)


def test_repeated_tests_at_five_percent_err_as_armitage_mcpherson_and_rowe_say() -> None:
    """Their Table 2: testing at .05 after each of K groups errs with .083, .107, .126, .142, .193, .248, .320."""
    printed = {1: 0.050, 2: 0.083, 3: 0.107, 4: 0.126, 5: 0.142, 10: 0.193, 20: 0.248, 50: 0.320}
    for looks, wrong in printed.items():
        times = np.arange(1, looks + 1) / looks
        assert crossing_probabilities(times, np.full(looks, 1.959964)).either.sum() == pytest.approx(wrong, abs=1e-3)
