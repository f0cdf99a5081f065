"""Threads: BLAS works on one while the engine computes, and on the user's number again afterwards.

The matrices of a suggestion are small: more threads make it slower, on a busy machine many times slower, and
each number of threads rounds differently.

OpenBLAS has one number of threads for the whole process, other libraries one for each thread that calls
them. So each computation sets the number of its own thread, and where there is but one number for all, the
first to begin takes it down and the last to end gives it back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from threadpoolctl import LibController, OpenBLASController, ThreadpoolController

_lock = threading.Lock()
_found: dict[object, list[int]] = {}  # for each computation under way, the numbers of threads it found
_users: list[int] = []  # those that the first of them found


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS work on one thread meanwhile; also a decorator, `@one_thread()`."""
    computation = object()
    try:
        _begin(computation)
        yield
    finally:
        try:
            _end(computation)
        finally:
            _end(computation)  # nothing is done twice, but Ctrl-C may have cut the first short


def _begin(computation: object) -> None:
    global _users
    with _lock:
        found = [library.num_threads for library in _libraries()]
        if not _found:
            _users = found
        _found[computation] = found
        _set([1] * len(found))


def _end(computation: object) -> None:
    with _lock:
        if computation not in _found:
            return
        own = _found[computation]
        shared = _users if len(_found) == 1 else [1] * len(own)
        both = zip(_libraries(), shared, own, strict=True)
        _set([all_threads if _is_shared(library) else this for library, all_threads, this in both])
        del _found[computation]


def _forked() -> None:
    """In the child of a fork, the computations of other threads are no more, and their lock may be held."""
    global _lock
    _lock = threading.Lock()
    if _found:
        _found.clear()
        _set(_users)


def _set(numbers: Sequence[int]) -> None:
    OpenBLASController.clear_controlling_thread(force=True)  # threadpoolctl heeds one: that with the lock
    for library, number in zip(_libraries(), numbers, strict=True):
        if library.num_threads != number:  # to set it makes OpenBLAS start its threads again after a fork
            library.set_num_threads(number)
    OpenBLASController.clear_controlling_thread(force=True)


def _is_shared(library: LibController) -> bool:
    return isinstance(library, OpenBLASController) and library.threading_layer != "openmp"


@cache
def _libraries() -> list[LibController]:
    """The BLAS libraries of NumPy and SciPy, looked for once: it takes as long as a hundred settings."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
