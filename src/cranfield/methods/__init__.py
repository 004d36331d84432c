"""The statistics, one package per family of methods."""
