"""What a page shows under its blocks is what they print and draw; a block that fails fails the build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from blocks import Block, blocks_of, environment, run_blocks

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"
PAGE = """# A page

```sh
printf '<svg xmlns="http://www.w3.org/2000/svg"/>' > drawn.svg
echo "six < seven"
```

```python
print(open("drawn.svg").read()[:4])
```

```text
pip install something
```
"""


def build(folder: Path, page: str) -> tuple[int, str, str]:
    """A site of one page: its exit code, the page, and what was complained about."""
    (folder / "docs").mkdir()
    conf = (
        f"import sys\nsys.path.insert(0, {str(EXTENSIONS)!r})\nextensions = ['myst_parser', 'mathematics', 'running']\n"
    )
    (folder / "docs" / "conf.py").write_text(conf + "html_math_renderer = 'mathml'\n")
    (folder / "docs" / "index.md").write_text(page)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "docs", "site"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    made = folder / "site" / "index.html"
    return done.returncode, made.read_text() if made.exists() else "", done.stderr


def test_output_and_pictures_stand_under_the_block_that_made_them(tmp_path: Path) -> None:
    code, page, complaints = build(tmp_path, PAGE)
    assert code == 0, complaints
    said = page.index('<pre class="printed" tabindex="0">six &lt; seven')
    drawn = page.index('src="_made/index-drawn.svg"')
    assert said < drawn < page.index('<pre class="printed" tabindex="0">&lt;svg')
    assert (tmp_path / "site" / "_made" / "index-drawn.svg").exists()


def test_a_block_that_fails_fails_the_build(tmp_path: Path) -> None:
    code, _, complaints = build(
        tmp_path, PAGE.replace("six < seven", "seven") + "\n```sh\ncranfield size --systems none\n```\n"
    )
    assert code != 0
    assert "a block of the page fails" in complaints
    assert "cranfield size --systems none" in complaints


def test_only_what_can_be_run_is_a_block() -> None:
    assert [block.language for block in blocks_of(PAGE)] == ["sh", "python"]
    assert Block("sh", "make test\n").makes_environments


@pytest.mark.parametrize(("text", "commands"), [("cranfield a \\\n --b\ncranfield c\n", 2), ("x=1\ncranfield a\n", 0)])
def test_commands_are_told_apart_where_a_block_has_nothing_else(text: str, commands: int) -> None:
    assert len(Block("sh", text).commands()) == commands


def test_blocks_share_a_folder_and_each_command_is_echoed(tmp_path: Path) -> None:
    text = "```sh\ncranfield --version\ncranfield demo it's\n```\n".replace("it's", '"it\'s"')
    (outcome,) = run_blocks(text, tmp_path, echo=True)
    assert outcome.code == 0, outcome.printed
    assert outcome.printed.splitlines()[0] == "$ cranfield --version"
    assert '$ cranfield demo "it\'s"' in outcome.printed
    assert (tmp_path / "it's" / "qrels.txt").exists()
