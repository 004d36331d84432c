"""The server for language models: one tool per question, and no file outside of its folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

import cranfield as cf
from cranfield.cli.confined_files import ConfinedFiles
from cranfield.cli.mcp_server import Limits, Reply, answer, make_server, make_tool, reply_to, schema_of
from cranfield.errors import RequestError
from cranfield.questions import MODULES, find_question

pytest.importorskip("mcp", reason="the part mcp is not installed")

MEMORY = 4_000_000_000
PATIENCE = 600


@pytest.fixture(scope="module")
def outside(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a secret, and below it the folder of the server with scores and links."""
    folder = tmp_path_factory.mktemp("outside")
    table = cf.score(example / "runs", qrels=str(example / "qrels.txt"), measure=["AP"]).table
    cf.write_scores(table, folder / "secret.csv")
    root = folder / "root"
    (root / "runs").mkdir(parents=True)
    (root / "linked").mkdir()
    cf.write_scores(table, root / "scores.csv")
    (root / "runs" / "a.run").write_text("1 Q0 d1 1 2.0 a\n1 Q0 d2 2 1.0 a\n", encoding="utf-8")
    (root / "link.csv").symlink_to(folder / "secret.csv")
    (root / "linked" / "file.csv").symlink_to(folder / "secret.csv")
    (root / "up").symlink_to(folder)
    (root / "inner").symlink_to(root / "linked")
    (root / "mine.csv").symlink_to(root / "scores.csv")
    return folder


@pytest.fixture(scope="module")
def root(outside: Path) -> Path:
    return outside / "root"


def limits(root: Path, **more: Any) -> Limits:
    return Limits(**{"root": str(root), "may_write": False, "seconds": 120, "memory": MEMORY, **more})


def talk(server: Any, conversation: Callable[[Any], Awaitable[None]]) -> None:
    from mcp import Client

    async def run() -> None:
        async with Client(server) as client:
            await conversation(client)

    anyio.run(run)


# --- what is declared


def test_every_question_is_a_tool_with_its_parameters(root: Path) -> None:
    async def conversation(client: Any) -> None:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert list(tools) == list(MODULES)
        for name, tool in tools.items():
            question = find_question(name)
            assert tool.title == question.title
            assert tool.description.startswith(question.summary)
            assert tool.input_schema == schema_of(question)
            assert list(tool.input_schema["properties"]) == list(question.parameters)

    talk(make_server(limits(root)), conversation)


@pytest.mark.parametrize("name", MODULES)
def test_a_schema_has_help_choices_bounds_and_defaults_of_the_declaration(name: str) -> None:
    import jsonschema  # type: ignore[import-untyped]

    schema, question = schema_of(find_question(name)), find_question(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    json.dumps(schema)
    for parameter in question.parameters.values():
        found = schema["properties"][parameter.name]
        assert found["description"] == parameter.help
        assert tuple(found.get("enum", ())) == parameter.choices
        assert found.get("exclusiveMinimum") == (parameter.about.gt if parameter.kind in ("count", "number") else None)
        assert (parameter.name in schema["required"]) == parameter.is_required
        if not parameter.is_required and parameter.default is not None:
            jsonschema.validate(found["default"], found)


def test_a_tool_says_what_this_server_refuses() -> None:
    def described(name: str, **more: bool) -> str:
        return str(make_tool(find_question(name), ConfinedFiles("/", **more)).description)

    assert described("pack").endswith(
        "This server writes nothing: `out` is refused. This server uses no network: irds:NAME is refused, name a file."
    )
    assert described("pack", may_write=True, datasets=True) == find_question("pack").summary
    assert described("size", may_write=True).endswith("irds:NAME is refused, name a file.")


# --- answers


def test_three_questions_are_answered_and_wrong_ones_refused(root: Path, tmp_path: Path) -> None:
    asked = {"scores": "scores.csv", "baseline": "cleverdon1", "candidate": "cleverdon2", "gate": "no-worse=0.05"}
    command = [sys.executable, "-m", "cranfield", "compare", "scores.csv", "--json"]
    command += ["--baseline", "cleverdon1", "--candidate", "cleverdon2", "--gate", "no-worse=0.05"]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8").stdout

    async def conversation(client: Any) -> None:
        size = await client.call_tool("size", {"difference": 0.05, "sd": 0.15, "test": "t"})
        assert not size.is_error
        assert size.structured_content["rows"][0]["topics"] == 73
        assert "73 topics" in size.content[0].text
        compared = await client.call_tool("compare", asked)
        assert compared.structured_content == json.loads(printed)
        assert "no-worse=0.05 passed: cleverdon2 − cleverdon1 is at least" in compared.content[0].text
        checked = await client.call_tool("check", {"files": ["runs", "scores.csv"]})
        assert {each["file"] for each in checked.structured_content["inputs"]["files"]} == {"runs/a.run", "scores.csv"}
        for name, given, said in (
            ("compare", {"scores": "scores.csv", "alpha": 7}, "`alpha` must be below 1, not 7"),
            ("compare", {"scores": "../secret.csv"}, "`scores` leads outside"),
            ("compare", {"scores": "link.csv"}, "`scores` leads outside"),
            ("nothing", {}, "there is no tool «nothing»"),
        ):
            refused = await client.call_tool(name, given)
            assert refused.is_error
            assert said in refused.content[0].text
            assert refused.structured_content is None

    talk(make_server(limits(root)), conversation)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("compare", {}, "`scores` has to be given"),
        ("compare", {"scores": "scores.csv", "alphas": 0.1}, "no parameter «alphas»"),
        ("compare", {"scores": {"a": {"1": 0.5}}}, "`scores` cannot be"),
        ("compare", {"scores": [["scores.csv"]]}, "`scores` cannot be"),
        ("compare", {"scores": 7}, "`scores` cannot be"),
        ("compare", {"scores": "scores.csv", "judge": {"model": "../secret.csv"}}, "`judge` cannot be"),
        ("compare", {"scores": "scores.csv", "audit": "yes"}, "`audit` cannot be"),
        ("compare", {"scores": "scores.csv", "alpha": True}, "`alpha` cannot be"),
        ("compare", {"scores": "scores.csv", "test": "tukeys"}, "Did you mean tukey"),
        ("compare", {"scores": "absent.csv"}, "absent.csv: there is no such file"),
        ("size", {"difference": "much"}, "difference"),
    ],
)
def test_a_bad_argument_is_a_clear_error(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(root)
    reply = reply_to(name, given, limits(root).files)
    assert reply.is_error
    assert said in reply.text
    assert "should not happen" not in reply.text


# --- files


@pytest.mark.parametrize(
    "path",
    [
        "../secret.csv",
        "runs/../../secret.csv",
        "OUTSIDE/secret.csv",
        "/etc/passwd",
        "link.csv",
        "linked",
        "linked/*.csv",
        "inner",
        "inner/file.csv",
        "up",
        "up/secret.csv",
        "*",
        "up/*.csv",
        "../*.csv",
        "**/*.csv",
        ".",
        "..",
        "../book.xlsx#Sheet",
        "-",
        "a\0b",
    ],
)
def test_nothing_outside_is_read_wherever_paths_and_links_lead(root: Path, outside: Path, path: str) -> None:
    files = ConfinedFiles(os.path.realpath(root))
    path = path.replace("OUTSIDE", str(outside))
    for name, given in (
        ("compare", {"scores": path}),
        ("compare", {"scores": ["scores.csv", path]}),
        ("compare", {"scores": "scores.csv", "qrels": path}),
        ("compare", {"scores": "scores.csv", "judge": f"model={path}"}),
        ("judges", {"scores": "scores.csv", "earlier": [path]}),
        ("check", {"run": [path]}),
        ("verify", {"design": path}),
        ("study_log", {"file": path}),
    ):
        with pytest.raises(RequestError):
            files.check(find_question(name), given)


@pytest.mark.parametrize(
    "path", ["scores.csv", "./runs/../scores.csv", "runs", "runs/*.run", "mine.csv", "ROOT/scores.csv"]
)
def test_what_is_below_the_folder_is_read(root: Path, path: str) -> None:
    files = ConfinedFiles(os.path.realpath(root))
    files.check(find_question("compare"), {"scores": path.replace("ROOT", str(root)), "qrels": "scores.csv"})
    files.check(find_question("compare"), {"scores": "scores.csv", "judge": f"model={path}".replace("ROOT", str(root))})


def test_every_parameter_that_names_what_is_written_is_declared_so() -> None:
    writing = {
        (name, each.name)
        for name in MODULES
        for each in find_question(name).parameters.values()
        if each.is_source and "write" in each.about.help.lower().split()
    }
    declared = {
        (name, each.name) for name in MODULES for each in find_question(name).parameters.values() if each.is_written
    }
    studies = {(f"study_{step}", "file") for step in ("new", "add", "edit", "test")}
    assert declared == writing | studies


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"qrels": "irds:vaswani"}, "uses no network"),
        ({"scores": "irds:vaswani"}, "`scores` cannot be a dataset"),
        ({"judge": "model=irds:vaswani"}, "`judge` cannot be a dataset"),
        ({"qrels": "irds:a/./b"}, "`qrels` cannot be a dataset"),
        ({"qrels": "irds:a b"}, "`qrels` cannot be a dataset"),
        ({"qrels": "irds:x/../../secret.csv"}, "`qrels` leads outside"),
    ],
)
def test_a_dataset_is_refused_unless_it_is_judgments_by_its_id_and_allowed(
    root: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(RequestError, match=said):
        ConfinedFiles(os.path.realpath(root)).check(find_question("compare"), {"scores": "scores.csv", **given})


def test_a_dataset_may_be_named_where_that_is_allowed(root: Path) -> None:
    files = ConfinedFiles(os.path.realpath(root), datasets=True)
    for name in (
        "vaswani",
        "msmarco-passage/trec-dl-2019/judged",
        "beir/cqadupstack/android",
        "wapo/v2/trec-core-2018",
    ):
        files.check(find_question("score"), {"runs": "runs", "qrels": f"irds:{name}"})


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_nothing_is_written_unless_that_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    (tmp_path / "topics.txt").write_text("\n".join(map(str, range(400))), encoding="utf-8")
    (tmp_path / "scores.csv").write_bytes((root / "scores.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    goal = {"difference": 0.05, "sd": 0.15, "topics": "topics.txt"}
    reading = ConfinedFiles(os.path.realpath(tmp_path))
    writing = ConfinedFiles(os.path.realpath(tmp_path), may_write=True)
    before = contents(tmp_path)
    for name, given in (("study_new", {"file": "a.study", **goal}), ("pack", {"runs": "scores.csv", "out": "a.cran"})):
        now = contents(tmp_path)
        refused = reply_to(name, dict(given), reading)
        assert "only reads" in refused.text
        assert contents(tmp_path) == now
        far = {**given, ("out" if name == "pack" else "file"): "../away"}
        assert "leads outside" in reply_to(name, far, writing).text
        assert not (tmp_path.parent / "away").exists()
        allowed = reply_to(name, dict(given), writing)
        assert not allowed.is_error, allowed.text
    after = contents(tmp_path)
    assert set(after) - set(before) == {"a.study", "a.cran"}
    for name, more in (("study_status", {}), ("study_next", {"count": 3}), ("study_log", {})):
        reply = reply_to(name, {"file": "a.study", **more}, reading)
        assert not reply.is_error, reply.text
    for name in ("study_add", "study_edit", "study_test"):
        given = {"file": "a.study", "scores": "scores.csv", "because": "x"}
        mine = {key: value for key, value in given.items() if key in find_question(name).parameters}
        assert "only reads" in reply_to(name, mine, reading).text
    assert contents(tmp_path) == after


def test_the_project_file_of_the_folder_counts_and_none_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)
    (tmp_path / "cranfield.toml").write_text("alpha = 0.01\n", encoding="utf-8")
    files, asked = ConfinedFiles(os.path.realpath(root)), {"difference": 0.05, "sd": 0.15}

    def alpha() -> Any:
        reply = reply_to("size", dict(asked), files)
        assert reply.data is not None, reply.text
        return reply.data["rows"][0]["alpha"]

    assert alpha() == 0.05
    (root / "cranfield.toml").symlink_to(tmp_path / "cranfield.toml")
    assert alpha() == 0.05
    (root / "cranfield.toml").unlink()
    (root / "cranfield.toml").write_text("alpha = 0.02\n[compare]\nbaseline = 'x'\n", encoding="utf-8")
    assert alpha() == 0.02
    (root / "cranfield.toml").write_text("qrels = '../qrels.txt'\n", encoding="utf-8")
    (root / "a.run").write_text("1 Q0 d1 1 2.0 a\n", encoding="utf-8")
    assert "`qrels` leads outside" in reply_to("score", {"runs": "a.run"}, files).text


# --- limits


def test_an_answer_that_takes_too_long_is_ended(root: Path) -> None:
    reply = answer("size", {"difference": 0.05, "sd": 0.15}, limits(root, seconds=0.01), threading.Event())
    assert reply.is_error
    assert "this takes more than" in reply.text


def test_a_call_that_nobody_waits_for_is_ended(root: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    assert answer("size", {}, limits(root), cancelled) == Reply("cancelled", is_error=True)


def test_an_answer_that_takes_too_much_memory_is_an_error(root: Path) -> None:
    given = {"scores": "scores.csv", "test": "max-t", "resamples": 1000}
    reply = answer("compare", given, limits(root, memory=1_000_000), threading.Event())
    assert reply.is_error


def test_json_that_is_too_long_is_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr("cranfield.cli.mcp_server.MOST", 5_000)
    reply = reply_to("compare", {"scores": "scores.csv", "test": "max-t", "resamples": 100}, limits(root).files)
    assert (reply.data, reply.is_error) == (None, False)
    assert "is left out" in reply.text


def test_text_that_is_too_long_is_cut_and_keeps_its_answer_and_warnings(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    asked = {"scores": "scores.csv", "test": "unpaired"}
    whole = reply_to("compare", dict(asked), limits(root).files).text
    monkeypatch.setattr("cranfield.cli.mcp_server.MOST", 2_000)
    cut = reply_to("compare", dict(asked), limits(root).files).text
    assert len(whole) > 3_000
    assert cut.splitlines()[0] == whole.splitlines()[0]
    warned = [line for line in whole.splitlines() if line.startswith("warning:")]
    assert warned
    assert [line for line in cut.splitlines() if line.startswith("warning:")] == warned
    assert len(cut) < 2_000 + sum(map(len, warned)) + 300
    assert "is cut" in cut


# --- the command


def test_the_command_serves_on_standard_input_and_output(root: Path) -> None:
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = ["-m", "cranfield", "mcp", "--root", str(root)]
    server = stdio_client(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ)))

    async def conversation(client: Any) -> None:
        assert len((await client.list_tools()).tools) == len(MODULES)
        answered = await client.call_tool("power", {"scores": "scores.csv"})
        assert answered.structured_content["method"] == "power"
        refused = await client.call_tool("power", {"scores": "up/secret.csv"})
        assert "leads outside" in refused.content[0].text

    talk(server, conversation)


LONG = {"scores": "scores.csv", "test": "max-t", "resamples": 10_000_000}


class Server:
    """The command, spoken to line by line."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-m", "cranfield", "mcp", "--root", str(root)]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, **streams, text=True, encoding="utf-8")  # type: ignore[call-overload]
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.send("initialize", client, id=1)
        self.process.stdout.readline()
        self.send("notifications/initialized", {})

    def send(self, method: str, params: dict[str, Any], **more: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def start_long_work(self) -> int:
        """The id of the process that is busy with it."""
        self.send("tools/call", {"name": "compare", "arguments": LONG}, id=2)
        assert until(lambda: bool(busy_children(self.process.pid)))
        return busy_children(self.process.pid)[0]

    def end(self) -> tuple[int, str]:
        """Exit code and errors, once it has ended."""
        errors = self.process.stderr.read()
        return self.process.wait(PATIENCE), errors


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    made = Server(root)
    yield made
    made.process.kill()
    made.process.wait()
    for stream in (made.process.stdin, made.process.stdout, made.process.stderr):
        with suppress(OSError):
            stream.close()


def until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


def busy_children(process: int) -> list[int]:
    """Processes that a server has started to answer, and that have come so far as to lead a group of their own."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    found = [int(each) for file in children for each in file.read_text().split()]
    return [each for each in found if status(each)[2:3] == [str(each)] and not has_ended(each)]


def has_ended(process: int) -> bool:
    return status(process)[:1] in ([], ["Z"])


def status(process: int) -> list[str]:
    """State, parent, group and so on; nothing of a process that is not there."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


in_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")


def test_an_idle_server_is_ended_by_an_interrupt(server: Server) -> None:
    server.process.send_signal(signal.SIGINT)
    assert server.end() == (130, "stopped\n")


@in_proc
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_server_that_is_ended_takes_its_work_with_it(server: Server, how: str) -> None:
    worker = server.start_long_work()
    server.process.send_signal(getattr(signal, how))
    server.process.wait(PATIENCE)
    assert until(lambda: has_ended(worker))


@in_proc
def test_a_server_whose_client_has_gone_ends_quietly(server: Server) -> None:
    worker = server.start_long_work()
    server.send("tools/list", {}, id=3)
    server.process.stdout.close()
    with suppress(BrokenPipeError):  # it may have noticed already
        server.send("tools/list", {}, id=4)
        server.process.stdin.close()
    assert server.end() == (0, "")
    assert until(lambda: has_ended(worker))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cranfield", "mcp", "--root", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no such folder" in done.stderr


def test_without_the_part_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(Path(cf.__file__).parents[1])])
    command = [sys.executable, "-m", "cranfield", "mcp"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs mcp, which is not installed" in done.stderr
    assert "pip install 'cranfield[mcp]'" in done.stderr
