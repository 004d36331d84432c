"""Pilot studies: what is left out, what is estimated, what is advised, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import cranfield
from cranfield.cli.app import app
from cranfield.collection import Collection
from cranfield.errors import RequestError
from cranfield.methods.design import Design
from cranfield.methods.design.target import Target
from cranfield.methods.leave_out import PilotStudy, pilot_study, write_leave_outs
from cranfield.methods.leave_out.pilots import _finite_correction, draw
from cranfield.methods.variance.components import squares
from cranfield.scores.evaluation import score_collection
from cranfield.stats.tails import t_critical
from designs import aim

Write = Callable[[str, str | bytes], str]


@pytest.fixture(scope="module")
def demo(example: Path) -> Collection:
    return cranfield.read_collection(
        example / "runs", example / "qrels.txt", intents=example / "intents.txt", teams=example / "teams.tsv"
    )


@pytest.fixture(scope="module")
def study(demo: Collection) -> PilotStudy:
    return pilot_study(demo, ["AP", "nERR@10", "Bpref", "alpha_nDCG@10"], left_out=[1, 2, 3], trials=6, seed=5)


def test_every_pilot_is_what_leaving_out_by_hand_gives(demo: Collection, study: PilotStudy) -> None:
    draws = draw(5, 40, study.left_out, study.trials, study.seed)
    contributors = demo.contributors()
    for at in range(0, len(draws), 5):
        gone = [team for team, stays in zip(contributors.teams, draws.staying[at], strict=True) if not stays]
        assert len(gone) == draws.left_out[at]
        reduced = demo.without_teams(*gone)
        systems = [s for s, team in zip(demo.systems, demo.teams or (), strict=True) if team not in gone]
        order = [topic for topic in draws.topic_order[at].tolist() if reduced.relevant[topic] > 0]
        for m, measure in enumerate(study.measures):
            table = score_collection(reduced, measure).select(systems=systems).of()
            for s, size in enumerate(study.pilot_topics):
                expected = squares(table[order[:size]]).residual
                assert study.variances[m, at, s] == pytest.approx(expected, rel=1e-12)


def corrected(mine: np.ndarray, all_topics: np.ndarray, share: float) -> float:
    """The sd of subsets of the same topics over √(1 − n/N), but for the part that comes of the teams."""
    teams = all_topics.var(ddof=1) if len(all_topics) > 1 else 0.0
    return float(np.sqrt(min(mine.var(ddof=1), teams) + max(mine.var(ddof=1) - teams, 0.0) / (1 - share)))


def test_a_point_is_the_mean_of_its_pilots_with_students_interval(study: PilotStudy) -> None:
    point, full = study.get("AP", 3, 25), study.get("AP").variance
    mine, whole = (study.variances[0, 3 * 6 : 4 * 6, study.pilot_topics.index(count)] for count in (25, 40))
    sd = corrected(mine, whole, 25 / 40)
    margin = t_critical(0.025, 5) * sd / np.sqrt(6)
    assert point.variance == pytest.approx(mine.mean())
    assert point.sd == pytest.approx(sd)
    assert (point.mean_lower, point.mean_upper) == pytest.approx((mine.mean() - margin, mine.mean() + margin))
    reach = t_critical(0.025, 5) * corrected(np.log(mine), np.log(whole), 25 / 40) * np.sqrt(1 + 1 / 6)
    ends = np.exp(np.log(mine).mean() + np.array([-reach, reach]))
    assert (point.lower, point.upper) == pytest.approx(tuple(ends))
    assert point.error == pytest.approx(np.abs(ends - full).max() / full)
    target = Target(Design(systems=12, test="holm"))
    assert (point.topics_low, point.topics_high) == tuple(target.topics(ends))
    assert point.topics == target.topics(np.array([mine.mean()]))[0]


def test_with_all_teams_the_spread_of_topics_is_divided_by_the_finite_correction(study: PilotStudy) -> None:
    mine = study.variances[0, :6, study.pilot_topics.index(10)]
    assert study.get("AP", 0, 10).sd == pytest.approx(mine.std(ddof=1) / np.sqrt(1 - 10 / 40))


def test_the_interval_holds_the_variance_of_pilots_with_new_topics() -> None:
    """Pilots of 25 of 50 topics say what pilots of 25 new topics vary by; uncorrected they cover too few of them."""
    rng = np.random.default_rng(3)

    def topics(count: int) -> np.ndarray:  # residuals are skewed, as scores are
        return rng.gamma(0.6, 0.2, (count, 1)) + rng.gamma(1.0, 0.1, (count, 10))

    def residual(table: np.ndarray) -> float:
        return float(squares(table).residual)

    fresh = np.array([residual(topics(25)) for _ in range(400)])
    shares = np.array([[0.5, 1.0]])
    ratio, plain = [], []
    for _ in range(100):
        data = topics(50)
        drawn = np.array([residual(data[rng.permutation(50)[:25]]) for _ in range(40)])
        sd = np.array([[[drawn.std(ddof=1), np.nan]]])
        ratio.append(float(_finite_correction(sd, shares)[0, 0, 0] ** 2))
        plain.append(float(sd[0, 0, 0] ** 2))
    assert np.mean(ratio) / fresh.var(ddof=1) == pytest.approx(1, abs=0.2)
    assert np.mean(plain) / fresh.var(ddof=1) < 0.65


def test_nobody_left_out_is_the_data_as_they_are(demo: Collection, study: PilotStudy) -> None:
    full = study.get("AP")
    assert full.variance == pytest.approx(float(squares(score_collection(demo, "AP").of()).residual), rel=1e-12)
    assert (full.trials, full.most_lost, full.misses) == (1, 0, False)
    assert np.isnan(full.lower)
    assert full.to_dict()["topics_low"] is None


def test_sakai_and_shangs_own_design_is_asked_for_by_name(demo: Collection) -> None:
    published = aim("min_range", 0.15, method="sakai")
    study = pilot_study(demo, "AP", left_out=[1], trials=10, estimate="within", target=published)
    within = float(squares(score_collection(demo, "AP").of()).within_systems)  # SS16 Eq. 1
    assert study.get("AP").variance == pytest.approx(within)
    assert study.get("AP").topics == published.topics(np.array([within]))[0]
    with pytest.raises(RequestError, match="does not go with the within variance"):
        pilot_study(demo, "AP", estimate="within", target=aim(method="blocked"))


def test_teams_topics_and_their_numbers_have_streams_of_their_own() -> None:
    two, three = (draw(6, 6, [k], 50, seed=1) for k in (2, 3))
    assert not np.array_equal(two.topic_order, three.topic_order)
    assert not np.array_equal(two.topic_order >= 2, two.staying)  # as it would be with one stream for both


def test_the_first_miss_is_the_first_interval_without_the_full_variance(study: PilotStudy) -> None:
    for measure in study.measures:
        full = study.get(measure).variance
        outside = [
            k for k in study.left_out[1:] if not study.get(measure, k).lower <= full <= study.get(measure, k).upper
        ]
        assert study.first_miss(measure) == (outside[0] if outside else None)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_same_seed_gives_the_same_study_on_any_number_of_workers(demo: Collection, workers: int) -> None:
    import numba  # noqa: F401  # with the compiler loaded, loops are compiled and spread over threads

    once = pilot_study(demo, ["AP", "Q@10", "Bpref"], trials=4, seed=9, workers=workers)
    again = pilot_study(demo, ["AP", "Q@10", "Bpref"], trials=4, seed=9, workers=1)
    np.testing.assert_array_equal(once.variances, again.variances)
    assert repr(once.points) == repr(again.points)  # nan and all


def test_a_trial_is_the_same_whatever_else_is_asked_for(demo: Collection) -> None:
    many = pilot_study(demo, "AP", trials=5, seed=2)
    few = pilot_study(demo, "AP", left_out=[3], pilot_topics=[10], trials=3, seed=2)
    mine = many.variances[:, 3 * 5 : 3 * 5 + 3][:, :, [many.pilot_topics.index(10), -1]]
    np.testing.assert_array_equal(few.variances[:, 3:], mine)


def test_another_seed_gives_another_study(demo: Collection) -> None:
    one, two = (pilot_study(demo, "AP", left_out=[2], trials=4, seed=seed).variances for seed in (1, 2))
    assert not np.array_equal(one, two)


@pytest.fixture
def losing(write: Write) -> Collection:
    """Topic 2's one relevant document is team south's alone; d9 was retrieved by nobody."""
    north = "".join(f"{t} Q0 d1 1 3.0 a\n{t} Q0 d2 2 2.0 a\n" for t in (1, 2, 3))
    south = "1 Q0 d1 1 3.0 b\n2 Q0 d5 1 3.0 b\n3 Q0 d2 1 3.0 b\n"
    qrels = write("qrels", "1 0 d1 1\n1 0 d2 0\n1 0 d9 1\n2 0 d1 0\n2 0 d5 1\n3 0 d2 1\n3 0 d1 0\n")
    return cranfield.read_collection(
        [write("a", north), write("b", south)], qrels, teams=write("teams", "a north\nb south\n")
    )


def test_topics_without_a_relevant_document_are_dropped_and_counted(losing: Collection) -> None:
    study = pilot_study(losing, "AP", trials=8, pilot_topics=[2])
    point = study.get("AP", 1)
    assert (point.fewest, point.most, point.most_lost) == (2, 3, 1)
    assert 0 < point.lost < 1
    assert study.get("AP").most_lost == 0


def test_documents_nobody_retrieved_stay_are_counted_and_said(losing: Collection) -> None:
    study = pilot_study(losing, "AP", trials=2)
    assert study.unknown == 1
    (said,) = [problem for problem in study.warnings if problem.slug == "contributor-unknown"]
    assert said.count == 1
    assert "1 of 7 at depth 2" in said.detail
    assert (losing.without_teams("south").relevant == [2, 0, 1]).all()


def test_one_run_left_has_a_variance_but_no_residual(losing: Collection) -> None:
    alone = pilot_study(losing, "AP", trials=2, estimate="within", target=aim(method="exact"))
    assert np.isfinite(alone.get("AP", 1).variance)
    point = pilot_study(losing, "AP", trials=2).get("AP", 1)
    assert np.isnan(point.variance)
    assert (point.trials, point.to_dict()["topics"]) == (0, None)


def test_the_advice_names_the_most_demanding_measure_in_teams_and_topics(demo: Collection) -> None:
    strict, lax = (pilot_study(demo, ["AP", "nERR@10"], trials=6, tolerance=share) for share in (0.001, 50.0))
    assert strict.summary().endswith("a pilot needs all of them.")
    assert "With all teams and topics, AP requires" in strict.summary()
    assert (lax.teams_needed("AP"), lax.topics_needed("AP")) == (1, 10)
    assert lax.summary().endswith("a pilot needs 1 of the 5 teams and 10 of the 40 topics.")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"left_out": [5]}, "5 of 5 teams cannot be left out"),
        ({"left_out": [-1]}, "-1 teams cannot be left out"),
        ({"pilot_topics": [41]}, "a pilot of 41 topics cannot be taken from 40"),
        ({"pilot_topics": [1]}, "a pilot of 1 topics"),
        ({"trials": 1}, "two trials or more"),
        ({"depth": 101}, "deeper than the runs"),
        ({"estimate": "guess"}, "there is no estimate «guess»"),
        ({"tolerance": 0}, "cannot be within 0"),
        ({"seed": -1}, "a random seed cannot be -1"),
        ({"measures": "nonsense"}, "no measure «nonsense»"),
    ],
)
def test_what_makes_no_sense_is_refused(demo: Collection, asked: dict[str, Any], message: str) -> None:
    measures = asked.pop("measures", "AP")
    with pytest.raises(RequestError, match=message):
        pilot_study(demo, measures, **asked)


def test_one_team_cannot_be_left_out(example: Path, tmp_path: Path) -> None:
    runs = {f"{name}{at}": "one" for name in ("aldgate", "barnhill") for at in (1, 2)}
    collection = cranfield.read_collection(
        [example / "runs" / f"{name}.txt" for name in runs], example / "qrels.txt", teams=runs
    )
    for ask in (lambda: pilot_study(collection, "AP"), lambda: write_leave_outs(collection, tmp_path)):
        with pytest.raises(RequestError, match="one team only"):
            ask()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"kind": "fame"}, "no goal «fame»"),
        ({"value": -1.0}, "`min_range` cannot be -1"),
        ({"method": "guess"}, "no method «guess»"),
        ({"kind": "difference", "alpha": 2.0}, "`alpha` cannot be 2"),
    ],
)
def test_a_target_that_makes_no_sense_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        aim(**asked)


@pytest.mark.parametrize("target", [aim(), aim("difference", 0.05), aim("width", 0.1), aim(method="blocked")])
def test_what_n_topics_see_is_what_n_was_asked_for(target: Target) -> None:
    variance = np.array([0.02, 0.05, 0.1])
    topics = target.topics(variance)
    assert target.value is not None
    assert (target.detectable(topics, variance) <= target.value + 1e-9).all()
    assert (target.detectable(topics - 1, variance) > target.value).all()
    assert np.isnan(target.detectable(np.array([1.0]), np.array([0.05]))).all()
    assert np.isnan(target.topics(np.array([np.nan, 0.0]))).all()


# --- files and the command


def test_judgments_without_each_team_are_written(demo: Collection, tmp_path: Path) -> None:
    written = write_leave_outs(demo, tmp_path / "out")
    assert [path.name for path in written][:2] == ["without-Aldgate.txt", "without-Barnhill.txt"]
    lines = written[0].read_text().splitlines()
    assert len(lines) == int(demo.contributors().kept(["Aldgate"]).sum())


def test_a_teams_name_cannot_lead_out_of_the_folder(example: Path, tmp_path: Path) -> None:
    teams = {path.stem: f"../{path.stem[:3]}" for path in (example / "runs").iterdir()}
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt", teams=teams)
    for path in write_leave_outs(collection, tmp_path / "in"):
        assert path.parent == tmp_path / "in"
        assert path.exists()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def files(example: Path) -> list[str]:
    return [str(example / "runs"), "--qrels", str(example / "qrels.txt"), "--teams", str(example / "teams.tsv")]


def test_the_command_prints_points_needs_and_advice(files: list[str], tmp_path: Path) -> None:
    result = run("pilot", *files, "-m", "AP", "-m", "nERR@10", "--trials", "4", "--seed", "3", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["seed"] == 3
    assert [need["measure"] for need in found["measures"]] == ["AP", "nERR@10"]
    assert len(found["rows"]) == 2 * 5 * 3  # measures, k, sizes
    words = {"measure", "left_out", "teams", "pilot_topics", "variance", "lower", "upper", "misses", "topics", "lost"}
    assert words <= set(found["rows"][0])
    text = run("pilot", *files, "--trials", "4", "--min-range", "0.1", "--systems", "10", "--method", "sakai").stdout
    assert "n to detect a range of 0.1 among 10 systems" in text
    assert "a pilot needs" in text


@pytest.mark.parametrize("face", ["--csv", "--md", "--latex"])
def test_the_command_has_its_other_faces(files: list[str], face: str) -> None:
    result = run("pilot", *files, "--trials", "2", "-k", "1:2", "-n", "10", face)
    assert result.exit_code == 0
    assert "left" in result.stdout


def test_the_command_draws_and_writes(files: list[str], tmp_path: Path) -> None:
    chart, folder = tmp_path / "pilot.svg", tmp_path / "qrels"
    result = run("pilot", *files, "--trials", "2", "--plot", str(chart), "--write-qrels", str(folder))
    assert result.exit_code == 0, result.output
    assert "teams left out" in chart.read_text()
    assert len(list(folder.iterdir())) == 5


def test_the_command_refuses_what_it_cannot_do(files: list[str], tmp_path: Path) -> None:
    assert "not known which team" in str(run("pilot", *files[:3]).exception)
    assert "nobody is left" in str(run("pilot", *files, "-k", "5").exception)
    two = run("pilot", *files, "--width", "0.1", "--difference", "0.1")
    assert "`difference` has no effect with `width`" in str(two.exception)
    assert "which picture" in str(run("pilot", *files, "--plot", "x.gif").exception)
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert "cannot be made" in str(run("pilot", *files, "--write-qrels", str(blocked / "in")).exception)


def test_judgments_by_intent_alone_do_for_measures_of_intents(example: Path) -> None:
    collection = cranfield.read_collection(
        example / "runs", intents=example / "intents.txt", teams=example / "teams.tsv"
    )
    study = pilot_study(collection, "alpha_nDCG@10", left_out=[2], trials=2, pilot_topics=[])
    expected = squares(score_collection(collection, "alpha_nDCG@10").of()).residual
    assert study.get("alpha_nDCG@10").variance == pytest.approx(float(expected))
    with pytest.raises(RequestError, match="only per-intent ones were read"):
        pilot_study(collection, "AP")


def test_scores_that_never_vary_lead_to_no_number_of_topics(write: Write) -> None:
    runs = [write(name, f"1 Q0 d1 1 2 {name}\n2 Q0 d1 1 2 {name}\n") for name in "ab"]
    teams = write("teams", "a x\nb y\n")
    result = run("pilot", *runs, "--qrels", write("qrels", "1 0 d1 1\n2 0 d1 1\n"), "--teams", teams, "--json")
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout)
    assert found["measures"][0]["topics"] is None
    assert found["rows"][0]["variance"] == 0
