"""The tests that are run when none is named: comparing and planning take the same ones.

They were chosen by the family-wise error rates and the power in docs/methods/max-t.md.
"""

ALL_PAIRS_TEST = "max-t"  # all pairs of systems
BASELINE_TEST = "dunnett"  # all systems against a baseline
