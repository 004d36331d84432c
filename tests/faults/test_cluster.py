"""Tasks on threads, on processes and on a real scheduler with real workers, some of which die."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import cranfield
from cranfield.cli.app import app
from cranfield.errors import InputError, RequestError, WriteError
from cranfield.runtime import threads
from cranfield.runtime.checkpoints import PartialResults
from cranfield.runtime.dask import ClusterError, _task, code_mark, connect, local_cluster, work_on
from cranfield.runtime.threads import Threads, tasks
from cranfield.scores.evaluation import score_collection, score_files
from sizes import sized

pytestmark = pytest.mark.filterwarnings("ignore")  # what Dask's own shutting down warns of is not ours

ITEMS = list(range(24))

WORK = """
    import time
    import numpy as np

    def part(shared, item):
        time.sleep(0.03)
        rng = np.random.default_rng([7, item])
        return item, rng.normal(size=3) * shared.sum(), {"mean": float(rng.random())}
"""


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Any, int], Any]]:
    """A task in a module that workers can import too."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "cluster_work.py").write_text(textwrap.dedent(WORK))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), before]))
    sys.path.insert(0, str(folder))
    yield __import__("cluster_work").part
    sys.path.remove(str(folder))
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        a[0] == b[0] and a[1].tobytes() == b[1].tobytes() and a[2] == b[2] for a, b in zip(one, other, strict=True)
    )


SHARED = np.arange(1000.0)


@pytest.fixture(scope="module")
def answer(part: Callable[[Any, int], Any]) -> list[Any]:
    """What every way of running must give, bit for bit."""
    return [part(SHARED, item) for item in ITEMS]


class Running:
    """A scheduler and workers, processes of their own on loopback."""

    def __init__(self, workers: int, sources: Path | None = None) -> None:
        self._sources = sources
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = self._start("dask_scheduler", "--port", str(port))
        self.workers = [
            self._start("dask_worker", self.address, "--nthreads", "1", "--no-nanny") for _ in range(workers)
        ]

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", "--no-dashboard", *arguments]
        environment = os.environ | ({} if self._sources is None else {"PYTHONPATH": str(self._sources)})
        return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(part: Callable[[Any, int], Any]) -> Iterator[Running]:
    running = Running(2)
    yield running
    running.stop()


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_give_the_same_bits(workers: int, part: Callable[[Any, int], Any], answer: list[Any]) -> None:
    with threads.on(Threads(workers)):
        assert same(tasks(part, ITEMS, shared=SHARED), answer)


def test_any_number_of_processes_gives_the_same_bits(part: Callable[[Any, int], Any], answer: list[Any]) -> None:
    for workers in sized((3,), (1, 8)):
        with local_cluster(workers) as started, threads.on(started):
            assert same(tasks(part, ITEMS, shared=SHARED), answer)


def test_a_task_beside_others_has_one_core() -> None:
    with threads.on(Threads(2)):
        assert tasks(_cores, range(4)) == [1, 1, 1, 1]
    assert threads.available_workers() >= 1


def _cores(_shared: None, _item: int) -> int:
    return threads.available_workers()


def test_a_worker_killed_half_way_changes_nothing(
    cluster: Running, part: Callable[[Any, int], Any], answer: list[Any]
) -> None:
    def kill_one(done: int, _: int) -> None:
        if done == 6:
            cluster.workers[0].send_signal(signal.SIGKILL)

    with connect(cluster.address) as found, threads.on(found):
        assert same(tasks(part, ITEMS, shared=SHARED, progress=kill_one), answer)


def test_a_lost_scheduler_leaves_what_is_done(
    cluster: Running, part: Callable[[Any, int], Any], answer: list[Any], tmp_path: Path
) -> None:
    path = str(tmp_path / "parts")

    def kill(done: int, _: int) -> None:
        if done == 6:
            cluster.scheduler.send_signal(signal.SIGKILL)

    with (
        pytest.raises(ClusterError, match=r"scheduler was lost; \d+ finished parts are kept") as lost,
        work_on("test", dask=cluster.address, resume=path),
    ):
        tasks(part, ITEMS, shared=SHARED, progress=kill)
    assert f'`resume="{path}"`' in lost.value.fix

    seen: list[int] = []
    with work_on("test", resume=path):
        assert same(tasks(part, ITEMS, shared=SHARED, progress=lambda done, _: seen.append(done)), answer)
    assert min(seen) > 6
    assert not Path(path).exists()


CLIENT = """
    import sys
    import numpy as np
    from cluster_work import part
    from cranfield.runtime.dask import work_on
    from cranfield.runtime.threads import tasks

    with work_on("test", dask=sys.argv[1], resume=sys.argv[2]):
        tasks(part, range(24), shared=np.arange(1000.0), progress=lambda done, _: print(done, flush=True))
"""


def test_a_killed_client_can_be_started_again(
    cluster: Running, part: Callable[[Any, int], Any], answer: list[Any], tmp_path: Path
) -> None:
    path = str(tmp_path / "parts")
    line = [sys.executable, "-c", textwrap.dedent(CLIENT), cluster.address, path]
    client = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    for shown in client.stdout:
        if int(shown) >= 6:
            client.send_signal(signal.SIGKILL)
            break
    client.wait()
    client.stdout.close()
    seen: list[int] = []
    with work_on("test", dask=cluster.address, resume=path):
        assert same(tasks(part, ITEMS, shared=SHARED, progress=lambda done, _: seen.append(done)), answer)
    assert min(seen) > 6


def test_a_full_disk_ends_the_work_and_keeps_what_is_there(
    part: Callable[[Any, int], Any], answer: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "parts"
    code = """
        import resource, signal, sys
        import numpy as np
        from cluster_work import part
        from cranfield.runtime.dask import work_on
        from cranfield.errors import WriteError
        from cranfield.runtime.threads import tasks

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            with work_on("test", resume=sys.argv[1]):
                tasks(part, range(24), shared=np.arange(1000.0))
        except WriteError as error:
            print(error)
            sys.exit(2)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "finished parts cannot be kept" in done.stdout
    assert f'`resume="{path}"`' in done.stdout
    seen: list[int] = []
    with work_on("test", resume=str(path)):
        assert same(tasks(part, ITEMS, shared=SHARED, progress=lambda done, _: seen.append(done)), answer)
    assert min(seen) > 1


def test_an_unreachable_scheduler_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cranfield.runtime.dask._PATIENCE", 0.5)
    with pytest.raises(ClusterError, match="no scheduler answers") as refusal, connect("tcp://127.0.0.1:9"):
        pass
    assert "dask scheduler" in refusal.value.fix


def test_a_scheduler_without_workers_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("cranfield.runtime.dask._PATIENCE", 5.0)
    monkeypatch.chdir(tmp_path)
    running = Running(0)
    try:
        with pytest.raises(ClusterError, match="no workers") as refusal, work_on("test", dask=running.address):
            pass
        assert f"dask worker {running.address}" in refusal.value.fix
        assert list(tmp_path.iterdir()) == []
    finally:
        running.stop()


def test_a_worker_with_altered_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(Path(cranfield.__file__).parent, tmp_path / "other" / "cranfield")
    with (tmp_path / "other" / "cranfield" / "stats" / "tails.py").open("a") as source:
        source.write("# altered\n")
    running = Running(1, sources=tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    try:
        with (
            pytest.raises(ClusterError, match="other code of cranfield") as refusal,
            work_on("x", dask=running.address),
        ):
            pass
        assert refusal.value.exit_code == 2
        assert "same sources" in refusal.value.fix
    finally:
        running.stop()


def test_a_worker_that_joined_later_is_looked_at_by_its_tasks() -> None:
    assert _task(code_mark(), _double, 2.0, 3) == 6.0
    with pytest.raises(ClusterError, match="other code of cranfield"):
        _task("0.1.0 0123456789abcdef", _double, 2.0, 3)


def test_when_all_workers_are_gone_the_run_ends_with_how_to_go_on(
    cluster: Running,
    part: Callable[[Any, int], Any],
    answer: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("cranfield.runtime.dask._ABANDONED", 2.0)
    path = str(tmp_path / "parts")

    def kill_all(done: int, _: int) -> None:
        for worker in cluster.workers if done == 6 else ():
            worker.send_signal(signal.SIGKILL)

    with (
        pytest.raises(ClusterError, match=r"all workers are gone; \d+ finished parts are kept") as lost,
        work_on("test", dask=cluster.address, resume=path),
    ):
        tasks(part, ITEMS, shared=SHARED, progress=kill_all)
    assert f'`resume="{path}"`' in lost.value.fix
    with work_on("test", resume=path):
        assert same(tasks(part, ITEMS, shared=SHARED), answer)


def test_an_error_in_a_task_is_the_users_to_see() -> None:
    with pytest.raises(RequestError, match="item 3"), threads.on(Threads(2)):
        tasks(_refuse, range(5))
    with local_cluster(1) as started, pytest.raises(RequestError, match="item 3"), threads.on(started):
        tasks(_refuse, range(5))


def _refuse(_shared: None, item: int) -> int:
    if item == 3:
        raise RequestError("item 3 cannot be done")
    return item


# --- the file of finished parts


def _double(shared: float, item: int) -> float:
    return shared * item


def _broken_off(path: Path, items: range) -> None:
    """All parts done, and then stopped before the end."""
    try:
        with work_on("test", resume=str(path)):
            tasks(_double, items, shared=2.0)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass


def test_a_cut_off_line_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "parts"
    _broken_off(path, range(10))
    path.write_bytes(path.read_bytes()[:-7])
    seen: list[int] = []
    with work_on("test", resume=str(path)):
        assert tasks(_double, range(10), shared=2.0, progress=lambda done, _: seen.append(done)) == [
            2.0 * item for item in range(10)
        ]
    assert seen == [10]


def test_parts_of_other_work_are_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "parts"
    _broken_off(path, range(3))
    with work_on("test", resume=str(path)):
        assert tasks(_double, range(3), shared=5.0) == [0.0, 5.0, 10.0]


def test_a_file_that_holds_no_parts_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(InputError, match="this is not a file of finished parts"), work_on("test", resume=str(path)):
        pass
    assert path.read_text() == "my notes\n"


def test_two_processes_do_not_keep_parts_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "parts"
    again = PartialResults(path)
    with PartialResults(path).open(), pytest.raises(InputError, match="another process"), again.open():
        pass


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be kept"), PartialResults(tmp_path / "no" / "parts").open():
        pass


def test_a_cluster_and_workers_exclude_each_other() -> None:
    with pytest.raises(RequestError, match="exclude"), work_on("test", dask="tcp://x:1", workers=2):
        pass


def test_without_the_extra_the_message_says_how_to_install_it() -> None:
    code = """
        import sys
        sys.modules["distributed"] = None
        from cranfield.runtime.dask import local_cluster
        try:
            with local_cluster(1):
                pass
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert re.search(r"pip install 'cranfield\[cluster\]'", done.stdout)


def test_tasks_wait_for_nobody_in_particular() -> None:
    """Results come in the order of the items, whatever the order they are done in."""
    with threads.on(Threads(4)):
        assert tasks(_late_first, range(6)) == list(range(6))


def _late_first(_shared: None, item: int) -> int:
    time.sleep(0.02 * (6 - item))
    return item


# --- the commands, on a real cluster


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    cranfield.write_example(folder, seed=5, topics=8, documents=300, depth=40, pool=20)
    read = cranfield.read_collection(folder / "runs", folder / "qrels.txt", teams=folder / "teams.tsv")
    read.save(folder / "demo.cran")
    return folder


COMMANDS = {
    "score": ["score", "{demo}/runs", "--qrels", "{demo}/qrels.txt", "-m", "AP", "-m", "nDCG@10"],
    "shards": ["shards", "{demo}/demo.cran", "-s", "2,3", "-m", "AP", "--samples", "2", "--resamples", "50"],
    "pilot": ["pilot", "{demo}/demo.cran", "-m", "AP", "--trials", "3"],
    "verify": ["verify", "{demo}/demo.cran", "-m", "AP", "--difference", "0.1", "--collections", sized("250", "1000")],
    "simulate": ["simulate", "{demo}/demo.cran", "-m", "AP", "--topics", "60000"],
    "compare": ["compare", "{demo}/demo.cran", "-m", "AP", "--test", "tukey-permutation", "--resamples", "500"],
}


@pytest.fixture(scope="module")
def lasting_cluster(part: Callable[[Any, int], Any]) -> Iterator[Running]:
    running = Running(2)
    yield running
    running.stop()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.proof] if name == "verify" else []) for name in COMMANDS]
)
def test_a_command_says_the_same_on_a_cluster(name: str, demo: Path, lasting_cluster: Running) -> None:
    line = [part.format(demo=demo) for part in COMMANDS[name]] + ["--json"]
    here = CliRunner().invoke(app, line)
    there = CliRunner().invoke(app, [*line, "--dask", lasting_cluster.address])
    assert here.exit_code == there.exit_code == 0, there.output
    assert here.stdout == there.stdout


def test_a_command_whose_scheduler_is_lost_says_how_to_go_on(demo: Path, tmp_path: Path) -> None:
    running = Running(1)
    line = [part.format(demo=demo) for part in COMMANDS["shards"]] + ["--samples", "200", "--json"]
    try:
        # A pseudo-terminal is not needed: the file of finished parts shows that work is under way.
        code = "from cranfield.cli.app import main; main()"
        command = subprocess.Popen(
            [sys.executable, "-c", code, *line, "--dask", running.address],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while command.poll() is None and not any(path.stat().st_size > 2000 for path in tmp_path.glob("*.parts")):
            time.sleep(0.05)
        running.scheduler.send_signal(signal.SIGKILL)
        _, said = command.communicate(timeout=600)
    finally:
        running.stop()
    assert command.returncode == 2
    found = re.search(r"(\d+) finished parts are kept(?s:.)*--resume (\S+)", said)
    assert found is not None, said
    assert int(found[1]) > 0
    assert (tmp_path / found[2]).exists()
    assert "Traceback" not in said


def test_a_table_of_files_scored_apart_is_the_table_of_all(demo: Path) -> None:
    whole = score_collection(
        cranfield.read_collection(demo / "runs", demo / "qrels.txt"), ["AP", "P@5"], missing="drop"
    )
    apart = score_files(demo / "runs", demo / "qrels.txt", ["AP", "P@5"], missing="drop")
    assert (apart.systems, apart.topics, apart.measures) == (whole.systems, whole.topics, whole.measures)
    assert apart.values.tobytes() == whole.values.tobytes()


def test_two_files_of_one_run_are_told_apart(demo: Path, tmp_path: Path) -> None:
    runs = sorted((demo / "runs").iterdir())
    copy = tmp_path / "zz_copy.txt"
    copy.write_bytes(runs[0].read_bytes())
    with pytest.raises(RequestError, match="two files hold a run called"):
        score_files([*runs, copy], demo / "qrels.txt", "AP")


KEY = """
    import sys
    import cranfield
    from cranfield.runtime import threads
    from cranfield.methods.sharding import shard_study
    from cranfield.runtime.checkpoints import PartialResults, _key

    class Asked(PartialResults):
        def found(self, function, shared, items):
            print(_key(function, shared, items))
            return super().found(function, shared, items)

    read = cranfield.open_collection(sys.argv[1])
    with threads.on(threads.Threads(1), keeper=Asked(sys.argv[2])):
        shard_study(read, "AP", shards=[2], samples=1, resamples=0, halvings=0)
"""


def test_parts_are_known_again_by_another_process(demo: Path, tmp_path: Path) -> None:
    """Whatever order its hashes come in."""
    said = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(KEY), demo / "demo.cran", tmp_path / "parts"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert said != {""}


@pytest.mark.parametrize("kind", [InputError, KeyboardInterrupt, MemoryError, RuntimeError])
def test_a_failure_before_the_first_part_leaves_no_file(tmp_path: Path, kind: type[BaseException]) -> None:
    with pytest.raises(kind), work_on("test", resume=str(tmp_path / "parts")):
        raise kind("any")
    assert list(tmp_path.iterdir()) == []


def test_a_command_with_dask_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cranfield", "verify", "absent.csv", "--workers", "1", "--difference", "0.1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 2
    assert "absent.csv: there is no such file" in done.stderr
    assert list(tmp_path.iterdir()) == []
