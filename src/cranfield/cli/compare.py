"""cranfield compare"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def compare(
    scores: options.Scores,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            help="max-t [default], dunnett [default with --baseline], tukey, tukey-permutation, t, wilcoxon, sign, "
            "bootstrap or permutation.",
            metavar="NAME",
        ),
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option("--correct", help="For t and the tests after it: holm [default], bh or none.", metavar="NAME"),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Family-wise error rate.")] = 0.05,
    baseline: Annotated[
        list[str] | None,
        typer.Option("--baseline", help="Compare the others with this system; may be repeated.", metavar="SYSTEM"),
    ] = None,
    equivalence: Annotated[
        float | None,
        typer.Option("--equivalence", help="Which pairs are shown to differ by less than M (TOST).", metavar="M"),
    ] = None,
    non_inferiority: Annotated[
        float | None,
        typer.Option(
            "--non-inferiority",
            help="Which systems are shown to be worse than the baseline by less than M, if at all.",
            metavar="M",
        ),
    ] = None,
    unpaired: Annotated[bool, typer.Option("--unpaired", help="One-way Tukey: ignore that topics are shared.")] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="All tests on the same data: which verdicts change, and why.")
    ] = False,
    resamples: Annotated[
        int | None,
        typer.Option("--resamples", help="Permutations or resamples (default: 10,000).", min=100, show_default=False),
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs", help="List the pairs however many there are; with --csv, they and not the ranking."
        ),
    ] = False,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Let --plot draw the pair matrix in place of intervals.")
    ] = False,
    cluster: options.Cluster = None,
    workers: options.Workers = None,
    resume: options.Resume = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Which systems differ: ranking with intervals and groups, and every pair with its difference and adjusted p.

    Example: cranfield compare scores.csv -m AP --plot intervals.svg
    """
    from cranfield.methods.comparison.audits import audit as run_audit
    from cranfield.methods.comparison.comparison import RESAMPLES
    from cranfield.methods.comparison.comparison import compare as run_comparison
    from cranfield.rendering import comparison_document
    from cranfield.scores.selection import named_measures

    if plot is not None:
        drawing.check_plot(plot)
    if unpaired and test is not None:
        raise typer.BadParameter("--unpaired is one-way Tukey; it does not go with --test")
    margins = equivalence is not None or non_inferiority is not None
    if audit and (plot is not None or unpaired or test is not None or margins):
        raise typer.BadParameter(
            "--audit runs every test; leave out --test, --unpaired, --equivalence, --non-inferiority and --plot"
        )
    if matrix and plot is None:
        raise typer.BadParameter("--matrix changes what --plot draws; name the file with --plot")
    inputs = {
        **options.sources(scores, columns),
        "measures": measure,
        "test": "unpaired" if unpaired else test,
        "correct": correct,
        "alpha": alpha,
        "baseline": baseline,
        "equivalence": equivalence,
        "non_inferiority": non_inferiority,
        "resamples": resamples,
        "missing": missing,
    }
    tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
    wanted = named_measures(tables)
    warnings = [
        problem for table in {id(table): table for table, _ in wanted.values()}.values() for problem in table.warnings
    ]
    if audit:
        with options.progress_bar("testing") as step:
            audits = {
                label: run_audit(
                    table,
                    measure=name,
                    correct=correct or "holm",
                    alpha=alpha,
                    baseline=baseline or (),
                    resamples=resamples or RESAMPLES,
                    seed=seed,
                    progress=step,
                )
                for label, (table, name) in wanted.items()
            }
        options.output(comparison_document.audit_document(audits, inputs, warnings), face)
        return
    if plot is not None and len(wanted) > 1:
        raise typer.BadParameter("--plot draws one measure of one table; choose it with -m")
    with (
        options.machines("compare", cluster=cluster, workers=workers, resume=resume),
        options.progress_bar("resampling") as step,
    ):
        results = [
            run_comparison(
                table,
                measure=name,
                test="unpaired" if unpaired else test,
                correct=correct,
                alpha=alpha,
                baseline=baseline or (),
                equivalence=equivalence,
                non_inferiority=non_inferiority,
                resamples=resamples,
                seed=seed,
                label=label,
                progress=step,
            )
            for label, (table, name) in wanted.items()
        ]
    document = comparison_document.compare_document(results, inputs, warnings, most_pairs=None if all_pairs else 66)
    if plot is not None:
        drawing.draw_comparison(document, plot, matrix=matrix)
    options.output(document.showing("pairs") if all_pairs and face is options.Face.CSV else document, face)
