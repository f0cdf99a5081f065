"""Soaked: the objective of the studies of soak.py, which also keeps the records of their workers.

Imported by a worker, it writes down what was evaluated and what was told, and shifts its clock.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import random
import secrets
import signal
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from bopp import Trial
from bopp.study.store import Moment, Store

BESIDE = "BOPP_SOAK"  # the folder of the records, in the environment of every process of a round


def objective(params: dict[str, float]) -> float:
    """Takes a while, and never gives one value twice: so it is known which evaluation a value is from."""
    time.sleep(min(random.SystemRandom().expovariate(8.0), 2.0))
    value = (params["x"] - 0.3) ** 2 + params["y"] ** 2 / 10 + secrets.randbelow(10**9) * 1e-12
    record("evaluated", params, value)
    return value


def record(kind: str, *facts: Any) -> None:
    """Write a line of this process; it is on the disk when this returns."""
    file = os.open(f"{os.environ[BESIDE]}/{os.getpid()}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, (json.dumps(facts) + "\n").encode())
        os.fsync(file)
    finally:
        os.close(file)


class Told(logging.Handler):
    """Records the trials that were told here; it hears of them when the tell has returned."""

    def emit(self, line: logging.LogRecord) -> None:
        trial: Trial = vars(line)["trial"]
        if trial.state in ("done", "failed"):
            record("told", trial.number, trial.params, trial.values.get("value"))


def shift_clocks() -> None:
    """Let the clock, that of the server if there is one, go by as much as is written in the folder."""
    real_now, real_time = Store.now, time.time

    def shifted() -> float:
        with suppress(OSError, ValueError):
            return float(Path(os.environ[BESIDE], "clock").read_text())
        return 0.0

    def now(self: Store, connection: Any) -> Moment:
        moment, by = real_now(self, connection), shifted()
        seconds = moment.seconds + (by if self.path is None else 0.0)  # those of a machine are monotonic
        return Moment(moment.utc + timedelta(seconds=by), seconds)

    Store.now = now  # type: ignore[method-assign]
    time.time = lambda: real_time() + shifted()


if BESIDE in os.environ:
    faulthandler.register(signal.SIGUSR1)  # says where every thread is, should the process hang
    logging.getLogger("bopp").setLevel(logging.INFO)
    logging.getLogger("bopp").addHandler(Told())
    shift_clocks()
