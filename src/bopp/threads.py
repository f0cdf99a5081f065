"""Threads: BLAS uses one while the engine computes, and the user's number again afterwards.

The matrices of a suggestion are small: more threads make it slower, many times slower on a busy machine, and
results are rounded differently with each number of threads.

OpenBLAS, unless built on OpenMP, has one number of threads for the whole process; other libraries have one
for each thread that calls them. So each computation sets the number for its own thread, and where all share
one number, the first computation to begin sets it to 1 and the last to end restores it.
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
_users: list[int] = []  # what the first of them found: the user's numbers


@contextmanager
def one_thread() -> Iterator[None]:
    """Have BLAS use one thread inside the block; also a decorator, `@one_thread()`."""
    computation = object()
    try:
        _begin(computation)
        yield
    finally:
        try:
            _end(computation)
        finally:
            _end(computation)  # does nothing unless Ctrl-C cut the first call short


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
    """In the child of a fork, other threads and their computations are gone, but may have held the lock."""
    global _lock
    _lock = threading.Lock()
    if _found:
        _found.clear()
        _set(_users)


def _set(numbers: Sequence[int]) -> None:
    OpenBLASController.clear_controlling_thread(force=True)  # threadpoolctl obeys one thread: now this one
    for library, number in zip(_libraries(), numbers, strict=True):
        if library.num_threads != number:  # setting it would restart OpenBLAS's threads after a fork
            library.set_num_threads(number)
    OpenBLASController.clear_controlling_thread(force=True)


def _is_shared(library: LibController) -> bool:
    return isinstance(library, OpenBLASController) and library.threading_layer != "openmp"


@cache
def _libraries() -> list[LibController]:
    """The BLAS libraries of NumPy and SciPy, looked up once: that takes as long as setting them 100 times."""
    import scipy.linalg  # noqa: F401 -- SciPy loads its library no sooner

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
