"""The one part that is compiled: the quick reader of runs. Where there is no compiler, cranfield works without it."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension("cranfield.formats._scan", ["src/cranfield/formats/_scan.c"], optional=True, py_limited_api=True)
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
