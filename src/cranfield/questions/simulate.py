"""New topics for the same systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Param, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.simulation import Simulation
    from cranfield.scores import ScoreTable


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SimulationResult(Result):
    """New topics, and how well they resemble those they were fitted to.

    Attributes
    ----------
    simulation
        The simulator, the drawn scores, and the goodness of fit.
    """

    simulation: Simulation

    @property
    def table(self) -> ScoreTable:
        """The scores of the new topics."""
        return self.simulation.table


@question(
    "New topics",
    examples=("cranfield simulate scores.csv --topics 200 -o new.csv --plot fit.svg",),
    charts=("fit", "spread", "differences", "distributions"),
    working="drawing topics",
    is_parallel=True,
)
def simulate(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    topics: Annotated[
        int | None, Param("Number of new topics to draw.", default="as many as in the data", ge=1, le=10_000_000)
    ] = None,
    equal: Annotated[bool, Param("Make the true means of all systems equal.", label="equally good systems")] = False,
    gap: Annotated[
        float | None, Param("True mean of the best system minus that of all others.", gt=0, le=1e3, metavar="D")
    ] = None,
    means: Annotated[
        str | Sequence[float] | Mapping[str, float] | None,
        Param("True means: 0.3,0.25,… for all, or system=0.3,… for some.", label="True means", metavar="LIST"),
    ] = None,
    population: Annotated[
        groups.PopulationLike,
        groups.Fields(
            groups.Population,
            "margins",
            "dependence",
            "trees",
            "truncate",
            usual={"margins": "auto", "dependence": "rows"},
        ),
    ] = None,
    source: groups.TableSource = None,
    resampling: groups.Seeded = None,
) -> SimulationResult:
    """Simulate the scores of the same systems on new topics, with true means that are fitted to the data or given.

    Returns
    -------
    SimulationResult
        The new scores (`table`), the simulator and the goodness of fit.

    References
    ----------
    .. [1] J. Urbano and T. Nagler, "Stochastic simulation of test collections: evaluation scores", SIGIR, 2018.
    .. [2] B. W. Silverman and G. A. Young, "The bootstrap: to smooth or not to smooth?", Biometrika, 1987.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.5, 0.7, 0.6, 0.4, 0.3], "b": [0.4, 0.6, 0.5, 0.3, 0.5]}
    >>> pilot = {system: dict(zip("12345", values)) for system, values in scores.items()}
    >>> drawn = cf.simulate(pilot, topics=20_000, means={"a": 0.6, "b": 0.5}).table
    >>> {system: round(mean, 2) for system, mean in drawn.mean().items()}
    {'a': 0.6, 'b': 0.5}
    """
    from cranfield.methods.simulation import parse_means
    from cranfield.methods.simulation import simulate as draw

    like, seed = groups.Population.of(population), groups.Resampling.of(resampling).seed
    tables = sources.load_tables(scores, qrels=qrels, measure=measure, **groups.Source.of(source).of_tables)
    found = draw(
        tables.only,
        topics=topics,
        margins=like.margins or "auto",
        dependence=like.dependence or "rows",
        trees=like.trees,
        truncate=like.truncate,
        equal=equal,
        gap=gap,
        means=parse_means(means) if isinstance(means, str) else means,
        seed=seed,
        progress=listener(),
    )
    return SimulationResult(simulation=found, warnings=tables.warnings, seed=seed)
