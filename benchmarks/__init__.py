"""Benchmarks: cranfield and its peers on the same generated collections, side by side in one run."""
