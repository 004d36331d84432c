"""What is installed: the wheel's contents and metadata, the versions it tells, completion, and parts left out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import cranfield
from cranfield import versions
from cranfield.errors import PARTS, MissingPartError
from cranfield.scores import ScoreTable, read_scores, write_scores

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from cranfield.cli.app import main; main()"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built without a network from what is here."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    left = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    shutil.copytree(ROOT / "src", folder / "src", ignore=left)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("cranfield-*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(wheel.read(name))


def test_the_wheel_has_every_file_of_the_package_and_its_licence(wheel: zipfile.ZipFile) -> None:
    source = ROOT / "src"
    files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    ours = {path.relative_to(source).as_posix() for path in files if path.suffix not in (".c", ".so")}
    ours = {name for name in ours if ".egg-info" not in name}
    found = set(wheel.namelist())
    assert ours <= found
    for name in ("py.typed", "rendering/templates/report.html", "web/templates/base.html", "web/static/page.css"):
        assert f"cranfield/{name}" in found
    assert any(name.endswith("licenses/LICENSE") for name in found)


def test_the_source_archive_is_the_whole_repository(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no checkout")
    ours = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for name in ours:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path / "built")]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with tarfile.open(next((tmp_path / "built").glob("cranfield-*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CHANGELOG.md", "docs/index.md", "tests/conftest.py"} <= ours
    assert ours - names == set()


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_one_compiled_reader_serves_every_version_of_python(wheel: zipfile.ZipFile) -> None:
    assert [name for name in wheel.namelist() if re.fullmatch(r"cranfield/formats/_scan\..*\.(so|pyd)", name)]
    assert "-cp311-abi3-" in str(wheel.filename)


def test_the_wheel_has_nothing_else_in_it(wheel: zipfile.ZipFile) -> None:
    others = [name for name in wheel.namelist() if not re.match(r"cranfield/|cranfield-[\d.]+\.dist-info/", name)]
    assert others == []
    assert not [name for name in wheel.namelist() if "__pycache__" in name]
    assert sum(each.compress_size for each in wheel.infolist()) < 1_100_000


def test_the_core_asks_for_no_optional_part(metadata: Message) -> None:
    core = {
        re.split(r"[<>=!~ ;\[]", need)[0] for need in metadata.get_all("Requires-Dist") or [] if "extra ==" not in need
    }
    assert {"numpy", "scipy", "numba", "typer"} <= core
    optional = {package for part in PARTS.values() for package in part.packages.values()}
    assert core.isdisjoint({"pandas", "pyarrow", *optional})
    assert {*PARTS, "all"} <= set(metadata.get_all("Provides-Extra") or [])
    assert metadata["License-Expression"] == "MIT"


def test_the_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.M)[1] == cranfield.__version__  # type: ignore[index]
    assert re.search(r"^license: MIT$", text, re.M)


# --- versions and completion


def test_versions_can_be_had_as_json() -> None:
    done = subprocess.run([*COMMAND, "--version", "--json"], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["versions"]["cranfield"] == cranfield.__version__
    assert {"Python", "numpy", "scipy", "numba"} <= told["versions"].keys()
    assert told["compiled_reader"] is versions.has_compiled_reader()
    assert set(told["parts"]) == {f"cranfield[{part}]" for part in PARTS}


def test_a_reader_that_was_not_compiled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert versions.SLOW not in versions.version_text()
    monkeypatch.setattr(versions, "find_spec", lambda name: None)
    assert versions.version_text().endswith(versions.SLOW)


def test_json_without_a_command_is_refused_with_where_it_goes() -> None:
    done = subprocess.run([*COMMAND, "--json", "measures"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "after the name of a command" in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_be_taught_the_commands(shell: str) -> None:
    # The script is for the shell that asks; tests have none, so it is named.
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run([*COMMAND, "--show-completion", shell], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "complet" in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("cranfield comp", "compare"), ("cranfield size --diff", "--difference")],
    ids=["command", "flag"],
)
def test_commands_and_flags_are_completed(typed: str, offered: str) -> None:
    asking = {"_CRANFIELD_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    script = "import sys; sys.argv[0] = 'cranfield'; from cranfield.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **asking})
    assert offered in done.stdout.split()


# --- without the optional part for Parquet


@pytest.fixture
def table() -> ScoreTable:
    return ScoreTable.from_rows([("AP", "1", "a", 0.5), ("AP", "2", "a", 0.25)])


def test_parquet_goes_through_pyarrow_where_polars_is_not_installed(
    table: ScoreTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    write_scores(table, tmp_path / "scores.parquet")
    assert list(read_scores(tmp_path / "scores.parquet").rows()) == list(table.rows())


@pytest.mark.parametrize("wish", [write_scores, lambda table, path: read_scores(path)], ids=["writing", "reading"])
def test_parquet_without_either_says_what_to_install(
    wish: Callable[[ScoreTable, Path], object], table: ScoreTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scores.parquet").write_bytes(b"PAR1")
    for name in ("polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPartError, match=r"pip install 'cranfield\[parquet\]'"):
        wish(table, tmp_path / "scores.parquet")
