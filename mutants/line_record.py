"""A pytest plugin that records which test runs which line, and how long each test takes.

Lines that a shared fixture runs belong to all tests that use the fixture, not only to the first one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

DATA = Path(os.environ["MUTANTS_DATA"])
_measured = coverage.Coverage(str(DATA / "lines"), source=["src/geodual"], config_file=False)
_tests: dict[str, dict[str, object]] = {}


def _fixture_name(fixture: pytest.FixtureDef) -> str:
    return f"fixture {fixture.baseid}:{fixture.argname}"


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Measure from the start, so that lines that run on import count as run."""
    _measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count the lines for this test."""
    _measured.switch_context(item.nodeid)
    info = getattr(item, "_fixtureinfo", None)
    fixtures = [found[-1] for found in info.name2fixturedefs.values()] if info else []
    shared = [_fixture_name(fixture) for fixture in fixtures if fixture.scope != "function"]
    _tests[item.nodeid] = {"seconds": 0.0, "fixtures": shared, "passed": True}
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
    """Count the lines for a fixture that several tests share."""
    if fixturedef.scope == "function":
        return (yield)
    _measured.switch_context(_fixture_name(fixturedef))
    try:
        return (yield)
    finally:
        _measured.switch_context(request._pyfuncitem.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the time, and whether the test passed."""
    test = _tests[report.nodeid]
    test["seconds"] += report.duration
    test["passed"] &= not report.failed and not report.skipped


def pytest_sessionfinish() -> None:
    """Write the record."""
    _measured.stop()
    _measured.save()
    (DATA / "tests.json").write_text(json.dumps(_tests), "utf-8")
