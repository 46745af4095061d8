"""In CI nothing may be skipped: everything that a test needs is there, so a skip is a missing install step."""

from __future__ import annotations

import os

import pytest


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run that passed but skipped something, where CI=true."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    if os.environ.get("CI") == "true" and skipped and exitstatus == pytest.ExitCode.OK:
        reporter.write_line("\nCI=true: a skipped test is a failed one.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
