"""Memory: what was computed before for the same arguments, so that it need not be computed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Memory(Generic[T]):
    """Keeps the latest few results. What it keeps is never changed in place: safe for threads and forks."""

    def __init__(self, size: int):
        self.size = size
        self._kept: tuple[tuple[object, object, T], ...] = ()

    def __len__(self) -> int:
        return len(self._kept)

    def forget(self) -> None:
        self._kept = ()

    def __call__(
        self, parts: object, content: object, compute: Callable[[], T], alone: bool = False, turns: int = 1
    ) -> T:
        """What `compute` returned for these parts, compared as values, and this content, which is hashable.

        A result that takes much memory is kept `alone`, without the earlier ones. Where several take `turns`,
        as the values of a trial do, there is room for that many times as many.
        """
        for known_parts, known_content, result in self._kept:
            if known_content == content and _same(known_parts, parts):
                return result
        result = compute()
        others = self._kept[: (1 if alone else self.size) * turns - 1]
        self._kept = ((parts, content, result), *others)
        return result


def _same(one: object, other: object) -> bool:
    """Whether parts are equal; parts that cannot be compared, such as those that hold arrays, are not."""
    try:
        return bool(one == other)
    except Exception:
        return False
