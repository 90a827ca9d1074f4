"""What a long run of the tests left out is said at its end."""

import os

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """With `ANABRANCH_LONG` set, names the tests on Ray and Slurm that did not run, with why."""
    if not os.environ.get("ANABRANCH_LONG"):
        return
    for report in terminalreporter.stats.get("skipped", []):
        if "test_clusters" in report.nodeid:
            name = report.nodeid.rpartition("::")[2]
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.write_line(f"NOT TESTED: {name}: {why}", yellow=True, bold=True)
