"""Studies: goals that are kept, additions, looks, tests, and what is reported of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.errors import InputError, RequestError
from cranfield.methods.sequential import (
    Study,
    StudyGoal,
    TooEarlyError,
    bets_for,
    confidence_sequence,
    create_study,
    even_looks,
    group_design,
    journal,
    open_study,
)
from cranfield.methods.sequential.boundaries import obrien_fleming_spending
from cranfield.methods.sequential.groups import t_levels
from cranfield.methods.sequential.study import estimate_sd
from cranfield.rendering.study_document import paragraph, status_document
from cranfield.scores import ScoreTable

Array = np.ndarray[Any, Any]


def table_of(differences: Array, first: int = 301, systems: tuple[str, str] = ("new", "old")) -> ScoreTable:
    """Scores around a half that differ as said."""
    values = np.stack([0.5 + differences / 2, 0.5 - differences / 2], axis=1)[None, :, :, None]
    return ScoreTable(("AP",), tuple(str(first + at) for at in range(len(differences))), systems, values)


@pytest.fixture
def drawn() -> Array:
    return np.asarray(np.clip(np.random.default_rng(8).normal(0.04, 0.12, 600), -0.9, 0.9))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.study"


def begun(path: Path, **options: Any) -> Study:
    return create_study(path, StudyGoal(**{"difference": 0.04, "sd": 0.1, **options}))


# --- fixed


def test_a_fixed_study_tests_once_when_its_topics_are_there(path: Path, drawn: Array) -> None:
    study = begun(path, plan="fixed")
    assert study.status().next_look == 52
    study.add(table_of(drawn[:51]))
    assert study.status().more == 1
    with pytest.raises(TooEarlyError, match="too early for a test: 51 topics, where the fixed plan needs 52"):
        study.test()
    study.add(table_of(drawn[51:52], 352))
    found = study.test()
    assert found.p_value == pytest.approx(stats.ttest_1samp(drawn[:52], 0).pvalue)
    interval = stats.ttest_1samp(drawn[:52], 0).confidence_interval(0.95)
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high))
    assert found.system == "new"


def test_p_above_the_level_is_no_finding(path: Path, drawn: Array) -> None:
    study = begun(path, plan="fixed")
    study.add(table_of(drawn[:60] - drawn[:60].mean() + 0.02))
    found = study.test()
    assert 0.05 < found.p_value < 0.5
    assert not found.significant
    assert found.verdict == "not significant"
    assert found.summary().startswith("new and old are not significantly different: mean difference 0.0200 in AP, 95 %")
    assert "(two-sided paired t test, 60 shared topics)" in found.summary()


def test_a_fixed_study_that_missed_its_power_says_so(path: Path, drawn: Array) -> None:
    study = begun(path, plan="fixed", sd=0.06)
    study.add(table_of(drawn[:20]))
    found = study.test()
    assert found.achieved_power < 0.8
    assert any("does not rule out such a difference" in text for text in found.caveats())


def test_a_study_takes_no_topics_after_its_last(path: Path, drawn: Array) -> None:
    study = begun(path, plan="fixed")
    study.add(table_of(drawn[:60]))
    with pytest.raises(RequestError, match="has all its topics"):
        study.add(table_of(drawn[60:61], 400))
    study.edit({"sd": 0.13}, reason="it varies more than thought")
    study.add(table_of(drawn[60:61], 400))


# --- iterative and hybrid


def test_an_iterative_study_stops_where_the_algorithm_does(path: Path, drawn: Array) -> None:
    from designs import power_for_difference

    study = begun(path, plan="iterative", first=20, difference=0.06)
    n = 0
    while not study.status().ready:
        study.add(table_of(drawn[n : n + 1], 301 + n))
        n += 1
    powers = [float(power_for_difference(topics=k, difference=0.06, sd=drawn[:k].std(ddof=1))) for k in range(2, n + 1)]
    assert n == next(k for k in range(20, 600) if powers[k - 2] >= 0.8)
    found = study.test()
    assert (found.topics, found.first, found.looks) == (n, 20, n - 20 + 1)
    assert study.status().achieved_power == pytest.approx(powers[-1])


def test_a_hybrid_study_asks_for_what_the_sd_seen_needs(path: Path, drawn: Array) -> None:
    from designs import size_for_difference

    study = begun(path, sd=0.08, plan="hybrid")
    first = int(size_for_difference(difference=0.04, sd=0.08).topics)
    study.add(table_of(drawn[:10]))
    assert study.status().next_look == first  # an sd seen early changes nothing
    study.add(table_of(drawn[10:first], 311))
    asked = int(size_for_difference(difference=0.04, sd=drawn[:first].std(ddof=1)).topics)
    assert study.status().next_look == asked > first
    with pytest.raises(TooEarlyError):
        study.test()
    while not study.status().ready:
        status = study.status()
        study.add(table_of(drawn[status.topics : status.topics + status.more], 301 + status.topics))
    found = study.test()
    assert found.first == first
    assert found.looks == study.status().looks >= 2
    text = paragraph(found)
    for piece in (
        "hybrid method",
        "δ = 0.04",
        f"required {first} topics",
        f"looked at {found.looks} times",
        "somewhat too small",
    ):
        assert piece in text


def test_the_status_says_nothing_about_who_is_ahead(path: Path, drawn: Array) -> None:
    study = begun(path)
    study.add(table_of(drawn[:30]))
    mean = drawn[:30].mean()
    numbers = [value for value in study.status().to_dict().values() if isinstance(value, float)]
    assert not any(abs(abs(value) - abs(mean)) < 1e-9 for value in numbers)


def test_a_test_is_recorded_once_and_shown_again(path: Path, drawn: Array) -> None:
    study = begun(path, plan="fixed")
    study.add(table_of(drawn[:60]))
    first = study.test()
    assert open_study(path).test().to_dict() == first.to_dict()
    assert [step["event"] for step in study.history()] == ["new", "add", "test"]


# --- group-sequential


def test_looks_spend_what_was_planned_at_the_topics_really_there(path: Path, drawn: Array) -> None:
    goal = StudyGoal(difference=0.02, sd=0.12, plan="group-sequential", looks=even_looks(4))
    design = group_design(goal)
    study = create_study(path, goal)
    first, second = int(design.topics[0]) + 3, int(design.topics[1]) + 1  # a little late
    calm = drawn - drawn.mean()
    study.add(table_of(calm[: first - 10]))
    with pytest.raises(TooEarlyError):
        study.test()
    study.add(table_of(calm[first - 10 : first], 301 + first - 10))
    one = study.test()
    assert not one.significant
    assert "one of several looks" in one.caveats()[0]
    study.add(table_of(calm[first : first + 1], 301 + first))
    with pytest.raises(TooEarlyError):
        study.test()
    study.add(table_of(calm[first + 1 : second], 302 + first))
    two = study.test()
    made = np.array([first, second])
    expected = t_levels(made, obrien_fleming_spending(made / int(design.topics[-1]), 0.05))
    assert [one.level, two.level] == pytest.approx(expected)
    assert two.looks == 2
    assert [step["event"] for step in study.history()].count("test") == 2


def test_a_significant_look_ends_a_group_sequential_study(path: Path, drawn: Array) -> None:
    goal = StudyGoal(difference=0.04, sd=0.12, plan="group-sequential")
    study = create_study(path, goal)
    n = int(group_design(goal).topics[0])
    study.add(table_of(drawn[:n] + 0.3))
    found = study.test()
    assert found.significant
    assert found.last
    assert study.status().finished
    assert "stopped early" in found.caveats()[0]
    assert study.test().to_dict() == found.to_dict()
    with pytest.raises(RequestError, match="has all its topics"):
        study.add(table_of(drawn[n : n + 5], 900))


@pytest.mark.parametrize(("plan", "what"), [("fixed", "power so far"), ("group-sequential", "power of the whole plan")])
def test_the_power_of_a_plan_is_not_called_that_of_the_topics_so_far(
    path: Path, drawn: Array, plan: str, what: str
) -> None:
    study = begun(path, plan=plan)
    study.add(table_of(drawn[:5]))
    shown = dict(status_document(study.status(), {}).tables[1].rows)
    assert shown[f"{what} at the observed sd"] == f"{study.status().achieved_power:.4f}"


def test_topics_beyond_the_last_look_spend_all_that_is_left(path: Path, drawn: Array) -> None:
    goal = StudyGoal(difference=0.04, sd=0.1, plan="group-sequential", looks=(0.5, 1.0))
    most = int(group_design(goal).topics[-1])
    study = create_study(path, goal)
    study.add(table_of((drawn - drawn.mean())[: most + 20]))
    found = study.test()
    assert found.last
    assert found.level == pytest.approx(0.05)  # the only look that was made has all of α


# --- anytime


def test_an_anytime_study_may_be_looked_at_whenever(path: Path, drawn: Array) -> None:
    goal = StudyGoal(difference=0.05, sd=0.12, plan="anytime")
    study = create_study(path, goal)
    with pytest.raises(TooEarlyError):
        study.test()
    for n in (1, 5, 40, 200):
        there = study.status().topics
        study.add(table_of(drawn[there:n], 301 + there))
        found = study.test()
        expected = confidence_sequence(study.progress().differences, bets=bets_for(goal))
        assert (found.lower, found.upper) == (expected.lower, expected.upper)
        assert found.significant == expected.significant
    assert found.looks == 4
    assert study.test().looks == 4
    assert "does not affect its coverage" in paragraph(found)


# --- additions


def test_scores_that_are_there_already_are_passed_over_and_others_refused(path: Path, drawn: Array) -> None:
    study = begun(path)
    study.add(table_of(drawn[:10]))
    added = study.add(table_of(drawn[:12]))
    assert (len(added.taken), len(added.repeated)) == (2, 10)
    assert len(study.history()) == 3
    assert study.add(table_of(drawn[:12])).taken == ()
    assert len(study.history()) == 3
    with pytest.raises(InputError, match="topic 301 is in the study with other scores"):
        study.add(table_of(drawn[1:2]))


def test_an_addition_is_taken_whole_or_not_at_all(path: Path, drawn: Array) -> None:
    study = begun(path, lowest=-0.5, highest=0.5)
    wild = drawn[:5].copy()
    wild[3] = 0.8
    with pytest.raises(InputError, match=r"on topic 304 the systems differ by 0\.8, outside -0\.5 and 0\.5"):
        study.add(table_of(wild))
    assert study.status().topics == 0


def test_a_study_keeps_to_its_systems_and_its_measure(path: Path, drawn: Array) -> None:
    study = begun(path)
    study.add(table_of(drawn[:3]))
    with pytest.raises(InputError, match="no scores of «new»"):
        study.add(table_of(drawn[3:6], 400, ("x", "y")))
    other = table_of(drawn[3:6], 400)
    with pytest.raises(RequestError, match="no measure «AP»"):
        study.add(ScoreTable(("P@10",), other.topics, other.systems, other.values))
    with pytest.raises(RequestError, match="unclear which two"):
        begun(path.with_name("second"), plan="fixed").add(
            ScoreTable(("AP",), ("1",), ("a", "b", "c"), np.full((1, 1, 3, 1), 0.5))
        )


def test_named_systems_decide_the_sign(path: Path, drawn: Array) -> None:
    study = create_study(path, StudyGoal(difference=0.04, sd=0.1, plan="anytime"), system="old", baseline="new")
    study.add(table_of(drawn[:30]))
    assert study.test().difference == pytest.approx(-drawn[:30].mean())
    with pytest.raises(RequestError, match="a pair has two systems"):
        create_study(path.with_name("x"), StudyGoal(difference=0.04, sd=0.1), system="old")


def test_missing_scores_are_refused(path: Path, drawn: Array) -> None:
    table = table_of(drawn[:3])
    values = table.values.copy()
    values[0, 1, 0, 0] = np.nan
    with pytest.raises(InputError, match=r"1 of \d+ scores of AP is missing \(topic 302"):
        begun(path).add(ScoreTable(table.measures, table.topics, table.systems, values))


# --- the first estimate of the sd


def test_the_topics_of_a_trial_are_not_topics_of_the_study(path: Path, drawn: Array) -> None:
    trial = table_of(drawn[:30])
    found = estimate_sd(trial=trial)
    assert found.sd == pytest.approx(drawn[:30].std(ddof=1))
    assert estimate_sd(trial=trial, cautious=True).sd > found.sd * 1.1
    study = create_study(
        path, StudyGoal(difference=0.04, sd=found.sd, sd_from=found.source), trial_topics=found.trial_topics
    )
    with pytest.raises(InputError, match="topic 305 was in the trial"):
        study.add(table_of(drawn[:3], 305))
    study.add(table_of(drawn[:3], 400))


def test_the_sd_comes_from_one_place(drawn: Array) -> None:
    past = ScoreTable(("AP",), ("1", "2", "3"), ("a", "b", "c"), np.random.default_rng(1).random((1, 3, 3, 1)))
    assert estimate_sd(past=past).sd < estimate_sd(past=past, cautious=True).sd
    assert estimate_sd(past=past).source == "mean of 3 earlier pairs"
    with pytest.raises(RequestError, match="exactly one source"):
        estimate_sd()
    with pytest.raises(RequestError, match="exactly one source"):
        estimate_sd(sd=0.1, past=past)
    with pytest.raises(InputError, match="are equal on all topics"):
        estimate_sd(trial=table_of(np.zeros(5)))


# --- editing the goal


def test_a_changed_goal_is_recorded_and_reported(path: Path, drawn: Array) -> None:
    study = begun(path, plan="fixed")
    study.add(table_of(drawn[:30]))
    study.edit({"difference": 0.06}, reason="assessors left")
    assert study.status().ready
    found = study.test()
    assert found.edits[0].changes == {"difference": (0.04, 0.06)}
    text = paragraph(found)
    assert "After 30 topics, the goal's difference was changed from 0.04 to 0.06 (assessors left)." in text
    assert "the error guarantee no longer holds" in text
    assert study.history()[0]["goal"]["difference"] == 0.04


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "why not"),
        ({"power": 0.9}, " "),
        ({"colour": "blue"}, "x"),
        ({"power": 2.0}, "x"),
        ({"plan": "y"}, "x"),
        ({"first": 20}, "x"),
    ],
)
def test_changes_that_make_no_sense_are_not_recorded(changes: dict[str, Any], reason: str, path: Path) -> None:
    study = begun(path)
    with pytest.raises(RequestError):
        study.edit(changes, reason=reason)
    assert len(study.history()) == 1


# --- odd differences


CONSTANT = {
    "no difference": np.zeros(60),
    "the same difference": np.full(60, 0.25),
    "the same but for rounding": np.array([(0.1 + at / 100) - at / 100 for at in range(60)]),
}


@pytest.mark.parametrize("plan", ["fixed", "group-sequential"])
@pytest.mark.parametrize("differences", CONSTANT.values(), ids=list(CONSTANT))
def test_a_t_test_claims_nothing_of_constant_differences(path: Path, plan: str, differences: Array) -> None:
    study = begun(path, plan=plan)
    study.add(table_of(differences))
    found = study.test()
    assert (found.verdict, found.significant, found.sd) == ("no claim", False, 0.0)
    assert np.isnan([found.p_value, found.lower, found.upper, found.effect_size, found.achieved_power]).all()
    assert "no estimate of error" in found.summary()
    assert "no claim is made: all 60 differences equal" in paragraph(found)
    step = study.history()[-1]
    assert (step["verdict"], step["p_value"]) == ("no claim", None)


@pytest.mark.parametrize("plan", ["iterative", "hybrid"])
def test_plans_that_go_by_the_sd_do_not_take_constant_differences_for_an_sd(path: Path, plan: str) -> None:
    study = begun(path, plan=plan)
    study.add(table_of(np.full(60, 0.25)))
    assert study.status().achieved_power is None
    assert "their sd is not known yet" in study.status().summary()
    with pytest.raises(TooEarlyError, match=r"all 60 differences are equal.*nothing is claimed"):
        study.test()
    study.add(table_of(np.array([0.2, 0.3, 0.26]), 400))  # topics may still be added
    assert study.test().significant


# --- topics that drift


def test_an_empty_confidence_sequence_claims_nothing(path: Path) -> None:
    study = begun(path, plan="anytime")
    study.add(table_of(np.full(60, 0.3)))
    assert study.test().verdict == "differs"
    study.add(table_of(np.full(120, -0.3), 400))
    found = study.test()
    assert (found.verdict, found.significant, found.outcome.empty) == ("no claim", False, True)
    assert np.isnan([found.p_value, found.lower, found.upper, found.statistic]).all()
    assert found.summary().startswith("No claim about new and old on AP: the confidence sequence is empty")
    assert "no claim is made: the confidence sequence is empty" in paragraph(found)
    assert [step["verdict"] for step in study.history() if step["event"] == "test"] == ["differs", "no claim"]


def test_nothing_is_claimed_when_later_topics_leave_the_interval_of_earlier_ones(path: Path) -> None:
    study = begun(path, plan="anytime")
    study.add(table_of(np.concatenate([np.full(60, 0.3), np.full(20, -0.3)])))
    found = study.test()
    assert (found.verdict, found.outcome.empty) == ("no claim", False)
    assert "lies outside the interval that the topics left" in found.reason


def test_the_same_topics_in_random_order_are_not_empty(path: Path) -> None:
    x = np.concatenate([np.full(60, 0.3), np.full(120, -0.3)])
    order = np.random.default_rng(1).permutation(180)
    assert confidence_sequence(x).empty
    found = confidence_sequence(x[order])
    assert found.lower < found.mean < found.upper


def test_a_few_topics_that_decide_are_pointed_out(path: Path, drawn: Array) -> None:
    skewed = np.full(60, -0.002) + 0.001 * np.sign(drawn[:60])
    skewed[7] = 0.4
    study = begun(path, plan="fixed")
    study.add(table_of(skewed))
    assert any("very skewed" in text for text in study.test().caveats())


def test_simulations_take_a_study(path: Path, drawn: Array) -> None:
    study = begun(path)
    with pytest.raises(InputError, match="too few topics"):
        study.pairs()
    study.add(table_of(drawn[:40]))
    assert study.pairs().differences.shape == (1, 40)


# --- the seal


def crafted(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the steps of a study and seal them anew, as anybody can."""
    steps = [dict(step) for step in journal.read(path).steps]
    change(steps)
    lines, before = [], ""
    for step in steps:
        content = {name: value for name, value in step.items() if name not in ("before", "check")}
        lines.append(journal._line(content, before))
        before = json.loads(lines[-1])["check"]
    path.write_bytes(b"".join(lines))


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A study of three steps."""
    path = tmp_path / "mine.study"
    cf.study_new(str(path), difference=0.2, sd=0.1, plan="fixed", system="a", baseline="b", measure="AP")
    scores = {"a": {str(n): 0.5 + n / 50 for n in range(8)}, "b": {str(n): 0.3 + n / 40 for n in range(8)}}
    cf.study_add(str(path), scores, measure="AP")
    cf.study_test(str(path))
    return path


def test_a_removed_tail_is_found_by_a_seal_and_only_by_one(sealed: Path) -> None:
    whole = cf.study_log(str(sealed))
    sealed.write_bytes(b"".join(sealed.read_bytes().splitlines(keepends=True)[:2]))
    assert len(cf.study_log(str(sealed)).steps) == 2  # which nobody can see without the seal
    for ask in (cf.study_log, cf.study_status, cf.study_test):
        with pytest.raises(InputError, match=f"no step has the seal {whole.seal}: steps were removed from the end"):
            ask(str(sealed), expect=whole.seal)


def test_a_file_that_has_grown_still_has_its_earlier_seals(sealed: Path) -> None:
    for step in cf.study_log(str(sealed)).steps:
        assert len(cf.study_log(str(sealed), expect=f" {step['check'].upper()} ").steps) == 3


def test_a_file_written_anew_has_another_seal(sealed: Path) -> None:
    seal = cf.study_log(str(sealed)).seal

    def lie(steps: list[dict[str, Any]]) -> None:
        steps[1]["scores"][0][1] = 0.9

    crafted(sealed, lie)
    assert cf.study_log(str(sealed)).seal != seal
    with pytest.raises(InputError, match="no step has the seal"):
        cf.study_log(str(sealed), expect=seal)


def test_the_test_and_its_paragraph_state_the_seal(sealed: Path) -> None:
    tested, log = cf.study_test(str(sealed)), cf.study_log(str(sealed))
    assert (tested.tested.steps, tested.tested.seal) == (3, log.seal)
    assert tested.document().extra["paragraph"].endswith(f"had 3 steps after this test; its seal is {log.seal}.")
    assert f"3 steps, seal {log.seal}" in log.document().sentence


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (1, lambda steps: steps[0].pop("goal")),
        (1, lambda steps: steps[0]["goal"].pop("difference")),
        (1, lambda steps: steps[0].update(systems=7)),
        (2, lambda steps: steps[1].pop("scores")),
        (2, lambda steps: steps[1].pop("event")),
        (2, lambda steps: steps[1].update(scores=[["401", 0.5]])),
        (2, lambda steps: steps[1].update(scores=[["401", "high", 0.5], ["402", 0.5, 0.1]])),
        (2, lambda steps: steps[1].update(scores=3)),
        (2, lambda steps: steps[1].update(event="edit", changes={"difference": 0.1})),
        (3, lambda steps: steps[2].pop("level")),
    ],
)
def test_a_step_that_is_sealed_but_not_whole_is_an_error_with_its_line(
    sealed: Path, line: int, change: Callable[[list[dict[str, Any]]], None]
) -> None:
    crafted(sealed, change)
    for ask in (cf.study_log, cf.study_status, cf.study_test):
        with pytest.raises(InputError, match="this step has its seal, but not what such a step consists of") as found:
            ask(str(sealed))
        assert found.value.where == f"{sealed}:{line}"


@pytest.mark.parametrize(
    ("old", "new"), [(b'"step":2', b'"step":2,"step":2'), (b"0.5,", b"NaN,"), (b'"at":', b'"at" :')]
)
def test_a_line_is_to_the_byte_as_it_was_written(sealed: Path, old: bytes, new: bytes) -> None:
    lines = sealed.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(old, new, 1)
    sealed.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=r"this line is damaged|is not as it was written") as found:
        cf.study_log(str(sealed))
    assert found.value.where == f"{sealed}:2"
