"""The command: its commands are made from questions; what belongs to a terminal is here."""
