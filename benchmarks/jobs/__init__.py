"""What is measured: each job is a process of its own, ``python -m benchmarks.jobs.TOOL JOB ARGUMENTS…``.

The process that measures stays small and imports nothing, so that neither its memory nor its imports are counted.
"""
