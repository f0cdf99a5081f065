"""Called: a function as people write it, by keyword or of a dict, plain or async, called with a dict.

How a function is called is decided by its signature, once, before a run; never by trying.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature, iscoroutinefunction, signature
from typing import Any

from bopp.errors import RecipeError
from bopp.space import Params, Space

Function = Callable[..., Any]
Objective = Callable[[Params], Any]
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
MANY = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def called(function: Function, space: Space, what: str = "objective") -> Objective:
    """The function as one of a dict of params.

    It gets the params by keyword if its parameters are those of the space, as in f(rate, layers), and the
    dict otherwise. So f(x) gets the number in a space whose only parameter is x; f(x, /) gets the dict.
    """
    if not callable(function):
        raise RecipeError(f"{what} must be a function of params, got {function!r}")
    by_keyword, awaited = _takes_keywords(function, space, what), _is_async(function)
    return Called(function, by_keyword, awaited) if by_keyword or awaited else function


@dataclass(frozen=True)
class Called:
    """Calls a function with params by keyword if it wants them so, and waits for it if it is async."""

    function: Function
    by_keyword: bool
    awaited: bool

    def __call__(self, params: Params, /) -> Any:
        returned = self.function(**params) if self.by_keyword else self.function(params)
        return _awaited(returned) if self.awaited else returned


def _takes_keywords(function: Function, space: Space, what: str) -> bool:
    """Whether a function gets the params by keyword; an error if it cannot be called at all."""
    taken = _signature(function)
    if taken is None:
        return False
    named = [one for one in taken.parameters.values() if one.kind in NAMED]
    if not _binds(taken, **space.parameters):
        if not _binds(taken, {}):
            raise RecipeError(
                f"{what} takes {taken}, the space has {', '.join(space.parameters)}: "
                "wanted a function of these names, or of one dict"
            )
        return False
    if absent := [one.name for one in named if one.default is one.empty and one.name in space.conditional]:
        raise RecipeError(
            f"{what} takes {taken}, but {', '.join(absent)} does not always apply: "
            f"wanted a default, such as {absent[0]}=None"
        )
    return True


def _binds(taken: Signature, /, *arguments: Any, **by_keyword: Any) -> bool:
    """Whether a call gives a function all it needs and nothing that it does not know."""
    try:
        taken.bind(*arguments, **by_keyword)
    except TypeError:
        return False
    return True


def _signature(function: Function) -> Signature | None:
    """What a function takes, of a decorated one what its wrapper takes; None if Python cannot tell."""
    try:
        outer = signature(function, follow_wrapped=False)
        passes_on = any(one.kind in MANY for one in outer.parameters.values())
        taken = signature(function) if passes_on else outer
    except (TypeError, ValueError):
        return None
    return Signature([one.replace(annotation=one.empty) for one in taken.parameters.values()])


def _is_async(function: Any) -> bool:
    while isinstance(function, partial):
        function = function.func
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns; in a thread of its own where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def watched() -> Any:
        task = asyncio.current_task()
        if task is not None:
            running.append((asyncio.get_running_loop(), task))
        return await coroutine

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(asyncio.run, watched())
        try:
            return answer.result()
        except KeyboardInterrupt:  # which only the main thread gets
            for loop, task in running:
                with suppress(RuntimeError):  # it ended meanwhile
                    loop.call_soon_threadsafe(task.cancel)
            raise
