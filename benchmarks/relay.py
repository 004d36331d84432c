"""Starts one command, waits for it, and writes what it took to a file: ``python relay.py REPORT COMMAND…``.

A process counts the memory of the one it was forked from as its own peak, so what is measured is started from here: a
Python with next to nothing loaded.
"""

import os
import sys
import time


def main() -> None:
    report, *command = sys.argv[1:]
    os.environ["BENCHMARK_STARTED"] = repr(time.time())
    before = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - before
    with open(report, "w") as stream:
        stream.write(f"{seconds!r} {usage.ru_utime + usage.ru_stime!r} {usage.ru_maxrss}")
    sys.exit(min(abs(os.waitstatus_to_exitcode(status)), 125))


main()
