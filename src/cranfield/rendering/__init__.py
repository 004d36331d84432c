"""Output of results in every format; the only place where numbers are rounded."""
