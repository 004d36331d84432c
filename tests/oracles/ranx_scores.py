"""What ranx says of a run, asked in a process of its own, so that its compiler can be left out.

It compiles for a minute before it gives its first number; with ``NUMBA_DISABLE_JIT=1`` Python runs the same lines.
``make proof`` leaves the compiler in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

RECALL_LEVEL = "iprec@"
"""Before a level of recall: interpolated precision has no name in ranx, only a function for all eleven levels."""


def of_ranx(measures: list[str], qrels: Any, run: Any, compiled: bool) -> dict[str, list[float]]:
    """The scores of the topics, in the order of their names, by each measure."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        input=json.dumps([measures, qrels, run]),
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": str(int(not compiled))},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    import ranx

    measures, qrels, run = json.load(sys.stdin)
    judged, lists = ranx.Qrels(qrels), ranx.Run(run)
    lists.sort()
    levels = ranx.metrics.interpolated_precision_at_recall(judged.to_typed_list(), lists.to_typed_list())
    found = {f"{RECALL_LEVEL}{level / 10:g}": levels[:, level] for level in range(11)}
    for name in set(measures) - set(found):
        found[name] = ranx.evaluate(judged, lists, name, return_mean=False)
    json.dump({name: found[name].tolist() for name in measures}, sys.stdout)


if __name__ == "__main__":
    main()
