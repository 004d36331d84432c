"""Simulation: so far, whole example collections."""

from cranfield.simulate.example import Example, write_example

__all__ = ["Example", "write_example"]
