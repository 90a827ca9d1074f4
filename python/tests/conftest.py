"""Lists skipped long tests at the end of a test run."""

import os

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """If `ANABRANCH_LONG` is set, prints the tests on Ray and Slurm that were skipped, each with the reason."""
    if not os.environ.get("ANABRANCH_LONG"):
        return
    for report in terminalreporter.stats.get("skipped", []):
        if "test_clusters" in report.nodeid:
            name = report.nodeid.rpartition("::")[2]
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.write_line(f"NOT TESTED: {name}: {why}", yellow=True, bold=True)
