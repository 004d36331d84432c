"""Golden numbers for tests/oracles/test_judge_agreement.py, computed with ppi-python, scikit-learn and krippendorff.

Run: python judges.py > judges.csv. The inputs are drawn here from a seed, and test_judge_agreement.py draws the same.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

SIZES = [(10, 40), (15, 200), (25, 60)]


def main() -> None:
    import krippendorff  # none of which the project installs
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    from sklearn.metrics import cohen_kappa_score

    versions = ", ".join(f"{name} {version(name)}" for name in ("ppi-python", "scikit-learn", "krippendorff"))
    print(f"# {versions}\nname,case,value")
    for n, whole in SIZES:
        rng = np.random.default_rng(n)
        e = rng.normal(0.1, 0.3, whole)
        d = 0.6 * e[:n] + rng.normal(0, 0.2, n)
        for tuning in (0.0, 0.4, 1.0, None):
            value = np.ravel(ppi_mean_pointestimate(d, e[:n], e[n:], lam=tuning))[0]
            low, high = ppi_mean_ci(d, e[:n], e[n:], alpha=0.05, lam=tuning)
            print(f"ppi value,{n} {tuning},{value:.15g}")
            print(f"ppi width,{n} {tuning},{np.ravel(high - low)[0]:.15g}")
    rng = np.random.default_rng(7)
    human = rng.integers(0, 4, 300)
    judge = np.clip(human + rng.integers(-1, 3, 300), 0, 3)
    for weights in (None, "linear", "quadratic"):
        print(f"kappa,{weights or 'none'},{cohen_kappa_score(human, judge, weights=weights):.15g}")
    for metric in ("nominal", "ordinal", "interval"):
        print(f"alpha,{metric},{krippendorff.alpha(np.array([human, judge]), level_of_measurement=metric):.15g}")


if __name__ == "__main__":
    main()
