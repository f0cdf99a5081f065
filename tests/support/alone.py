"""A pytest plugin that runs each test alone, in a forked child: `pytest -p support.alone`.

The tests are collected once. Fixtures of every scope are set up and torn down in the child, so a test that
needs what another one left behind fails. Without `os.fork`, tests run as usual.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import warnings
from typing import Any

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give all children one temporary folder, which each of them empties."""
    if config.option.basetemp is None:
        config.option.basetemp = tempfile.mkdtemp(
            prefix="pytest-alone-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")
        )
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Run a test in a child and report here how it ended."""
    if not hasattr(os, "fork"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _run_in_child(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run_in_child(item: pytest.Item) -> list[Any]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns if there are threads, as with xdist
        child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            _run(item, writing)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        sent = pipe.read()
    _, status = os.waitpid(child, 0)
    if not sent:
        text = f"the process of this test died: {os.waitstatus_to_exitcode(status)}"
        return [pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")]
    hook, config = item.config.hook, item.config
    return [hook.pytest_report_from_serializable(config=config, data=data) for data in pickle.loads(sent)]


def _run(item: pytest.Item, writing: int) -> None:
    hook, config = item.config.hook, item.config
    reports = runtestprotocol(item, log=False, nextitem=None)
    sent = [hook.pytest_report_to_serializable(config=config, report=report) for report in reports]
    with os.fdopen(writing, "wb") as pipe:
        pickle.dump(sent, pipe)
