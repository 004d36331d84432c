"""What an installation must do before it is trusted: run by the Python it was installed for, in an empty folder.

``python scripts/smoke.py [EXTRA ...]`` names the optional parts that should be there; those that are not named should
say how they are installed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "cranfield")


def run(*arguments: str, code: int = 0) -> str:
    """What the command prints; it must end with ``code`` and never with a traceback."""
    started = time.perf_counter()
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=300)
    print(f"  {time.perf_counter() - started:6.2f} s  cranfield {' '.join(arguments)}", flush=True)
    said = done.stdout + done.stderr
    if done.returncode != code or "Traceback" in said:
        raise SystemExit(f"exit code {done.returncode} where {code} was due:\n{said}")
    return said


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise SystemExit(f"not so: {what}")


def calculators() -> None:
    """Answers that need no data, and the numbers they are known to have."""
    expect("cranfield" in run("--version"), "--version names cranfield")
    run("--help")
    plan = json.loads(
        run("size", "--systems", "10", "--min-range", "0.1", "--variance", "0.053", "--method", "sakai", "--json")
    )
    expect(plan["rows"][0]["topics"] == 166, "10 systems, minD 0.1, AP: 166 topics in S14")
    asking = {**os.environ, "_CRANFIELD_COMPLETE": "complete_bash", "COMP_WORDS": "cranfield comp", "COMP_CWORD": "1"}
    offered = subprocess.run([COMMAND], env=asking, capture_output=True, text=True, timeout=300).stdout
    expect(offered.split() == ["compare"], "a shell can complete a command")


def collection() -> None:
    """From runs and judgments to the report, through the files between them."""
    run("demo", "example")
    run("check", "example/runs", "example/qrels.txt", "example/teams.tsv")
    run("pack", "example/runs", "--qrels", "example/qrels.txt", "--teams", "example/teams.tsv", "-o", "example.cran")
    run("score", "example.cran", "-m", "AP", "-m", "nDCG@10", "-o", "scores.csv")
    ranking = json.loads(run("compare", "scores.csv", "-m", "AP", "--json"))
    expect(len(ranking["pairs"]) == 66, "twelve systems have 66 pairs")
    run("size", "scores.csv", "-m", "AP", "--difference", "0.05")
    rows = "".join(f"{at},{name},0.{at}{len(name)}\n" for at in range(1, 9) for name in ("bm25", "dense", "hybrid"))
    Path("mine.csv").write_text(f"query,run,ndcg\n{rows}")
    run("compare", "mine.csv", "--columns", "topic=query,system=run,score=ndcg")
    run("reliability", "scores.csv", "-m", "AP")
    run("simulate", "scores.csv", "-m", "AP", "--topics", "100", "-o", "new.csv")
    run("shards", "example.cran", "-s", "2", "-m", "AP", "--samples", "2")
    run("report", "example.cran", "-o", "report.html")
    written("report.html")


def written(*names: str) -> None:
    for name in names:
        expect(Path(name).stat().st_size > 1000, f"{name} was written")


def parts(extras: set[str]) -> None:
    """The optional parts: there when they were asked for, and otherwise saying how they are had."""
    run("compare", "scores.csv", "-m", "AP", "--plot", "intervals.svg")
    written("intervals.svg")
    expect("<figure><svg" in Path("report.html").read_text(encoding="utf-8"), "the report has its charts")
    drawing = ("shards", "example.cran", "-s", "2", "-m", "AP", "--samples", "2", "--plot", "shards.png")
    if "charts" in extras:
        run(*drawing)
        written("shards.png")
    else:
        expect("cranfield[charts]" in run(*drawing, code=2), "charts as PNG and PDF are optional")
    if "workbook" in extras:
        run("report", "scores.csv", "-o", "report.xlsx")
        written("report.xlsx")
    else:
        expect("cranfield[workbook]" in run("report", "scores.csv", "-o", "report.xlsx", code=2), "so are workbooks")
    if "parquet" in extras:
        run("score", "example.cran", "-o", "scores.parquet")
        run("compare", "scores.parquet")
    else:
        expect(
            "cranfield[parquet]" in run("score", "example.cran", "-o", "scores.parquet", code=2), "Parquet is optional"
        )
    if "cluster" in extras:
        run("shards", "example.cran", "-s", "2", "-m", "AP", "--samples", "2", "--workers", "2")
    else:
        said = run("shards", "example.cran", "-s", "2", "--dask", "tcp://127.0.0.1:9", code=2)
        expect("cranfield[cluster]" in said, "a cluster is optional")
    if "web" in extras:
        with page() as address:
            expect(b"cranfield" in urllib.request.urlopen(address, timeout=60).read(), "the page opens")
    else:
        expect("cranfield[web]" in run("serve", code=2), "the page is optional")


@contextmanager
def page() -> Iterator[str]:
    """The page on a free port, until it was looked at."""
    server = subprocess.Popen([COMMAND, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\w.:]+", line)))
        yield address
    finally:
        server.terminate()
        server.wait(20)


def heaviest(count: int = 5) -> str:
    """The packages that take the most space, in MB."""
    sizes = {
        each.name: sum(path.stat().st_size for file in each.files or () if (path := Path(str(file.locate()))).is_file())
        for each in distributions()
        if each.name not in ("pip", "setuptools")  # of the environment
    }
    first = sorted(sizes, key=lambda name: -sizes[name])[:count]
    return ", ".join(f"{name} {sizes[name] / 2**20:.0f}" for name in first)


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print(f"  MB: {heaviest()}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        calculators()
        collection()
        parts(set(sys.argv[1:]))
        os.chdir("/")
    print("  the installation does what it should")


if __name__ == "__main__":
    main()
