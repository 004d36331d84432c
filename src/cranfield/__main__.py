"""The command, as ``cranfield`` and as ``python -m cranfield``: what a process that is the command's alone may do."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

TYPE_CHECKING = False  # what typing has costs more than the rest of this file
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = 130  # exit code
COPIES = "scipy._lib.array_api_compat.numpy"  # looks at every name of NumPy, and so imports what is loaded lazily
LARGEST_KEPT = (32 << 20) - (8 << 10)  # bytes; glibc adapts to no larger piece
UNUSED = ("ctypeslib", "f2py", "ma", "matlib", "polynomial", "testing")  # half of the time of importing scipy.special


class _WithoutUnused:
    """Hides what is unused in NumPy while SciPy copies its names."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != COPIES:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _hiding(spec.loader.exec_module)  # type: ignore[method-assign]
        return spec


def _hiding(load: Any) -> Any:
    def loaded(module: ModuleType) -> None:
        import numpy

        hidden = [name for name in UNUSED if name not in vars(numpy)]
        for name in hidden:
            setattr(numpy, name, None)
        try:
            load(module)
        finally:
            for name in hidden:
                if vars(numpy).get(name) is None:
                    delattr(numpy, name)

    return loaded


def skip_unused_numpy() -> None:
    """Import scipy.special in half the time, whenever it is imported; afterwards NumPy is whole again."""
    if COPIES not in sys.modules:
        sys.meta_path.insert(0, _WithoutUnused())


def main() -> None:
    """Run the command."""
    can_be_interrupted = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if can_be_interrupted:  # there is nothing to tidy up while modules are loaded
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    # Matrices are multiplied on one thread: BLAS's own get in the way of ours (on busy cores a product of 6 ms takes
    # 600), starting them takes 40 ms, and the last digits depend on how many there are. NumPy is not loaded yet.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A command ends soon and leaves little garbage; looking for it after every 700 objects is a tenth of its time.
    gc.set_threshold(100_000, 20, 100)
    # What the C library frees it gives back, and asks for anew, page by page: a third of the time of reading a large
    # table. Once a large piece has been freed it keeps pieces up to that size; this one is never written to.
    bytes(LARGEST_KEPT)
    skip_unused_numpy()
    from cranfield.cli import app

    app.main(interruptible=can_be_interrupted)


if __name__ == "__main__":
    main()
