"""cranfield simulate"""

from __future__ import annotations

from dataclasses import replace

from cranfield.methods.names import DependenceName, MarginsName
from cranfield.methods.simulation import parse_means
from cranfield.methods.simulation import simulate as run_simulation
from cranfield.rendering.output_formats import scores_csv
from cranfield.rendering.report_model import Picture
from cranfield.rendering.simulation_charts import fit_chart
from cranfield.rendering.simulation_document import simulation_document
from cranfield.scores.selection import only_table
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import Count, Flag, Name, Number, ScoresQuery, amount, field


class SimulateQuery(ScoresQuery):
    """What ``cranfield simulate`` takes."""

    front = ("measure", "topics", "margins", "dependence", "gap", "equal")
    topics: Count = field("Topics", "New topics to draw; as many as there are unless given.", ge=2, le=100_000)
    equal: Flag = field("equally good systems", "Make all systems equally good.", False)
    gap: Number = amount("Gap", "Put the best system so far above all others.", 1e3)
    means: Name = field("True means", "0.3,0.25,… for all, or system=0.3,… for some.", max_length=5000)
    margins: MarginsName = field("Margins", "How a system's scores are spread.", "auto")
    dependence: DependenceName = field("Dependence", "How systems go together.", "rows")
    trees: Count = field("Trees", "Trees of a vine that choose their copulas; 2 unless given.", ge=1, le=20)
    truncate: Flag = field("independent after them", "Let the vine's other trees be independent.", False)


def answer(asked: Asked) -> Answer:
    query = asked.query
    found = run_simulation(
        only_table(asked.tables(query.missing)),
        means=None if query.means is None else parse_means(query.means),
        progress=asked.progress,
        **asked.chosen("topics", "margins", "dependence", "trees", "truncate", "equal", "gap", "seed"),
    )
    inputs = asked.inputs(
        measures=query.measure,
        **asked.chosen("topics", "equal", "gap", "means", "margins", "dependence", "trees", "truncate"),
    )
    picture = Picture("What was seen against what was drawn", fit_chart(found))
    document = replace(
        simulation_document(found, inputs, out=None),
        sentence=f"{found.summary()} The new topics are among the downloads.",
    )
    return Answer(document, asked.command(), pictures=(picture,), more={"scores": scores_csv(found.table)})


QUESTION = Question(
    "simulate",
    "New topics",
    "New topics for the same systems, like those seen",
    SimulateQuery,
    answer,
    alone=True,
    of=("collection", "scores", "shards"),
)
