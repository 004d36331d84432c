"""The command, as ``cranfield`` and as ``python -m cranfield``."""

import gc
import os


def main() -> None:
    """Run the command."""
    # Matrices are multiplied on one thread: BLAS's own get in the way of ours (on busy cores a product of 6 ms takes
    # 600), and its last digits depend on how many there are. NumPy is not loaded yet.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A command ends soon and leaves little garbage; looking for it after every 700 objects is a tenth of its time.
    gc.set_threshold(100_000, 20, 100)
    from cranfield.cli import app
    from cranfield.runtime.quick_imports import skip_unused_numpy

    skip_unused_numpy()
    app.main()


if __name__ == "__main__":
    main()
