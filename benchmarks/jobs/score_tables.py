"""Generated score tables in every form: ``python -m benchmarks.jobs.score_tables FORM TOPICS SYSTEMS FILE``."""

from __future__ import annotations

import sys

import numpy as np
import polars


def scores(topics: int, systems: int) -> np.ndarray:
    """Scores from 0 to 1 with four decimals: effects of topics and systems, and a residual."""
    draw = np.random.default_rng(1)
    means = 0.4 + draw.normal(0, 0.05, systems) + draw.normal(0, 0.2, (topics, 1))
    return np.clip(means + draw.normal(0, 0.1, (topics, systems)), 0, 1).round(4)


def frame(topics: int, systems: int, *, wide: bool) -> polars.DataFrame:
    values = scores(topics, systems)
    rows, columns = [f"q{at:07d}" for at in range(topics)], [f"sys{at:04d}" for at in range(systems)]
    if wide:
        return polars.DataFrame({"topic": rows, **{name: values[:, at] for at, name in enumerate(columns)}})
    return polars.DataFrame(
        {"topic": np.repeat(rows, systems), "system": np.tile(columns, topics), "score": values.ravel()}
    )


def write(form: str, topics: int, systems: int, file: str) -> None:
    table = frame(topics, systems, wide=form.startswith("wide"))
    if file.endswith(".parquet"):
        table.write_parquet(file)
    elif file.endswith(".jsonl"):
        table.write_ndjson(file)
    else:
        table.write_csv(file)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
