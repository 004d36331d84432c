"""A call of the server for language models reads and writes in its folder only, whatever its arguments lead to."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.questions import MODULES, find_question
from cranfield.questions.parameters import Parameter, Question
from cranfield.runtime.confinement import Places

pytest.importorskip("mcp", reason="the part mcp is not installed")

SECRET = "kept-secret"
REQUIRED = {"runs": "runs", "scores": "scores.csv", "files": "scores.csv", "out": "made.cran", "file": "a.study"}
ALSO: dict[str, Any] = {"qrels": "qrels.txt", "difference": 0.05, "sd": 0.15, "judge": "m=scores.csv", "because": "why"}

# Every call in a confined process, which notes what it could open below the folder that holds a secret. Where the check
# is left out, it is as if every link had been changed after it.
CALLS = """
    import json, os, sys

    import numpy.random, polars, scipy.special, scipy.stats  # what is loaded before is not asked about
    from cranfield.cli.confined_files import ConfinedFiles
    from cranfield.cli.mcp_server import reply_to
    from cranfield.runtime.confinement import Places, confine

    root, may_write, is_checked, calls = json.load(sys.stdin)
    files = ConfinedFiles(root, may_write)
    confine(Places.around(root, may_write=may_write))
    if not is_checked:
        ConfinedFiles.check = lambda *_: None
    opened, outside = [], os.path.dirname(root)

    def note(event, arguments):
        if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], (str, bytes)):
            real = os.path.realpath(os.fsdecode(arguments[0]))
            if real.startswith(outside) and real != root and not real.startswith(root + os.sep):
                opened.append(f"{event} {real}")

    sys.addaudithook(note)
    replies = [[name, given, reply.is_error, reply.text] for name, given in calls
               for reply in [reply_to(name, given, files)]]
    print(json.dumps([replies, opened]))
"""


@pytest.fixture(scope="module")
def outside(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with secrets, and below it the folder of the server with links to them."""
    folder = tmp_path_factory.mktemp("secrets")
    root = folder / "root"
    shutil.copytree(example / "runs", root / "runs")
    shutil.copy(example / "qrels.txt", root)
    table = cf.score(example / "runs", qrels=str(example / "qrels.txt"), measure=["AP"]).table
    cf.write_scores(table, root / "scores.csv")
    cf.study_new(str(root / "a.study"), difference=0.05, sd=0.15)
    (folder / "secret.csv").write_text(f"topic,{SECRET},b\n1,0.5,0.25\n2,0.5,0.5\n3,0.1,0.2\n", encoding="utf-8")
    (folder / "secrets").mkdir()
    shutil.copy(folder / "secret.csv", folder / "secrets")
    (root / "irds:x").mkdir()
    (root / "link.csv").symlink_to(folder / "secret.csv")
    (root / "links").symlink_to(folder / "secrets")
    (root / "new.link").symlink_to(folder / "made-by-link")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe")
    return folder


def file_parameters() -> list[tuple[Question, Parameter]]:
    questions = [find_question(name) for name in MODULES]
    return [(each, parameter) for each in questions for parameter in each.parameters.values() if parameter.names_files]


def calls(path: str) -> list[tuple[str, dict[str, Any]]]:
    """Every file parameter of every tool with this path, and what its question needs besides."""
    made = []
    for question, parameter in file_parameters():
        known = question.parameters
        given: dict[str, Any] = {name: REQUIRED[name] for name in known if name in REQUIRED}
        if parameter.name in ("qrels", "judge", "teams", "intents", "write_qrels") or "runs" in known:
            given |= {name: value for name, value in ALSO.items() if name in known and question.name != "check"}
        given[parameter.name] = f"a={path}" if parameter.about.metavar.startswith("NAME=") else path
        made.append((question.name, given))
    return made


def ask(outside: Path, wanted: list[Any], *, may_write: bool = False, is_checked: bool = True) -> tuple[list[Any], Any]:
    """The replies, and what was opened outside of the folder of the server."""
    request = json.dumps([os.path.realpath(outside / "root"), may_write, is_checked, wanted])
    command = [sys.executable, "-c", textwrap.dedent(CALLS)]
    done = subprocess.run(command, input=request, capture_output=True, text=True, encoding="utf-8", cwd=outside)
    assert done.returncode == 0, done.stderr
    replies, opened = json.loads(done.stdout)
    return replies, opened


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if not str(path.relative_to(folder)).startswith("root"))
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in found}


PATHS = {
    "a dataset that leads up": "irds:x/../../secret.csv",
    "a folder up": "..",
    "a file up": "../secret.csv",
    "a new file up": "../made.cran",
    "absolute": "OUTSIDE/secret.csv",
    "a link to a file": "link.csv",
    "a link to nothing": "new.link",
    "a file behind a link": "links/secret.csv",
    "a folder behind a link": "links",
    "a pattern": "../*.csv",
    "a device": "/dev/zero",
    "a pipe": "pipe",
}


@pytest.mark.parametrize("may_write", [False, True])
def test_every_file_parameter_refuses_every_way_out(outside: Path, may_write: bool) -> None:
    before = contents(outside)
    wanted = [call for path in PATHS.values() for call in calls(path.replace("OUTSIDE", str(outside)))]
    replies, opened = ask(outside, wanted, may_write=may_write)
    assert [(name, given) for name, given, is_error, _ in replies if not is_error] == []
    assert [text for _, _, _, text in replies if SECRET in text] == []
    assert [text for _, _, _, text in replies if "should not happen" in text] == []
    assert opened == []
    assert contents(outside) == before


@pytest.mark.parametrize("may_write", [False, True])
def test_a_link_that_was_changed_after_the_check_leads_nowhere(outside: Path, may_write: bool) -> None:
    before = contents(outside)
    links = [path for name, path in PATHS.items() if name not in ("a device", "a pipe")]
    wanted = [call for path in links for call in calls(path.replace("OUTSIDE", str(outside)))]
    replies, opened = ask(outside, wanted, may_write=may_write, is_checked=False)
    assert opened == []
    assert [text for _, _, _, text in replies if SECRET in text] == []
    assert [text for _, _, _, text in replies if "should not happen" in text] == []
    assert contents(outside) == before


def test_what_is_in_the_folder_is_read_and_written(outside: Path) -> None:
    wanted = [
        ["compare", {"scores": "scores.csv"}],
        ["score", {"runs": "runs", "qrels": "qrels.txt"}],
        ["pack", {"runs": "runs", "qrels": "qrels.txt", "out": "all.cran"}],
        ["compare", {"scores": "all.cran", "test": "max-t", "resamples": 500}],
        ["budget", {"runs": "all.cran", "depths": "2,5", "write_qrels": "pools"}],
        ["study_new", {"file": "b.study", "difference": 0.05, "sd": 0.15}],
    ]
    replies, _ = ask(outside, wanted, may_write=True)
    assert [text for _, _, is_error, text in replies if is_error] == []


IN_PROCESS = """
    import os, sys
    from cranfield.runtime.confinement import Places, confine

    root = os.path.realpath(sys.argv[1])
    by_kernel = confine(Places.around(root, may_write=sys.argv[2] == "write"))
    os.chdir(root)
    try:
        exec(sys.argv[3])
        print("done", by_kernel)
    except PermissionError as error:
        print("refused", by_kernel)
"""


def tried(outside: Path, statement: str, write: str = "write") -> list[str]:
    command = [sys.executable, "-c", textwrap.dedent(IN_PROCESS), str(outside / "root"), write, statement]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    return (done.stdout or done.stderr).split()


@pytest.mark.parametrize(
    "statement",
    [
        "open('../secret.csv')",
        "open('link.csv')",
        "os.open('link.csv', os.O_RDONLY)",
        "os.listdir('..')",
        "os.scandir('links')",
        "open('../x', 'w')",
        "os.replace('a.study', '../a.study')",
        "os.link('scores.csv', '../linked')",
        "os.mkdir('../made')",
        "os.remove('links/secret.csv')",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import socket; socket.getaddrinfo('localhost', 9)",
    ],
)
def test_a_confined_process_is_refused_what_leads_outside(outside: Path, statement: str) -> None:
    before = contents(outside)
    assert tried(outside, statement)[0] == "refused"
    assert contents(outside) == before


def test_a_confined_process_that_may_not_write_changes_nothing(outside: Path) -> None:
    for statement in ("open('made', 'w')", "os.remove('scores.csv')", "os.mkdir('made')"):
        assert tried(outside, statement, "read")[0] == "refused"
    assert tried(outside, "open('scores.csv').read()", "read")[0] == "done"


@pytest.mark.parametrize("call", ["open('../secret.csv')", "socket.create_connection(ADDRESS)"])
def test_the_kernel_refuses_too_where_it_can(outside: Path, call: str) -> None:
    """What is refused by Python, asked of the system past it; a link that changes at any moment is no way out."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        statement = {
            "open('../secret.csv')": "code = libc.open(b'../secret.csv', 0)",
            "socket.create_connection(ADDRESS)": "s = libc.socket(2, 1, 0); a = struct.pack('=H', 2) + struct.pack("
            f"'!H4s8x', {address[1]}, bytes([127, 0, 0, 1])); code = libc.connect(s, a, 16)",
        }[call]
        program = f"import ctypes, struct; libc = ctypes.CDLL(None); {statement}; assert code < 0 or not by_kernel"
        said = tried(outside, program)
    if said[1:] != ["True"]:
        pytest.skip("this system has no Landlock")
    assert said == ["done", "True"]


def test_no_folder_above_the_root_is_readable_because_modules_are_imported_from_it(tmp_path: Path) -> None:
    root = tmp_path / "project" / "data"
    root.mkdir(parents=True)
    (tmp_path / "secret").write_text("", encoding="utf-8")
    code = """if True:
        import sys
        from cranfield.runtime.confinement import Places
        print(Places.around(sys.argv[1], may_write=False).allow(sys.argv[2], writing=False))"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", code, str(root), str(tmp_path / "secret")]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=tmp_path, env=environment)
    assert done.stdout.strip() == "False", done.stderr


def test_downloads_are_kept_in_a_folder_of_their_own(tmp_path: Path) -> None:
    root, kept = tmp_path / "root", tmp_path / "kept"
    root.mkdir()
    kept.mkdir()
    places = Places.around(str(root), may_write=False, downloads=str(kept))
    assert places.network
    assert places.allow(str(kept / "a"), writing=True)
    assert not places.allow(str(root / "a"), writing=True)
