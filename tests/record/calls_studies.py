"""Sequential studies: their file, and what plans promise."""

from __future__ import annotations

from .call import Call, calls

_PLAN = (
    ("*recommend*", "a plan that does not hold α is never to be recommended"),
    ("*advice*", "a plan that does not hold α is never to be recommended"),
)
_ROW_NAMES = (("*", "the row that is named after Webber et al. (2008) has not the paper's numbers"),)
_GOAL = "--difference 0.05 --sd 0.1 --system s1 --baseline s0"
_ADDED = "study add my.study batch1.csv"


def _new(plan: str, more: str = "") -> str:
    return f"study new my.study {_GOAL} --plan {plan} {more}".strip()


def _steps(text: str, *before: str) -> Call:
    return Call(text, before=before, known_wrong=_PLAN)


_PLANS = ("fixed", "iterative", "hybrid", "group-sequential", "anytime")

CALLS = [
    *(_steps(_new(plan)) for plan in _PLANS),
    _steps(_new("group-sequential", "--looks 0.3,0.6,1 --spending pocock")),
    _steps(_new("fixed", "--topics topics.txt --seed 3")),
    _steps("study new my.study --difference 0.05 --past six.csv -m AP --plan fixed --cautious"),
    _steps("study new my.study --difference 0.05 --trial two.csv --plan fixed --cautious"),
    *(_steps(f"study status my.study # {plan}", _new(plan), _ADDED) for plan in _PLANS),
    *(_steps(f"study test my.study # {plan}", _new(plan), _ADDED, "study add my.study batch2.csv") for plan in _PLANS),
    _steps("study test my.study # too early", _new("fixed"), _ADDED),
    _steps(_ADDED, _new("fixed")),
    _steps("study next my.study --count 5", _new("fixed", "--topics topics.txt"), _ADDED),
    _steps("study edit my.study --difference 0.08 --because 'fewer assessors'", _new("fixed"), _ADDED),
    Call("study log my.study", before=(_new("fixed"), _ADDED), varies=("*.at", "*.before", "*.check")),
    _steps("study status my.study # absent"),
    *calls(
        "study plans --difference 0.033 --sd 0.15",
        "study plans --difference 0.05 --sd 0.15 --looks 3 --spending pocock --alpha 0.01 --power 0.9 --first 20",
        "study past six.csv -m AP --difference 0.033 --percentile 90",
        "study trial --difference 0.033 --sd 0.12,0.15,0.18",
        "study trial --difference 0.05 --sd 0.15 --trial-size 20,40 --confidence 0.9",
        "study trial six.csv -m AP --trial-size 10 --pairs 5 --repeats 50",
        "cf.study_plans(difference=0.05, sd=0.15).to_dict()",
        known_wrong=_PLAN,
    ),
    *calls("study past trec3_map.csv --difference 0.033", known_wrong=_ROW_NAMES),
    *calls(
        "study simulate two.csv --repeats 100",
        "study simulate six.csv -m AP --system s5 --baseline s0 --repeats 100 --plans fixed,group-sequential",
        "study simulate six.csv -m AP --pairs 3 --repeats 30 --plans fixed,hybrid",
        "study peek two.csv --first 10 --low 0 --high 1 --repeats 50",
        "study peek trec3_map.csv --first 20 --repeats 20",
        "study width human.csv --judge model.csv --width 0.1 --system s1 --baseline s0 --studies 200",
        known_wrong=_PLAN,
    ),
]
