"""The notebook of the documentation runs without errors."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def test_the_notebook_runs_and_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=120).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert "is fastest" in shown[0]["data"]["text/plain"] or "tie" in shown[0]["data"]["text/plain"]
    assert "<iframe" in shown[1]["data"]["text/html"]
    assert "in-turn" in shown[-1]["text"]
