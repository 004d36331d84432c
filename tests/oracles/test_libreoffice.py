"""The workbook's formulas, recalculated by LibreOffice: the same n as ``cranfield size``."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import zipfile
from functools import partial
from pathlib import Path

import pytest

from cranfield.methods.design import Design, Goal, Sd, size
from cranfield.methods.design.topic_table import tabulate
from cranfield.rendering.report_model import Report, Start
from cranfield.rendering.workbook import to_xlsx

# Recalculate on loading, always; LibreOffice otherwise trusts the numbers a file was saved with.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""
EVERY_SHEET = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
DESIGNS = [
    (systems, goal, variance, power)
    for systems, goal in ((2, 0.05), (3, 0.02), (12, 0.1), (10, 0.5), (100, 0.05), (50, 0.3), (10, 0.001))
    for variance in (0.0068, 0.0530)
    for power in (0.85, 0.9)
]


def bare(data: bytes) -> bytes:
    """The workbook without the numbers its formulas were saved with: what is read later was computed later."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as book, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as stripped:
        for name in book.namelist():
            content = book.read(name)
            if name.startswith("xl/worksheets/sheet"):
                content = re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1", content)
                assert b"</f><v>" not in content
            stripped.writestr(name, content)
    return out.getvalue()


def recalculated(data: bytes, folder: Path) -> dict[str, list[list[str]]]:
    """Every sheet as LibreOffice computes it."""
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if program is None:
        pytest.skip("there is no LibreOffice on this machine to recalculate the workbook with")
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(SETTINGS)
    (folder / "book.xlsx").write_bytes(bare(data))
    command = [
        program,
        f"-env:UserInstallation={profile.as_uri()}",
        "--headless",
        "--norestore",
        "--convert-to",
        EVERY_SHEET,
        "--outdir",
        str(folder),
        str(folder / "book.xlsx"),
    ]
    subprocess.run(command, capture_output=True, check=True, timeout=600)
    found = {
        path.stem.removeprefix("book-"): list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        for path in folder.glob("book-*.csv")
    }
    if not found:
        pytest.skip("this LibreOffice is without Calc, and recalculates nothing")
    return found


SHEETS = {"pair": "holm", "range": "blocked", "Sakai": "sakai", "interval": "interval"}


def test_libreoffice_finds_the_same_n(tmp_path: Path) -> None:
    starts = tuple(
        Start(
            measure=f"design {at}",
            systems=systems,
            min_range=goal,
            difference=goal / 2,
            width=goal,
            alpha=0.01,
            power=power,
            variances={"two-way": (variance,) * 3, "residual": (variance,) * 3},
        )
        for at, (systems, goal, variance, power) in enumerate(DESIGNS)
    )
    table = partial(tabulate, systems=12, alpha=0.01, power=0.85)
    report = Report(title="designs", inputs={}, sections=(), starts=starts, topic_table=table)
    sheets = recalculated(to_xlsx(report), tmp_path)
    for sheet, test in SHEETS.items():
        rows = [row for row in sheets[f"Topics ({sheet})"][4:] if re.fullmatch(r"design \d+", row[0])]
        assert len(rows) == len(DESIGNS)
        for row, start in zip(rows, starts, strict=True):
            kind = {"pair": "difference", "interval": "width"}.get(sheet, "min_range")
            goal = Goal(kind, getattr(start, kind), None if kind == "width" else start.power)
            spread = Sd.of_variance(start.variances["residual"][0])
            n = int(size(Design(systems=start.systems, test=test, alpha=0.01, spread=spread), goal).topics)
            found = row[3 if kind == "width" else 5]
            assert found == ("more than 100,000" if n > 100_000 else str(max(n, 7 if test == "sakai" else 5))), row
