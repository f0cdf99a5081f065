"""Interrupts: Ctrl-C and requests to terminate are never lost, and cut nothing short that must not be.

Python raises KeyboardInterrupt wherever it happens to be. Inside a hook of `os.fork`, a finalizer or a
callback from C, it prints the exception and drops it, and the program goes on. So what must not be cut short
puts off interrupts by a handler that does not raise, and a run remembers that it was interrupted and looks
now and then.

Only the main thread handles signals. Elsewhere these blocks do nothing, and nothing can be lost.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import parent_process
from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

Act = Callable[[], object]
"""Does what the usual handler does about a signal."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and requests to terminate until the block ends; a second one acts at once."""
    put_off: list[Act] = []
    ended = False

    def handle(act: Act) -> None:
        if ended or put_off:
            put_off.clear()
            act()
        else:
            put_off.append(act)

    try:
        with _handled(handle):
            try:
                yield
            finally:
                ended = True
    finally:
        if put_off:
            put_off.pop()()


@contextmanager
def heeded() -> Iterator[Callable[[], None]]:
    """Gives a function that raises again what a signal raised in the block before, if that got lost."""
    raised: BaseException | None = None

    def handle(act: Act) -> None:
        nonlocal raised
        try:
            act()
        except BaseException as error:  # KeyboardInterrupt, or what a handler of the user's own raises
            raised = error
            raise

    def check() -> None:
        if raised is not None:
            raise raised.with_traceback(None)

    with _handled(handle):
        try:
            yield check
        except Exception:  # which may stand for the interrupt: some code raises an error of its own instead
            check()
            raise
        check()


def follow_parent(*signals: int) -> None:
    """Leave these signals to the parent process, and end with it, however it ends."""
    for number in signals:
        signal.signal(number, signal.SIG_IGN)

    def end_with_parent() -> None:
        if parent := parent_process():
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


class _Dispatcher:
    """Stands in for a usual handler, and lets the blocks that are under way handle the signal first.

    A handler that is set inside a block, and calls the one before it, gets a stand-in of its own.
    """

    def __init__(self, usual: Callable[[int, FrameType | None], object]):
        self.usual = usual

    def __call__(self, number: int, frame: FrameType | None) -> None:
        act: Act = partial(self.usual, number, frame)
        for handle in _blocks:
            act = partial(handle, act)
        act()


_blocks: list[Callable[[Act], None]] = []  # how the blocks under way handle a signal, the innermost last


@contextmanager
def _handled(handle: Callable[[Act], None]) -> Iterator[None]:
    """Have a function handle signals inside the block, in place of handlers that Python calls."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        _blocks.append(handle)
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and not isinstance(handler, _Dispatcher):
                signal.signal(number, _Dispatcher(handler))
        yield
    finally:
        try:
            _leave(handle)
        finally:
            _leave(handle)  # does nothing unless a signal cut the first call short


def _leave(handle: Callable[[Act], None]) -> None:
    if handle in _blocks:
        _blocks.remove(handle)
    for number in SIGNALS if not _blocks else ():
        handler = signal.getsignal(number)
        if isinstance(handler, _Dispatcher):
            signal.signal(number, handler.usual)
