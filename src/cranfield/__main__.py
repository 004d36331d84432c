"""``python -m cranfield`` is the command."""

from cranfield.cli.app import main

if __name__ == "__main__":
    main()
