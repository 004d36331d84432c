"""Boards of many tasks or collections: leaderboard."""

from __future__ import annotations

from .call import calls

_COLUMNS = "--columns topic=task,system=model,score=score"
_TYPED = "--columns topic=task,system=model,score=score,stratum=type"

CALLS = [
    *calls(
        f"leaderboard board.csv {_COLUMNS} --test t --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --test t --correct bh --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --test tukey --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --test wilcoxon --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --test t --standardise z --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --test t --weights t0=5 --weights t3=2 --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --test t --lower-is-better --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --test t --alpha 0.1 --resamples 500 --seed 3",
        f"leaderboard board.csv {_TYPED} --strata --resamples 500",
        f"leaderboard board.csv {_TYPED} --resamples 500",
        f"leaderboard board.csv {_COLUMNS} --ranks simultaneous --resamples 500",
        "leaderboard six.csv -m AP --test t --resamples 500",
        "leaderboard ties.csv --test sign --resamples 500",
        "cf.leaderboard('two.csv', test='t', resampling={'resamples': 500}).to_dict()",
    ),
    *calls(
        "leaderboard news.csv web.csv legal.csv --resamples 500",
        "leaderboard news.csv web.csv legal.csv --baseline s0 --resamples 500",
        "leaderboard news.csv web.csv legal.csv --weights news=2 --resamples 500",
        "leaderboard news.csv web.csv --standardise z --resamples 500",
    ),
    *calls(f"leaderboard board_holes.csv {_COLUMNS} --test t --resamples 500"),
    *calls(f"leaderboard board.csv {_COLUMNS} --resamples 500"),
]
