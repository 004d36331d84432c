"""What smaller pilots would have found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Counts, Param, Written, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.leave_out import PilotStudy


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PilotResult(Result):
    """Variances, and the topics they require, of pilots with fewer teams and topics.

    Attributes
    ----------
    study
        Every measure with every number of teams left out and of topics kept.
    """

    study: PilotStudy


@question(
    "Smaller pilots",
    examples=("cranfield pilot runs/ --qrels qrels.txt --teams teams.tsv -m AP -m nDCG@10",),
    charts=("variance",),
    working="leaving teams out",
    is_parallel=True,
)
def pilot(
    runs: sources.Runs,
    *,
    qrels: sources.Qrels = None,
    measure: shared.RunMeasures = None,
    leave_out: Annotated[
        Counts,
        Param(
            "Numbers of teams to leave out.", default="every number", label="Teams left out", short="-k", metavar="K"
        ),
    ] = None,
    topics: Annotated[
        Counts,
        Param(
            "Numbers of topics to keep, in addition to all topics.",
            default="75,50,25,10",
            label="Topics kept",
            short="-n",
            metavar="N",
        ),
    ] = None,
    trials: Annotated[int, Param("Number of random pilots of each size.", ge=2, le=100_000, metavar="N")] = 100,
    depth: Annotated[
        int | None,
        Param("Pool depth.", default="that of the judgments", label="Pool depth", ge=1, le=100_000, metavar="D"),
    ] = None,
    systems: shared.Systems = None,
    difference: shared.Difference = None,
    test: shared.Test = None,
    alpha: shared.Alpha = 0.05,
    power: shared.Power = 0.8,
    within: Annotated[
        float,
        Param(
            "Largest acceptable relative error of the variance of a pilot.",
            label="Acceptable error",
            gt=0,
            le=10,
            metavar="SHARE",
        ),
    ] = 0.25,
    write_qrels: Annotated[
        str | None, Written("Write the judgments without each team into this folder.", metavar="FOLDER")
    ] = None,
    goal: groups.OneGoal = None,
    spread: Annotated[groups.SpreadLike, groups.Fields(groups.Spread, "estimate")] = None,
    source: groups.RunSource = None,
    resampling: groups.Seeded = None,
) -> PilotResult:
    """How small a pilot may be: leave teams and topics out at random, and estimate variance and required topics again.

    Returns
    -------
    PilotResult
        One row per measure, number of teams left out and number of topics kept.

    References
    ----------
    .. [1] T. Sakai and L. Shang, "On estimating variances for topic set size design", EVIA, 2016.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import cranfield as cf
    >>> with TemporaryDirectory() as folder:
    ...     _ = cf.write_example(folder)
    ...     source = cf.Source(teams=f"{folder}/teams.tsv")
    ...     qrels = f"{folder}/qrels.txt"
    ...     found = cf.pilot(f"{folder}/runs", qrels=qrels, source=source, leave_out=1, topics=10, trials=2)
    >>> len(found.study.teams), found.study.topics
    (5, 40)
    """
    from cranfield.methods.design.planning import scales_of_runs
    from cranfield.methods.design.target import target_for
    from cranfield.methods.leave_out import pilot_study, write_leave_outs

    aims: Any = groups.Goal.of(goal)
    collection = sources.load_collection(runs, qrels=qrels, **groups.Source.of(source).of_runs)
    measures: Any = measure or ["AP"]
    target = target_for(
        len(collection.systems),
        systems=systems,
        min_range=aims.min_range,
        difference=difference,
        width=aims.width,
        alpha=alpha,
        power=power,
        method=aims.method,
        test=test,
        scales=scales_of_runs([collection], measures),
    )
    if write_qrels is not None:
        write_leave_outs(collection, write_qrels, depth=depth)
    sizes: dict[str, Any] = {"left_out": leave_out, "pilot_topics": topics}
    study = pilot_study(
        collection,
        measures,
        **sizes,
        trials=trials,
        depth=depth,
        estimate=groups.Spread.of(spread).estimate,
        target=target,
        tolerance=within,
        seed=groups.Resampling.of(resampling).seed,
        progress=listener(),
    )
    warnings = sources.collection_warnings({"": collection}, measures)
    return PilotResult(study=study, inputs=shared.target_inputs(target), warnings=warnings)
