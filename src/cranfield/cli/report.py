"""cranfield report"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


def report(
    scores: options.Scores,
    out: Annotated[
        list[str] | None,
        typer.Option(
            "--out",
            "-o",
            help="Where to write it: .html, .pdf, .md, .tex, .json, .xlsx or .bib; may be "
            "repeated. (default: report.html)",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    columns: options.Columns = None,
    qrels: options.Qrels = None,
    teams: options.Teams = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="Only this measure; may be repeated. Runs are scored with it (default: AP, nDCG@10).",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    systems: Annotated[
        int | None,
        typer.Option("--systems", help="How many systems will be compared (default: the input's).", metavar="M"),
    ] = None,
    min_range: Annotated[
        float, typer.Option("--min-range", help="Smallest range of the systems' means to find.", metavar="D")
    ] = 0.1,
    difference: Annotated[
        float, typer.Option("--difference", help="Smallest difference of two systems to find.", metavar="D")
    ] = 0.05,
    width: Annotated[float, typer.Option("--width", help="Widest interval for a difference.", metavar="W")] = 0.1,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level.")] = 0.05,
    power: Annotated[float, typer.Option("--power", help="Probability of finding what is there.")] = 0.8,
    shards: Annotated[str, typer.Option("--shards", "-s", help="How many shards: a list or a range.")] = "2,5,10",
    samples: Annotated[int, typer.Option("--samples", help="Re-shardings of each.", min=1)] = 1,
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            help="Only this section; may be repeated: read, scores, variance, size, power, compare, shards, pilot, "
            "budget, reliability.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The report's title.", show_default=False)] = "",
    missing: options.Missing = None,
    seed: options.Seed = 1,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also as PDF (printed by Chromium, Chrome or Edge).")] = False,
    xlsx: Annotated[bool, typer.Option("--xlsx", help="Also as a workbook with live formulas for n.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Also as JSON; printed where no FILE is named.")] = False,
    md: Annotated[bool, typer.Option("--md", help="Also as Markdown; printed where no FILE is named.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Also as LaTeX; printed where no FILE is named.")] = False,
) -> None:
    """Everything about a pilot or a collection in one file that opens anywhere, without a network.

    Examples: cranfield report scores.csv -o report.html --xlsx

              cranfield report runs/ --qrels qrels.txt -o report.html --pdf
    """
    from cranfield.methods.design.grid import parse_grid
    from cranfield.methods.design.power_card import whole
    from cranfield.rendering.report_sections import Material, ReportGoal, check_sections, make_report

    faces = {".pdf": pdf, ".xlsx": xlsx, ".json": json, ".md": md, ".tex": latex}
    files, printed = options.report_files(out, [ending for ending, wanted in faces.items() if wanted])
    goal = ReportGoal(systems, min_range, difference, width, alpha, power)
    goal.check()
    check_sections(section)
    counts = [whole(value, "shards") for value in parse_grid(shards, name="shards")]
    inputs = {
        **options.sources(scores, columns),
        "qrels": qrels,
        "teams": teams,
        "measure": measure,
        **vars(goal),
        "shards": shards,
        "samples": samples,
        "section": section,
        "title": title,
        "missing": missing,
        "seed": seed,
    }
    tables, collection = options.load_material(
        scores, qrels=qrels, teams=teams, measures=measure, missing=missing, columns=columns
    )
    material = Material(tables, collection, goal, counts, samples, inputs, seed)
    with options.progress_bar("reporting") as step:
        made = make_report(material, title=title, sections=section, progress=step)
    options.output_report(made, files, printed)
