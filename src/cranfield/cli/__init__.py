"""The command: one file for each, none with any logic."""

import gc

# A command lives for a moment and leaves little garbage; looking for it after every 700 objects is a tenth of its time.
gc.set_threshold(100_000, 20, 100)
