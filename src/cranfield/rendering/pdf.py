"""A report as PDF: the page, printed by a browser on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cranfield.errors import RequestError, WriteError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
PLACES = (  # usual places of browsers that are not on the path
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
QUIET = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-pdf-header-footer",
)


def find_browser() -> str:
    """Find a browser, or raise RequestError. ``CRANFIELD_BROWSER`` names another one."""
    wanted = os.environ.get("CRANFIELD_BROWSER")
    for name in [wanted] if wanted else [*BROWSERS, *PLACES]:
        found = shutil.which(name)
        if found is not None:
            return found
    raise RequestError(
        f"there is no browser «{wanted}» to print a PDF with" if wanted else "no browser was found to print a PDF with",
        fix="Install Chromium, Chrome or Edge (CRANFIELD_BROWSER names one elsewhere), or open the HTML report in any "
        "browser and print it.",
    )


def to_pdf(page: str, *, browser: str | None = None, seconds: float = 180) -> bytes:
    """Print the page to PDF. The browser has an empty profile, and the page loads nothing from the network."""
    chosen = browser or find_browser()
    with tempfile.TemporaryDirectory(prefix="cranfield-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        _run(
            [
                chosen,
                *QUIET,
                *_as_root(),
                f"--user-data-dir={folder}/profile",
                f"--print-to-pdf={target}",
                source.as_uri(),
            ],
            seconds,
        )
        data = target.read_bytes() if target.exists() else b""
    if not data.startswith(b"%PDF"):
        raise WriteError("the browser printed nothing", where=chosen, fix="Open the HTML report in it and print it.")
    return data


def _as_root() -> Sequence[str]:
    """Return the options for root, for whom a browser starts only without its sandbox; the page is trusted."""
    return ("--no-sandbox",) if sys.platform != "win32" and os.geteuid() == 0 else ()


def _run(command: Sequence[str], seconds: float) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise WriteError(
            f"the browser did not finish within {seconds:g} s", where=command[0], fix="Print the HTML report by hand."
        ) from None
    except OSError as error:
        raise WriteError(f"the browser does not start: {error.strerror}", where=command[0]) from None
