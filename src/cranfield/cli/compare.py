"""cranfield compare"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


def compare(
    scores: options.Scores,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    test: Annotated[
        str,
        typer.Option(
            "--test", help="tukey, randomised, t, wilcoxon, sign, bootstrap or randomisation.", metavar="NAME"
        ),
    ] = "tukey",
    correct: Annotated[
        str | None, typer.Option("--correct", help="For pairwise tests: holm [default], bh or none.", metavar="NAME")
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level.")] = 0.05,
    baseline: Annotated[
        list[str] | None,
        typer.Option("--baseline", help="Only pairs with this system; may be repeated.", metavar="SYSTEM"),
    ] = None,
    equivalence: Annotated[
        float | None, typer.Option("--equivalence", help="Mark pairs shown to differ by less (TOST).", metavar="D")
    ] = None,
    unpaired: Annotated[bool, typer.Option("--unpaired", help="One-way Tukey: ignore that topics are shared.")] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="All tests on the same data: which verdicts change, and why.")
    ] = False,
    resamples: Annotated[int, typer.Option("--resamples", help="Permutations or resamples.", min=100)] = 10_000,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="List the pairs however many there are.")] = False,
    missing: options.Missing = options.MissingChoice.ZERO,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Let --plot draw the pair matrix in place of intervals.")
    ] = False,
    json: options.Json = False,
    csv: options.Csv = False,
    md: options.Markdown = False,
    latex: options.Latex = False,
) -> None:
    """Which systems differ: ranking with intervals and groups, and every pair with its difference and adjusted p.

    Example: cranfield compare scores.csv -m AP --plot intervals.svg
    """
    from cranfield.compare.auditing import audit as run_audit
    from cranfield.compare.comparison import compare as run_comparison
    from cranfield.report import comparing

    chosen = options.face(json=json, csv=csv, md=md, latex=latex)
    if plot is not None:
        options.check_plot(plot)
    if unpaired and test != "tukey":
        raise typer.BadParameter("--unpaired is one-way Tukey; it does not go with --test")
    inputs = {"scores": scores, "measures": measure, "test": "unpaired" if unpaired else test, "correct": correct,
              "alpha": alpha, "baseline": baseline, "equivalence": equivalence, "resamples": resamples}  # fmt: skip
    for table in options.load_tables(scores, qrels=qrels, measures=measure, missing=missing).values():
        for name in table.measures:
            if audit:
                found = run_audit(table, measure=name, alpha=alpha, count=resamples, seed=seed)
                options.output(comparing.audit_document(found, inputs), chosen)
                continue
            result = run_comparison(
                table, measure=name, test="unpaired" if unpaired else test, correct=correct, alpha=alpha,
                baselines=baseline or (), equivalent_within=equivalence, count=resamples, seed=seed,
            )  # fmt: skip
            most = None if all_pairs else 66
            document = comparing.compare_document(result, inputs, table.warnings, most_pairs=most)
            if plot is not None:
                options.draw_comparison(document, plot, matrix=matrix)
            options.output(document, chosen)
