"""The image, the conda package, the workflows and the page about installing say what pyproject.toml says."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml  # comes with Dask

import cranfield

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def supported() -> list[str]:
    """The versions of Python that the classifiers name."""
    named = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in PROJECT["classifiers"])
    return [found[1] for found in named if found]


def bounds(requirements: Iterable[str]) -> set[tuple[str, str]]:
    """Names and versions, however they are written."""
    parts = (re.split(r"(?=[<>=])", each.partition(";")[0].replace(" ", ""), maxsplit=1) for each in requirements)
    return {(name.lower().replace("_", "-"), versions) for name, versions in parts}


def users_extras() -> list[str]:
    (everything,) = PROJECT["optional-dependencies"]["all"]
    names = everything.removeprefix("cranfield[").removesuffix("]").split(",")
    return [each for name in names for each in PROJECT["optional-dependencies"][name]]


# --- the image


def test_the_image_has_this_version_and_a_supported_python() -> None:
    dockerfile = text("Dockerfile")
    assert re.findall(r'image.version="([^"]+)"', dockerfile) == [cranfield.__version__]
    (version,) = set(re.findall(r"^FROM python:([\d.]+)-slim", dockerfile, re.M))
    assert version in supported()
    assert dockerfile.index("USER cranfield") < dockerfile.index("ENTRYPOINT")


def test_every_stage_of_the_image_begins_with_the_same_bytes() -> None:
    stages = re.findall(r"^FROM \S+$|^FROM \S+(?= AS)", text("Dockerfile"), re.M)
    assert len(stages) == 2
    assert len(set(stages)) == 1
    assert re.fullmatch(r"FROM [\w./:-]+@sha256:[0-9a-f]{64}", stages[0])


def test_the_image_is_built_from_files_that_exist_and_are_sent() -> None:
    sent = {line[1:] for line in text(".dockerignore").splitlines() if line.startswith("!")}
    copied = [line.split()[1:-1] for line in text("Dockerfile").splitlines() if line.startswith("COPY ")]
    ours = {name for names in copied for name in names if not name.startswith(("--from", "/"))}
    assert ours == sent
    assert all((ROOT / name).exists() for name in ours)


def test_the_command_of_the_image_is_one_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from cranfield.cli.app import make_app

    (words,) = re.findall(r"^CMD (\[.*\])$", text("Dockerfile"), re.M)
    arguments = yaml.safe_load(words)
    done = CliRunner().invoke(make_app(), [*arguments, "--help"])
    assert done.exit_code == 0
    assert all(flag in done.output for flag in arguments if flag.startswith("--"))


# --- the conda package


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    """The recipe, with its template filled in as far as it is used."""
    filled = re.sub(r"^{%.*%}$", "", text("conda.recipe/meta.yaml"), flags=re.M)
    version = re.search(r'set version = "([^"]+)"', text("conda.recipe/meta.yaml"))
    assert version
    filled = re.sub(r"{{ (.*?) }}", lambda found: version[1] if found[1] == "version" else "filled", filled)
    found: dict[str, Any] = yaml.safe_load(filled)
    return found


def test_the_conda_package_has_this_version_and_these_dependencies(recipe: dict[str, Any]) -> None:
    assert recipe["package"] == {"name": PROJECT["name"], "version": cranfield.__version__}
    python = f"python {PROJECT['requires-python']}"
    needs = recipe["requirements"]
    assert python in needs["host"]
    assert set(PYPROJECT["build-system"]["requires"]) == {each.replace(" ", "") for each in needs["host"][2:]}
    assert bounds(needs["run"]) == bounds(PROJECT["dependencies"]) | bounds([python])
    assert bounds(needs["run_constrained"]) == bounds(users_extras())
    (entry,) = recipe["build"]["entry_points"]
    assert dict([entry.split(" = ")]) == PROJECT["scripts"]


# --- the workflow


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text(".github/workflows/test.yml"))["jobs"]
    return found


def test_every_supported_python_is_tested_on_three_systems(jobs: dict[str, Any]) -> None:
    matrix = jobs["test"]["strategy"]["matrix"]
    assert set(supported()) <= set(matrix["python"])
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    assert {each.partition("-")[0] for each in matrix["os"]} == {"ubuntu", "macos", "windows"}
    used = {version for job in jobs.values() for step in job["steps"] for version in pythons(step)}
    assert used <= set(matrix["python"])


def pythons(step: dict[str, Any]) -> list[str]:
    named = step.get("with", {}).get("python-version", "")
    return re.findall(r"^3\.\d+$", named)


def test_what_the_workflow_runs_exists(jobs: dict[str, Any]) -> None:
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    scripts, targets = re.findall(r"scripts/\w+\.py", commands), re.findall(r"\bmake (\w+)", commands)
    assert {"scripts/lowest_versions.py", "scripts/import_modules.py"} <= set(scripts)
    assert all((ROOT / script).exists() for script in scripts)
    assert all(re.search(rf"^{target}:", text("Makefile"), re.M) for target in targets)


# --- what the workflows use, and the release

PIN = re.compile(r"\s*(?:- )?uses: ([\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")
USING = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "action.yml"]


def uses(path: Path) -> list[str]:
    """The lines that name an action of others."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "uses:" in line and "uses: ./" not in line]


@pytest.mark.parametrize("path", USING, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit_and_names_its_version(path: Path) -> None:
    assert uses(path)
    assert [line for line in uses(path) if not PIN.fullmatch(line)] == []


def test_an_action_has_the_same_pin_everywhere() -> None:
    pins = {found.groups() for path in USING for found in map(PIN.fullmatch, uses(path)) if found}
    assert len({action for action, _, _ in pins}) == len(pins)


@pytest.fixture(scope="module")
def release() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text(".github/workflows/release.yml"))
    return found


def test_only_jobs_in_an_environment_may_identify_themselves(release: dict[str, Any]) -> None:
    assert release["permissions"] == {"contents": "read"}
    allowed = {name for name, job in release["jobs"].items() if job.get("permissions")}
    assert allowed == {name for name, job in release["jobs"].items() if "environment" in job} == {"try", "publish"}


def test_nothing_is_published_before_the_tests_have_passed(release: dict[str, Any]) -> None:
    assert release["jobs"]["test"]["uses"] == "./.github/workflows/test.yml"
    for name in ("try", "publish"):
        assert {"test", "source", "wheels"} == set(release["jobs"][name]["needs"])


def test_the_release_is_described_by_the_names_that_it_has(release: dict[str, Any]) -> None:
    said = text("CONTRIBUTING.md")
    names = [".github/workflows/release.yml", *(release["jobs"][job]["environment"] for job in ("try", "publish"))]
    assert [name for name in names if f"`{name}`" not in said and f"`{Path(name).name}`" not in said] == []


# --- the lowest versions


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("lowest_versions")


def test_the_lowest_versions_are_those_of_all_that_users_install(script: ModuleType) -> None:
    lines = script.lowest_versions(PROJECT)
    assert len(lines) == len(PROJECT["dependencies"]) + len(users_extras())
    expected = {
        (name, versions.split(",")[0].replace(">=", "==")) for name, versions in bounds(PROJECT["dependencies"])
    }
    assert expected <= bounds(lines)


@pytest.mark.parametrize(
    ("core", "extra", "says"),
    [
        (["a"], [], "a has no lower bound"),
        (["a<3"], [], "a<3 has no lower bound"),
        (["a>=1"], ["A>=2"], "a has two lower bounds"),
        (["!"], [], "no requirement"),
    ],
)
def test_a_dependency_without_one_lower_bound_is_refused(
    script: ModuleType, core: list[str], extra: list[str], says: str
) -> None:
    project = {"name": "p", "dependencies": core, "optional-dependencies": {"all": ["p[x]"], "x": extra}}
    with pytest.raises(ValueError, match=says):
        script.lowest_versions(project)


def test_extras_within_extras_and_markers_are_kept(script: ModuleType) -> None:
    extras = {"all": ["p[x]"], "x": ["b>=2.1,<3; python_version < '3.14'"]}
    project = {"name": "p", "dependencies": ["a_c>=1"], "optional-dependencies": extras}
    assert script.lowest_versions(project) == ["a-c==1", "b==2.1; python_version < '3.14'"]


# --- modules, and the page about installing


def test_a_module_with_a_warning_is_found_by_the_script(
    load_script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_script("import_modules")
    names = script.module_names()
    assert {"cranfield", "cranfield.cli.app", "cranfield.web.runner"} <= set(names)
    assert len(names) > 200
    (tmp_path / "complaining.py").write_text("import warnings\nwarnings.warn('old', DeprecationWarning)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    assert "DeprecationWarning: old" in script.import_alone("complaining")
    assert script.import_alone("cranfield") == ""


def test_the_page_about_installing_names_the_supported_versions() -> None:
    page = text("docs/installing.md")
    (said,) = re.findall(r"runs on Python ([\d., or]+),", page)
    assert re.findall(r"3\.\d+", said) == supported()
    for shown in ("docker build", "conda build conda.recipe", "pip install '.[all]'"):
        assert shown in page
