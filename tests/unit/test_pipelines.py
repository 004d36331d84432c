"""The action and the hook that the project offers to pipelines: their steps are run as a runner would."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    old = rng.beta(2, 3, 30)
    rows = ["measure,topic,system,score"]
    for name, scores in {"old": old, "new": old + rng.normal(0, 0.02, 30), "<b>`|": old - 0.1}.items():
        rows += [f"AP,{topic},{name},{score:.6f}" for topic, score in enumerate(scores)]
    (tmp_path / "scores.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "incomplete.csv").write_text("\n".join([*rows[:-5], ""]), encoding="utf-8")
    return tmp_path


def step(name: str) -> dict[str, Any]:
    return next(each for each in ACTION["runs"]["steps"] if each.get("name") == name)


def run_action(folder: Path, **given: str) -> tuple[int, str, dict[str, str], str]:
    """Exit code, summary, outputs and errors of the step that compares, with these inputs."""
    return run_step(folder, given)[:4]


def run_step(folder: Path, given: dict[str, str], **own: str) -> tuple[int, str, dict[str, str], str, str]:
    """The same, and what is printed; ``own`` are variables of the runner."""
    inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    inputs |= {name.replace("_", "-"): value for name, value in given.items()}
    compare = step("Compare")
    variables = {name: INPUT.sub(lambda found: inputs[found[1]], value) for name, value in compare["env"].items()}
    files = {name: folder / name.lower() for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **variables, **{name: str(each) for name, each in files.items()}, "PATH": path}
    environment |= {"GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(folder), **own}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", compare["run"]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")
    written = {name: each.read_text(encoding="utf-8") if each.exists() else "" for name, each in files.items()}
    outputs = re.findall(r"^(\w+)<<(\w+)\n(.*?)\n\2$", written["GITHUB_OUTPUT"], re.S | re.M)
    found = {name: text for name, _, text in outputs}
    return done.returncode, written["GITHUB_STEP_SUMMARY"], found, done.stderr, done.stdout


def test_a_gate_that_passes(folder: Path) -> None:
    code, summary, outputs, _ = run_action(folder, scores="scores.csv", baseline="old", candidate="new")
    assert code == 0
    assert summary.startswith("### cranfield: passed\n\n- AP: no-worse=0.02 passed: new − old is at least ")
    assert "| gate | candidate | baseline |" in summary
    assert outputs["passed"] == "true"
    whole = json.loads(Path(outputs["json"]).read_text(encoding="utf-8"))
    assert outputs["verdict"] == f"AP: {whole['gates'][0]['verdict']}"


def test_a_gate_that_fails(folder: Path) -> None:
    code, summary, outputs, _ = run_action(
        folder, scores="scores.csv", baseline="old", candidate="new", gate="no-worse=10%\nbetter\n"
    )
    assert code == 1
    assert summary.startswith("### cranfield: FAILED")
    assert outputs["passed"] == "false"
    assert [line.split()[2] for line in outputs["verdict"].splitlines()] == ["passed:", "FAILED:"]


def test_names_are_neither_markup_nor_outputs_nor_commands(folder: Path) -> None:
    code, summary, outputs, _ = run_action(folder, scores="scores.csv", baseline="old", candidate="<b>`|")
    assert code == 1
    assert "<b>" not in summary.replace("\\<b>", "")
    assert set(outputs) == {"passed", "verdict", "json"}
    code, _, _, errors = run_action(folder, scores="scores.csv", baseline="$(touch owned)", candidate="`touch owned`")
    assert code == 2
    assert "$(touch owned)" in errors
    assert not (folder / "owned").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scores": "none.csv", "baseline": "old"}, "none.csv"),
        ({"scores": "scores.csv", "baseline": "old", "gate": "worse"}, "the gate «worse» is not understood"),
        ({"scores": "scores.csv", "baseline": "old", "alpha": "high"}, "«alpha» must be a number"),
        ({"scores": "scores.csv", "baseline": "old", "gate": ""}, "no gate is named"),
        ({"scores": "", "baseline": "old"}, "«scores» has to be given"),
        ({"scores": "scores.csv", "baseline": "old", "lower_is_better": "yes"}, "«lower-is-better» cannot be «yes»"),
        ({"scores": "scores.csv", "baseline": "old", "alpha": "0.05\n0.01"}, "«alpha» takes one line, and 2 are given"),
        ({"scores": "scores.csv", "baseline": "old", "test": "t\nmax-t"}, "«test» takes one line"),
        ({"scores": "scores.csv", "baseline": "old", "qrels": "a\nb"}, "«qrels» takes one line"),
        ({"scores": "incomplete.csv", "baseline": "old"}, "as 0 («missing: zero»)"),
    ],
)
def test_wrong_input_is_an_error_and_no_failed_gate(folder: Path, given: dict[str, str], said: str) -> None:
    code, summary, outputs, errors = run_action(folder, **given)
    assert code == 2
    assert said in errors
    assert "Traceback" not in errors
    assert summary.startswith("### cranfield: wrong input")
    assert errors.startswith(f"{outputs['verdict']}\n")
    assert (outputs["passed"], outputs["json"]) == ("false", "")


def test_missing_scores_and_columns_on_several_lines_are_taken(folder: Path) -> None:
    text = (folder / "incomplete.csv").read_text(encoding="utf-8").replace("topic,system", "query,run", 1)
    (folder / "named.csv").write_text(text, encoding="utf-8")
    given = {"scores": "named.csv", "baseline": "old", "candidate": "new", "columns": "topic=query\nsystem=run"}
    code, _, outputs, errors = run_action(folder, **given, missing="drop")
    assert code == 0, errors
    assert "25 topics" in outputs["verdict"]


def test_outputs_are_written_whatever_the_encoding(folder: Path) -> None:
    given = {"scores": "scores.csv", "baseline": "old", "candidate": "new"}
    code, _, outputs, errors, _ = run_step(folder, given, PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert code == 0, errors
    assert "new − old" in outputs["verdict"]


@pytest.mark.parametrize("variable", ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP"])
def test_what_cannot_be_written_is_an_error(folder: Path, variable: str) -> None:
    given = {"scores": "scores.csv", "baseline": "old", "candidate": "new"}
    code, _, _, errors, _ = run_step(folder, given, **{variable: str(folder / "none" / "such")})
    assert code == 2
    assert re.match(r"error: .*such.*: this cannot be written: No such file", errors)
    assert "Traceback" not in errors


def test_a_name_is_no_command_of_the_runner(folder: Path) -> None:
    text = (folder / "scores.csv").read_text(encoding="utf-8").replace("AP,", "::error::AP,")
    text = text.replace(",new,", ',"new\n::error title=hacked::injected",')
    (folder / "odd.csv").write_text(text, encoding="utf-8")
    given = {"scores": "odd.csv", "baseline": "old", "gate": "better"}
    code, _, outputs, errors, printed = run_step(folder, given)
    assert code == 1
    assert len(outputs["verdict"].splitlines()) == len(printed.splitlines()) == 2
    assert not [line for line in (printed + errors).splitlines() if line.strip().startswith("::")]


def test_runs_are_scored_by_the_measures(folder: Path, example: Path) -> None:
    names = [each.name for each in sorted((example / "runs").iterdir())]
    runs = "\n".join(str(example / "runs" / name) for name in names if name.startswith("cleverdon"))
    given = {"scores": runs, "qrels": str(example / "qrels.txt"), "measure": "nDCG@10\nP@5"}
    code, _, outputs, errors = run_action(
        folder, **given, baseline="cleverdon2", candidate="cleverdon1", gate="no-worse=0.3"
    )
    assert code == 0, errors
    assert [line.partition(":")[0] for line in outputs["verdict"].splitlines()] == ["nDCG@10", "P@5"]


def test_every_input_is_used_and_no_command_contains_one() -> None:
    steps = ACTION["runs"]["steps"]
    used = {
        name
        for each in steps
        for value in {**each.get("env", {}), **each.get("with", {})}.values()
        for name in INPUT.findall(value)
    }
    assert used == set(ACTION["inputs"])
    assert all("${{" not in each.get("run", "") for each in steps)
    script = (ROOT / "scripts" / "action.py").read_text(encoding="utf-8")
    read = set(re.findall(r'(?:lines|text|number|switch)\("([A-Z_]+)"', script))
    assert {f"INPUT_{name}" for name in read} == set(step("Compare")["env"])


@pytest.mark.parametrize(("version", "installed"), [("", str(ROOT)), ("0.1.0", "cranfield==0.1.0")])
def test_what_is_installed_is_the_version_or_the_action_itself(version: str, installed: str) -> None:
    words = step("Install cranfield")["run"].replace("python -m pip", "printf '%s\\n'", 1)
    variables = {**os.environ, "VERSION": version, "GITHUB_ACTION_PATH": str(ROOT)}
    done = subprocess.run(["bash", "-euc", words], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == installed


def test_the_hook_checks_files(example: Path, tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, *arguments = shlex.split(hook["entry"])
    assert (program, hook["language"]) == ("cranfield", "python")
    assert hook["require_serial"]  # files are checked against one another
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    good.write_text("1 Q0 d1 1 2.0 demo\n1 Q0 d2 2 1.0 demo\n", encoding="utf-8")
    bad.write_text("1 Q0 d1 1 2.0 demo\n1 Q0 d1 2 1.0 demo\n", encoding="utf-8")
    assert all(re.search(hook["files"], name) for name in ("runs/a.run", "b.qrels", "c.run.gz"))
    assert not re.search(hook["files"], "readme.md")
    for file, code in ((good, 0), (bad, 2)):
        command = [sys.executable, "-m", "cranfield", *arguments, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == code, done.stdout + done.stderr
