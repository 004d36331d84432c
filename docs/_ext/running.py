"""Under every block of a page: what it prints and draws, made by running it when the page is built.

Pages are run side by side, each in a folder of its own, from top to bottom; a block that fails is a warning, and
warnings end ``make docs``. Nothing of this is kept in the repository, so it cannot be out of date.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

from blocks import Outcome, run_blocks
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import cranfield

log = logging.getLogger(__name__)
WHOLE = 30  # lines that are shown as they are; of more, the first and the last, and the others when asked for
FIRST, LAST = 16, 1
LONGEST = 400  # lines that are shown at all
PROSE = 110  # characters from which a line that is no row of a table is folded


def run_pages(app: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    """Run every page that is about to be read."""
    if not app.config.run_blocks:
        return
    outcomes = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, made in zip(names, pool.map(lambda name: _run_page(app, name), names), strict=True):
            outcomes[name] = made
            if made:
                log.info("ran %d blocks of %s", len(made), name)
    env.block_outcomes = outcomes  # type: ignore[attr-defined]


def note_code(app: Sphinx, config: Config) -> None:
    """Pages were run by the code of now; with other code all of them are run again."""
    sources = sorted(Path(cranfield.__file__).parent.rglob("*.py"))
    config.run_by = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _run_page(app: Sphinx, name: str) -> list[Outcome]:
    source = Path(app.env.doc2path(name))
    if source.suffix != ".md":
        return []
    with tempfile.TemporaryDirectory(prefix="cranfield-docs-") as folder:
        outcomes = list(run_blocks(source.read_text(encoding="utf-8"), Path(folder), echo=True))
        return [_keep(app, name, outcome, Path(folder)) for outcome in outcomes]


def _keep(app: Sphinx, name: str, outcome: Outcome, folder: Path) -> Outcome:
    """Put the pictures where the site is built, and say so when the block failed."""
    printed = outcome.printed.replace(str(folder), ".")
    if outcome.code:
        log.warning("a block of the page fails:\n%s\n%s", outcome.block.text, printed, location=name)
    kept = []
    for picture in outcome.pictures:
        target = Path(app.outdir) / "_made" / f"{name.replace('/', '-')}-{picture.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, target)
        kept.append(target)
    return Outcome(outcome.block, outcome.code, printed, tuple(kept))


def show_outcomes(app: Sphinx, doctree: nodes.document) -> None:
    """Put under each block what came of it."""
    name = app.env.docname
    outcomes: list[Outcome] = getattr(app.env, "block_outcomes", {}).get(name, [])
    shown = [node for node in doctree.findall(nodes.literal_block) if node.get("language") in ("sh", "python")]
    for outcome in outcomes:
        node = next((node for node in shown if node.astext().strip() == outcome.block.text.strip()), None)
        if node is None:
            log.warning("what a block prints has no place on the page:\n%s", outcome.block.text, location=name)
            continue
        shown.remove(node)
        html = _printed(outcome) + "".join(_picture(picture, outcome, name) for picture in outcome.pictures)
        if html:
            node.parent.insert(node.parent.index(node) + 1, nodes.raw("", html, format="html"))


def _printed(outcome: Outcome) -> str:
    lines = outcome.printed.rstrip().splitlines()
    if len(lines) <= WHOLE:
        return _pre(lines)
    commands = outcome.block.commands()
    if len(commands) < 2:
        return _shortened(lines)
    # What the last command prints is what the block is for; those before it prepare.
    last = len(lines) - 1 - lines[::-1].index(f"$ {commands[-1]}")
    before = f"what the {len(commands) - 1} commands before print" if len(commands) > 2 else "what the first one prints"
    return _folded(before, lines[:last]) + _shortened(lines[last:])


def _shortened(lines: list[str]) -> str:
    """The first lines and the last, and between them the others, folded."""
    if len(lines) <= WHOLE:
        return _pre(lines)
    middle = lines[FIRST:-LAST]
    return _pre(lines[:FIRST]) + _folded(f"{len(middle):,} lines more", middle) + _pre(lines[-LAST:])


def _folded(title: str, lines: list[str]) -> str:
    left = len(lines) - LONGEST
    shown = lines[:LONGEST] + ([f"… and {left:,} lines more"] if left > 0 else [])
    return f'<details class="printed"><summary>{title}</summary>{_pre(shown)}</details>'


def _pre(lines: list[str]) -> str:
    return f'<pre class="printed" tabindex="0">{"".join(map(_line, lines))}</pre>' if lines else ""


def _line(line: str) -> str:
    text = escape(line.rstrip())
    if line.startswith("$ "):
        return f"<b>{text}</b>\n"
    # A sentence may be as long as it likes; a row of a table has two blanks somewhere, and must stay a row.
    prose = len(line) > PROSE and line.count(" ") > 10 and "  " not in line.strip()
    return f'<span class="said">{text}</span>\n' if prose else f"{text}\n"


def _picture(picture: Path, outcome: Outcome, name: str) -> str:
    up = "../" * name.count("/")
    file = picture.name.removeprefix(name.replace("/", "-") + "-")
    said = next((line for line in outcome.block.text.splitlines() if file in line), file)
    return (
        f'<figure class="made"><img src="{up}_made/{escape(picture.name)}" alt="The chart that «{escape(said)}» draws"'
        f' loading="lazy"><figcaption>{escape(file)}, drawn by the command above</figcaption></figure>'
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """``run_blocks`` is whether to run anything; ``run_by`` is the code that does."""
    app.add_config_value("run_blocks", True, "env", bool)
    app.add_config_value("run_by", "", "env", str)
    app.connect("config-inited", note_code)
    app.connect("env-before-read-docs", run_pages)
    app.connect("doctree-read", show_outcomes)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
