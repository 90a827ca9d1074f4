"""The snippets in `docs/python.md` run without errors."""

from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = [block.split("```")[0] for block in PAGE.read_text().split("```py\n")[1:]]
    assert len(snippets) == 3
    names: dict[str, Any] = {}
    exec(snippets[0], names)
    assert names["flows"].height == 288 and (tmp_path / "results" / "first" / "report.html").exists()
    # The second snippet is a class whose methods have no bodies. A load balancer must return entropy values.
    snippet = snippets[1].replace("window_bytes): ...", "window_bytes): return 7")
    assert snippet != snippets[1]
    scheme = [{"name": "own", "base": "reps", "set": {"lb": {"kind": "sticky", "patience": 8}}}]
    names["scenario"] = {
        "scheme": scheme,
        "schemes": ["ecmp"],
        "seeds": [1],
        "topology": {"kind": "fat-tree", "hosts": 16, "link": "100Gbps"},
        "workload": {"kind": "permutation", "bytes": "64KB"},
    }
    exec(snippet, names)
    names["scenario"] = {**names["scenario"], "schemes": ["ecmp"], "scheme": []}
    exec(snippets[2], names)
    assert names["dataset"].missing == []
