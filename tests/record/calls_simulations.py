"""Simulated scores, and designs checked by simulation: simulate and verify."""

from __future__ import annotations

from .call import calls

_SOLVED = "fitted by an iterative solver or a decomposition of LAPACK, whose last digits differ between machines"
_DISCRETE = (("*", "simulated scores of discrete measures have too few ties"),)
_FEW = "--collections 400 --no-search"

CALLS = [
    *calls(
        "simulate six.csv -m AP",
        "simulate six.csv -m AP --topics 100 --equal --seed 2",
        "simulate six.csv -m AP --gap 0.05 --margins normal",
        "simulate six.csv -m AP --means s0=0.5,s1=0.4 --margins beta",
        "simulate six.csv -m AP --margins kernel --dependence gaussian",
        "simulate six.csv -m AP --margins empirical --dependence gaussian",
        "simulate two.csv --margins normal --dependence vine",
        "simulate wide.csv --dependence vine --trees 1 --truncate",
        "cf.simulate('two.csv', topics=30).to_dict()",
        f"verify --difference 0.05 --sd 0.15 --test t {_FEW}",
        f"verify --difference 0.05 --sd 0.15 --test wilcoxon --topics 60 {_FEW}",
        f"verify --difference 0.05 --sd 0.15 --test sign --topics 60 {_FEW}",
        f"verify --difference 0.05 --sd 0.15 --test t --one-sided {_FEW}",
        f"verify --systems 5 --difference 0.05 --sd 0.15 --test tukey {_FEW}",
        f"verify --systems 5 --difference 0.05 --sd 0.15 --test holm {_FEW}",
        f"verify --systems 5 --difference 0.05 --sd 0.15 --test dunnett {_FEW}",
        f"verify --systems 5 --min-range 0.1 --variance 0.04 --method sakai {_FEW}",
        f"verify --systems 4 --min-range 0.15 --variance 0.04 --test anova --seed 2 {_FEW}",
        "verify --difference 0.1 --sd 0.15 --test t --collections 300 --gate",
        "verify --difference 0.1 --sd 0.15 --test t --collections 300 --topics 5 --no-search --gate",
        f"verify --difference 0.05 --sd 0.15 --judge-correlation 0.6 --human-cost 10 --judge-cost 0.1 {_FEW}",
        f"verify six.csv -m AP --difference 0.05 --test t {_FEW}",
        f"verify six.csv -m AP --difference 0.05 --test wilcoxon --topics 40 --margins normal {_FEW}",
        f"verify six.csv -m AP --min-range 0.1 --test blocked {_FEW}",
        "cf.verify(difference=0.1, sd=0.15, test='t', trials={'collections': 300, 'search': False}).to_dict()",
        tolerance=1e-9,
        because=_SOLVED,
    ),
    *calls("simulate six.csv -m P@10", "simulate ties.csv", "simulate binary.csv", known_wrong=_DISCRETE),
    *calls("verify --systems 4 --difference 0.1 --sd 0.15 --collections 250 --no-search"),
]
