"""What labels of a model are worth: judges."""

from __future__ import annotations

from .call import calls

_RUNS = "judges demo/runs -q demo/qrels.txt --judge model=demo/judge.txt"

CALLS = calls(
    _RUNS,
    f"{_RUNS} -m nDCG@10",
    f"{_RUNS} -m AP -m P@10 --alpha 0.1",
    f"{_RUNS} --topics 50,100,400",
    f"{_RUNS} --teams demo/teams.tsv",
    f"{_RUNS} --earlier model=demo/qrels.txt",
    f"{_RUNS} --judge same=demo/qrels.txt",
    "judges demo/runs --judge model=demo/judge.txt --draw 10",
    "judges demo/runs --judge model=demo/judge.txt --draw 10 --stratify --seed 2",
    "judges human.csv --judge model.csv",
    "judges human.csv --judge a=model.csv --judge b=model2.csv",
    "judges human.csv --judge model.csv --topics 100 --alpha 0.01",
    "judges human.csv --judge now=model.csv --earlier now=model2.csv",
    "judges human.csv --judge human.csv",
    "cf.judges('human.csv', judge='model.csv').to_dict()",
)
