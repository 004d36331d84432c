"""Indicators predicted from Eρ² and Φ: regressions of Urbano, Marrero and Martín over 43 TREC collections."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.errors import RequestError

# Powers of Eρ², of 1 − Eρ² and of 1 − Φ.  Urbano et al. 2013 Fig. 3
_OF_RELATIVE = {"tau": 2.84729794, "tau_ap": 3.98652984, "power": 4.77902510}
_OF_RELATIVE_ERROR = {"minor_conflicts": 1.53337367, "major_conflicts": 2.62976839, "absolute_sensitivity": 1.54402997}
_OF_ABSOLUTE_ERROR = {"relative_sensitivity": 1.29759126, "rmse": 3.27642726}


@dataclass(frozen=True)
class Indicators:
    """Average values for collections with these coefficients; single collections can differ much."""

    tau: float
    tau_ap: float
    power: float
    minor_conflicts: float
    major_conflicts: float
    absolute_sensitivity: float
    relative_sensitivity: float
    rmse: float


def indicators(relative: float, absolute: float) -> Indicators:
    """τ, τ_AP, power and conflicts of paired t tests, sensitivities and error that go with Eρ² and Φ.

    >>> found = indicators(0.95, 0.8)
    >>> round(found.tau, 5), round(found.relative_sensitivity, 5)
    (0.86412, 0.12389)
    """
    for value in (relative, absolute):
        if not 0 <= value <= 1:
            raise RequestError(f"no coefficient is {value:g}", fix="Eρ² and Φ lie between 0 and 1.")
    return Indicators(
        **{name: relative**power for name, power in _OF_RELATIVE.items()},
        **{name: (1 - relative) ** power for name, power in _OF_RELATIVE_ERROR.items()},
        **{name: (1 - absolute) ** power for name, power in _OF_ABSOLUTE_ERROR.items()},
    )
