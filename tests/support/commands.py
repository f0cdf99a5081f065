"""Commands: the command line as tests call it."""

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    """How a command ended."""

    code: object
    out: str
    err: str


Bopp = Callable[..., Ended]
