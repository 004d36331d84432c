"""A sequential study that is under way: its file is started, added to, looked at, tested, changed and listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.methods.names import PlanName
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Input, Param, Written, about, question
from cranfield.questions.study import (
    USUAL_PLAN,
    Alpha,
    Baseline,
    DefaultDifference,
    Difference,
    Power,
    Sd,
    System,
    chosen_difference,
)
from cranfield.results import Result

if TYPE_CHECKING:
    from cranfield.methods.sequential import FinalTest, Prospect, Status
    from cranfield.methods.sequential.study import Added, Course
    from cranfield.scores import ScoreTable

File = Annotated[str, Input("The file of the study.", metavar="FILE")]
OwnFile = Annotated[str, Written("The file of the study.", metavar="FILE")]
Expect = Annotated[
    str | None, Param("A seal that the file had earlier; the file is refused if no step has it.", metavar="SEAL")
]
_USUAL = {**USUAL_PLAN, "looks": f"{USUAL_PLAN['looks']}, or fewer of few topics"}
NEW_PLAN = {name: groups.changed(groups.Plan, name, default=str(value)) for name, value in _USUAL.items()}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyNewResult(Result):
    """The state of a new study (``status``), and what its plan promises (``expected``)."""

    status: Status
    expected: Prospect


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyEditResult(Result):
    """The state of a study under its new goal (``status``)."""

    status: Status


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyStatusResult(Result):
    """The state of a study (``status``), and its course so far."""

    status: Status
    course: Course


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyAddResult(Result):
    """The topics that were added, and the state of the study after them (``added``)."""

    added: Added


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyNextResult(Result):
    """The topics to judge next, and the state of the study."""

    topics: tuple[str, ...]
    status: Status


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyTestResult(Result):
    """The test with its caveats (``tested``)."""

    tested: FinalTest

    @property
    def exit_code(self) -> int:
        """1 where the scores allow no claim."""
        return 1 if self.tested.reason else 0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyLogResult(Result):
    """Every step of a study in order (``steps``); ``seal`` is the checksum of the last, which depends on all."""

    steps: Sequence[Mapping[str, Any]]

    @property
    def seal(self) -> str:
        return str(self.steps[-1]["check"])


@question("A new study", examples=("cranfield study new mine.study --difference 0.03 --sd 0.13 --topics topics.txt",))
def study_new(
    file: OwnFile,
    *,
    difference: DefaultDifference = None,
    sd: Sd = None,
    past: Annotated[
        Any, Input("Earlier scores, to estimate the sd from all pairs of their systems.", metavar="SCORES")
    ] = None,
    trial: Annotated[
        Any, Input("Scores of a trial of the two systems, to estimate the sd from.", metavar="SCORES")
    ] = None,
    cautious: Annotated[
        bool,
        Param(
            "Use a cautious sd: with `past` the 95th percentile of all pairs, with `trial` the upper confidence limit."
        ),
    ] = False,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    system: System = None,
    baseline: Baseline = None,
    measure: shared.Measure = None,
    topics: Annotated[
        str | None, Input("Candidate topics, one per line; a random order of them is drawn.", metavar="FILE")
    ] = None,
    plan: Annotated[
        groups.PlanLike,
        groups.Fields(
            groups.Plan,
            "name",
            "first",
            "looks",
            "spending",
            "bounds",
            usual={"name": "group-sequential"},
            **NEW_PLAN,
            name=groups.changed(groups.Plan, "name", PlanName),
        ),
    ] = None,
    source: groups.TableSource = None,
    resampling: Annotated[
        groups.ResamplingLike,
        groups.Fields(
            groups.Resampling,
            "seed",
            usual={"seed": None},
            seed=groups.changed(
                groups.Resampling,
                "seed",
                int | None,
                help="Random seed of the order of `topics`.",
                default="1",
                requires=("topics",),
            ),
        ),
    ] = None,
) -> StudyNewResult:
    """Start a study: a new file that fixes the goal before the first topic, and draws the order of the topics.

    Returns
    -------
    StudyNewResult
        The state of the study, and what its plan promises.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/mine.study"
    >>> cf.study_new(file, difference=0.033, sd=0.15, plan="fixed").expected.first  # Webber et al. (2008), Section 5.1
    165
    """
    from cranfield.methods.sequential.groups import with_usual_looks
    from cranfield.methods.sequential.plans import prospect
    from cranfield.methods.sequential.study import create_study, estimate_sd
    from cranfield.methods.sequential.study_goal import StudyGoal, bounds_from, check_effect, looks_from, read_topics

    rules: Any = groups.Plan.of(plan)
    seed: int | None = groups.Resampling.of(resampling).seed
    told: dict[str, Any] = {"measure": measure, **groups.Source.of(source).of_tables}
    earlier = None if past is None else sources.load_tables(past, **told)
    tried = None if trial is None else sources.load_tables(trial, **told)
    given = {
        "first": rules.first,
        "looks": None if rules.looks is None else looks_from(rules.looks),
        "spending": rules.spending,
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    estimate = estimate_sd(
        sd=sd,
        past=None if earlier is None else earlier.only,
        trial=None if tried is None else tried.only,
        system=system,
        baseline=baseline,
        measure=measure,
        cautious=cautious,
    )
    lowest, highest = bounds_from(rules.bounds)
    goal = StudyGoal(
        difference=chosen_difference(difference, earlier or tried),
        sd=estimate.sd,
        sd_from=estimate.source,
        plan=rules.name,
        alpha=alpha,
        power=power,
        lowest=lowest,
        highest=highest,
        **chosen,
    )
    check_effect(rules.name, chosen)
    goal = goal if goal.plan != "group-sequential" or "looks" in chosen else with_usual_looks(goal)
    expected = prospect(goal)
    study = create_study(
        file,
        goal,
        system=system,
        baseline=baseline,
        measure=measure,
        trial_topics=estimate.trial_topics,
        topics=read_topics(topics) if topics else (),
        seed=1 if seed is None else seed,
    )
    warnings = [warning for tables in (earlier, tried) if tables for warning in tables.warnings]
    return StudyNewResult(status=study.status(), expected=expected, warnings=tuple(warnings))


@question("Add topics to a study", examples=("cranfield study add mine.study batch1.csv",))
def study_add(
    file: OwnFile,
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measure = None,
    source: groups.TableSource = None,
) -> StudyAddResult:
    """Add the scores of both systems on judged topics; they are saved when the command ends.

    Returns
    -------
    StudyAddResult
        What was added, and the state of the study; the observed difference is not shown.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/mine.study"
    >>> new = cf.study_new(file, difference=0.2, sd=0.1, plan="fixed", system="a", baseline="b", measure="AP")
    >>> scores = {"a": {str(n): 0.5 + n / 50 for n in range(8)}, "b": {str(n): 0.3 + n / 40 for n in range(8)}}
    >>> added = cf.study_add(file, scores, measure="AP")
    >>> len(added.added.taken)
    8
    """
    from cranfield.methods.sequential.study import open_study

    study = open_study(file)
    wanted = measure or study.status().measure
    table: ScoreTable = sources.load_tables(
        scores, qrels=qrels, measure=wanted, **groups.Source.of(source).of_tables
    ).only
    # Only what reading gave: warnings about the scores would show which system is ahead.
    return StudyAddResult(added=study.add(table, measure=wanted), warnings=tuple(table.warnings))


@question("The topics to judge next", examples=("cranfield study next mine.study --count 10",))
def study_next(
    file: File,
    *,
    count: Annotated[
        int | None, Param("Number of topics.", default="up to the next decision", ge=1, le=1_000_000_000, metavar="N")
    ] = None,
) -> StudyNextResult:
    """The topics to judge next, in the random order drawn when the study was started.

    Returns
    -------
    StudyNextResult
        The topics, and the state of the study.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> written = (folder / "topics.txt").write_text("\\n".join(map(str, range(401, 451))))
    >>> file = str(folder / "mine.study")
    >>> new = cf.study_new(file, difference=0.2, sd=0.1, topics=str(folder / "topics.txt"))
    >>> len(cf.study_next(file, count=3).topics)
    3
    """
    from cranfield.methods.sequential.study import open_study

    study = open_study(file)
    return StudyNextResult(topics=tuple(study.next_topics(count)), status=study.status())


@question("The state of a study", examples=("cranfield study status mine.study",), charts=("course",))
def study_status(file: File, *, expect: Expect = None) -> StudyStatusResult:
    """The power so far and the number of topics to the next decision; the observed difference is not shown.

    Returns
    -------
    StudyStatusResult
        The state of the study, and its course so far.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/mine.study"
    >>> new = cf.study_new(file, difference=0.2, sd=0.1, plan="fixed", system="a", baseline="b", measure="AP")
    >>> scores = {"a": {str(n): 0.5 + n / 50 for n in range(8)}, "b": {str(n): 0.3 + n / 40 for n in range(8)}}
    >>> added = cf.study_add(file, scores, measure="AP")
    >>> cf.study_status(file).status.topics
    8
    """
    from cranfield.methods.sequential.study import course, open_study

    study = open_study(file, expect=expect)
    return StudyStatusResult(status=study.status(), course=course(study.progress()))


@question("The test of a study", examples=("cranfield study test mine.study",))
def study_test(file: OwnFile, *, expect: Expect = None) -> StudyTestResult:
    """Run the test, once the plan allows it; with its caveats and a paragraph for a paper.

    Exit code 1 when it is too early, and when the scores allow no claim.

    Returns
    -------
    StudyTestResult
        The test with its caveats.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/mine.study"
    >>> new = cf.study_new(file, difference=0.2, sd=0.1, plan="fixed", system="a", baseline="b", measure="AP")
    >>> scores = {"a": {str(n): 0.5 + n / 50 for n in range(8)}, "b": {str(n): 0.3 + n / 40 for n in range(8)}}
    >>> added = cf.study_add(file, scores, measure="AP")
    >>> round(float(cf.study_test(file).tested.difference), 3)
    0.182
    """
    from cranfield.methods.sequential.study import open_study

    return StudyTestResult(tested=open_study(file, expect=expect).test())


@question(
    "Change the goal of a study",
    examples=("cranfield study edit mine.study --difference 0.04 --because 'fewer assessors than planned'",),
)
def study_edit(
    file: OwnFile,
    *,
    because: Annotated[str, Param("The reason; it is recorded with the change.", label="Reason", metavar="TEXT")],
    difference: Annotated[float | None, about(Difference, default="unchanged")] = None,
    alpha: Annotated[float | None, about(Alpha, default="unchanged")] = None,
    power: Annotated[float | None, about(Power, default="unchanged")] = None,
    sd: Sd = None,
    plan: Annotated[
        groups.PlanLike,
        groups.Fields(
            groups.Plan,
            "name",
            "first",
            "looks",
            "spending",
            name=groups.changed(groups.Plan, "name", help="New plan.", titles={"": "unchanged"}),
        ),
    ] = None,
) -> StudyEditResult:
    """Change the goal of a study; the change is recorded in the file, and stated in every report of the test.

    Returns
    -------
    StudyEditResult
        The state of the study under the new goal.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/mine.study"
    >>> new = cf.study_new(file, difference=0.2, sd=0.1, plan="fixed", system="a", baseline="b", measure="AP")
    >>> cf.study_edit(file, difference=0.25, because="fewer assessors").status.goal.difference
    0.25
    """
    from cranfield.methods.sequential.study import open_study
    from cranfield.methods.sequential.study_goal import looks_from

    rules: Any = groups.Plan.of(plan)
    given = {
        "difference": difference,
        "alpha": alpha,
        "power": power,
        "sd": sd,
        "plan": rules.name,
        "first": rules.first,
        "looks": None if rules.looks is None else looks_from(rules.looks),
        "spending": rules.spending,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return StudyEditResult(status=open_study(file).edit(changes, reason=because))


@question(
    "The steps of a study",
    examples=("cranfield study log mine.study", "cranfield study log mine.study --expect 5f0c3f9b1d2e4a67"),
)
def study_log(file: File, *, expect: Expect = None) -> StudyLogResult:
    """Every step of a study in order, after verifying the chain of checksums.

    The checksums show steps that were changed, put in, or removed before another. They cannot show steps that were
    removed from the end, or a file that was written anew: keep the seal (the last checksum) elsewhere and give it with
    `expect`.

    Returns
    -------
    StudyLogResult
        The steps.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/mine.study"
    >>> new = cf.study_new(file, difference=0.2, sd=0.1, plan="fixed", system="a", baseline="b", measure="AP")
    >>> log = cf.study_log(file)
    >>> [step["event"] for step in log.steps]
    ['new']
    >>> cf.study_log(file, expect=log.seal).seal == log.seal
    True
    """
    from cranfield.methods.sequential.study import open_study

    return StudyLogResult(steps=tuple(open_study(file, expect=expect).history()))
