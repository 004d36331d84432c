"""The workbook's formulas, recalculated by LibreOffice: the same n as ``cranfield size``."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from cranfield.rendering.report_model import Report, Start
from cranfield.rendering.workbook import to_xlsx
from designs import size_for_difference, size_for_range, size_for_width

# Recalculate on loading, always; LibreOffice otherwise trusts the numbers a file was saved with.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""
EVERY_SHEET = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
DESIGNS = [
    (systems, min_range, variance, alpha, power)
    for systems, min_range in ((2, 0.05), (3, 0.02), (10, 0.1), (10, 0.5), (100, 0.05), (200, 0.3))
    for variance in (0.0068, 0.0530)
    for alpha, power in ((0.01, 0.9), (0.05, 0.8))
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


def test_libreoffice_finds_the_same_n(tmp_path: Path) -> None:
    starts = tuple(
        Start(
            measure=f"design {at}",
            systems=systems,
            min_range=min_range,
            difference=0.05,
            width=min_range,
            alpha=alpha,
            power=power,
            variances={"two-way": (variance,) * 3, "residual": (variance,) * 3},
        )
        for at, (systems, min_range, variance, alpha, power) in enumerate(DESIGNS)
    )
    sheets = recalculated(to_xlsx(Report(title="designs", inputs={}, sections=(), starts=starts)), tmp_path)
    for sheet, method in (("Sakai", "sakai"), ("range", "blocked")):
        rows = [row for row in sheets[f"Topics ({sheet})"][4:] if re.fullmatch(r"design \d+", row[0])]
        assert len(rows) == len(DESIGNS)
        for row, (systems, min_range, variance, alpha, power) in zip(rows, DESIGNS, strict=True):
            wanted = size_for_range(
                systems=systems, min_range=min_range, variance=variance, alpha=alpha, power=power, method=method
            ).to_dict()[0]
            assert int(row[6]) == wanted["topics"], row
            assert float(row[7]) == pytest.approx(wanted["achieved_power"], rel=1e-6)
    rows = [row for row in sheets["Topics (pair)"][4:] if re.fullmatch(r"design \d+, max-t among \d+ systems", row[0])]
    assert len(rows) == len(DESIGNS)
    for row, (systems, _, variance, alpha, power) in zip(rows, DESIGNS, strict=True):
        pair = size_for_difference(
            difference=0.05, sd=(2 * variance) ** 0.5, systems=systems, test="max-t", alpha=alpha, power=power
        )
        assert int(row[5]) == int(pair.topics), row
    rows = [row for row in sheets["Topics (interval)"][4:] if re.fullmatch(r"design \d+", row[0])]
    for row, (_, width, variance, alpha, _) in zip(rows, DESIGNS, strict=True):
        assert int(row[4]) == int(size_for_width(width=width, sd=(2 * variance) ** 0.5, alpha=alpha).topics), row
