"""The first notebook runs from top to bottom, and its results show themselves."""

from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[2] / "docs" / "first-steps.ipynb"


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the packages that run notebooks
def test_the_first_notebook_runs_and_shows_tables_and_a_chart(tmp_path: Path) -> None:
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)  # what is committed has no outputs to drift
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.data for output in outputs if output.output_type == "execute_result"]
    assert sum("<table>" in str(data.get("text/html", "")) for data in shown) >= 3  # of results; frames have their own
    assert any("image/svg+xml" in data for data in shown)
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert "Did you mean tukey?" in printed
    assert any("145" in str(data.get("text/plain", "")) for data in shown)  # ten systems, all pairs
