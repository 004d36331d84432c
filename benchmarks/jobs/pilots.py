"""Jobs: leave k teams out at random, score the rest again, and estimate the variance; ours and by pytrec_eval.

``python -m benchmarks.jobs.pilots ours RUNS QRELS TEAMS MEASURES TRIALS``; ``pytrec_eval`` takes the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.jobs import clock

# The same measures by both names.
NAMES = {"AP": "map", "P@10": "P_10", "nDCG": "ndcg", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank"}
DEEP = 100  # pools of real collections go no deeper
FEW = 4  # trials of pytrec_eval's where lists are long; it takes half a second each


def ours(runs: str, qrels: str, teams: str, measures: str, trials: str) -> None:
    import cranfield
    from cranfield.methods.leave_out import pilot_study

    collection = cranfield.read_collection(runs, qrels, teams=_teams(runs, int(teams)))
    depth = min(DEEP, int(collection.returned.max()))

    def study() -> None:
        pilot_study(collection, measures.split(","), pilot_topics=(), trials=int(trials), depth=depth)

    study()  # compiles
    clock.answer(seconds=clock.fastest(study), share=1)


def pytrec_eval(runs: str, qrels: str, teams: str, measures: str, trials: str) -> None:
    """The judgments rebuilt for every trial; who contributed what is found beforehand, and not timed."""
    import pytrec_eval as peer

    files = clock.files(runs)
    read = {}
    for file in files:
        with open(file) as stream:
            read[file] = peer.parse_run(stream)
    with open(qrels) as stream:
        judged = peer.parse_qrel(stream)
    team_of = dict(zip(files, _teams(runs, int(teams)).values(), strict=True))
    contributors = _contributors(read, team_of)
    names = sorted({NAMES[measure] for measure in measures.split(",")})
    wanted = _trials(int(teams), int(trials))
    deepest = max(len(documents) for run in read.values() for documents in run.values())
    some = wanted if deepest <= DEEP else [wanted[round(at)] for at in np.linspace(0, len(wanted) - 1, FEW + 2)[1:-1]]

    def study() -> None:
        for out in some:
            kept = {
                topic: {
                    document: grade
                    for document, grade in grades.items()
                    if not (mine := contributors.get((topic, document))) or mine - out
                }
                for topic, grades in judged.items()
            }
            evaluator = peer.RelevanceEvaluator(kept, names)
            tables = [evaluator.evaluate(run) for file, run in read.items() if team_of[file] not in out]
            for name in names:
                table = np.array([[scores[name] for scores in found.values()] for found in tables])
                table.var(axis=1, ddof=1).mean()

    clock.answer(seconds=clock.fastest(study, at_most=3, budget=6.0), share=len(some) / len(wanted))


def _teams(runs: str, count: int) -> dict[str, str]:
    """Runs dealt out to teams; a run's tag is its file's name without ``input.``."""
    return {file.rpartition("input.")[2]: f"team{at % count:02d}" for at, file in enumerate(clock.files(runs))}


def _trials(teams: int, trials: int) -> list[set[str]]:
    rng = np.random.default_rng(1)
    names = [f"team{at:02d}" for at in range(teams)]
    return [{names[at] for at in rng.permutation(teams)[:k].tolist()} for k in range(1, teams) for _ in range(trials)]


def _contributors(
    runs: dict[str, dict[str, dict[str, float]]], team_of: dict[str, str]
) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for file, run in runs.items():
        for topic, scores in run.items():
            best: Sequence[str] = sorted(scores, key=lambda document: (scores[document], document), reverse=True)
            for document in best[:DEEP]:
                found.setdefault((topic, document), set()).add(team_of[file])
    return found


if __name__ == "__main__":
    clock.start(globals())
