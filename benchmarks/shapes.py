"""The collections that are generated: how many runs, topics and documents, and how runs resemble each other."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.sizes import FULL, QUICK, SMALLEST, size


@dataclass(frozen=True)
class Shape:
    """One collection to generate.

    A topic has ``candidates`` documents that a run could return; every run orders them in its own noisy way and
    returns the first ``depth``. ``judged`` and ``relevant`` are documents a topic, on average.
    """

    name: str
    title: str
    runs: int
    topics: int
    depth: int
    documents: int
    candidates: int
    judged: float
    relevant: float
    promised: bool = True  # whether goals are held against it

    @property
    def large(self) -> bool:
        """Whether it has the many runs of deep lists that the goals on whole evaluations and on shards speak of."""
        return self.promised and self.runs > 100

    @property
    def lines(self) -> int:
        return self.runs * self.topics * self.depth


# 1,737 judgments a topic, 95 of them relevant, are TREC-8's own figures; so is how far its runs overlap: of the
# candidates generated here some 15,000 a topic are returned by a run, about half of them by a single one.
TREC8 = Shape("trec8", "TREC-8-sized", 129, 50, 1000, 528_155, 40_000, 1737, 95)
MARCO = Shape("marco", "MS MARCO-sized", 20, 6980, 100, 8_841_823, 500, 1.07, 1.07)

# NTCIR-12's short text conversation: 261 judgments a topic, 53 of them above 0.
SS16 = Shape("ss16", "SS16-sized", 44, 100, 10, 528_155, 2_000, 261, 53)

QUICK_TREC8 = Shape("trec8-quick", "TREC-8-like, quick", 26, 50, 1000, 528_155, 20_000, 700, 95, promised=False)
QUICK_MARCO = Shape("marco-quick", "MS MARCO-like, quick", 10, 1000, 100, 8_841_823, 500, 1.07, 1.07, promised=False)


SMALLEST_TREC8 = Shape("trec8-smallest", "TREC-8-like, smallest", 4, 5, 20, 2_000, 60, 30, 6, promised=False)
SMALLEST_SS16 = Shape("ss16-smallest", "SS16-like, smallest", 4, 5, 10, 2_000, 60, 30, 6, promised=False)


def shapes() -> list[Shape]:
    """The collections of a run."""
    return {FULL: [TREC8, MARCO], QUICK: [QUICK_TREC8, QUICK_MARCO], SMALLEST: [SMALLEST_TREC8]}[size()]
