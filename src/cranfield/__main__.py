"""The command, as ``cranfield`` and as ``python -m cranfield``."""

import gc


def main() -> None:
    """Run the command."""
    # A command ends soon and leaves little garbage; looking for it after every 700 objects is a tenth of its time.
    gc.set_threshold(100_000, 20, 100)
    from cranfield.cli import app

    app.main()


if __name__ == "__main__":
    main()
