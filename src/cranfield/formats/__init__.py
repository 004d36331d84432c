"""Files: runs, judgments, team lists and score tables: read, write, check."""
