"""The command: one file for each, none with any logic."""
