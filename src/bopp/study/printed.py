"""Printed: what a program printed as its result.

The result is the first of these that its standard output has:

    {"value": 0.25}                    the last line that is a JSON object with "value", wherever it is
    0.25                               the last line, if it is a single number
    {"error": 0.1, "latency": 12.5}    the last line that is a JSON object with a number

Of several values, null is one that was not measured: {"error": null, "latency": 12.5}. A failure is an
object with nothing but null, as {"value": null}, which may have a reason under "error", or one with a reason
and no number, {"error": "diverged"}.
"""

from __future__ import annotations

import json
import re
from typing import Any

from bopp.errors import CommandError

LONGEST_REASON = 500  # characters of an error text
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WANTED = 'a last line that is one number or {"value": ...}'


def value_in(output: str) -> float | dict[str, Any]:
    """The number or the JSON object that a program printed as its result."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", COLOUR.sub("", output)) if line.strip()]
    objects = [found for line in reversed(lines) if (found := _results(line))]
    for found in objects:
        if "value" in found:
            return _checked(found)
    last = lines[-1] if lines else ""
    if (number := _number(last)) is not None:
        return number
    if objects:
        return _checked(objects[0])
    raise CommandError(f"wanted {WANTED}, got {repr(in_short(last)) if last else 'nothing'}")


def _number(line: str) -> float | None:
    try:
        return float(line.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return None


def _results(line: str) -> dict[str, Any] | None:
    """The JSON object on this line, if it reports a result or a failure."""
    if not line.startswith("{"):
        return None
    try:
        found: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return None
    told = "value" in found or _has_number(found) or _has_reason(found) or _has_nothing(found)
    return found if told else None


def _checked(found: dict[str, Any]) -> dict[str, Any]:
    """The object as it is; raises if it reports a failure."""
    value = found.get("value")
    if _has_reason(found) and not _has_number(found):
        raise CommandError(in_short(found["error"]))
    if _has_nothing(found) and "value" not in found:
        raise CommandError(f"the command gave null as {', '.join(found)}")
    if "value" in found and value is None and (found.get("error") or not _has_number(found)):
        raise CommandError(in_short(str(found.get("error") or "")) or "the command gave null as value")
    if value is None:
        return found
    if not _is_number(value):
        raise CommandError(f'wanted a number or null as "value", got {in_short(json.dumps(value))}')
    return found


def _has_number(found: dict[str, Any]) -> bool:
    return any(map(_is_number, found.values()))


def _has_nothing(found: dict[str, Any]) -> bool:
    return len(found) > 0 and all(value is None for value in found.values())


def _has_reason(found: dict[str, Any]) -> bool:
    reason = found.get("error")
    return isinstance(reason, str) and bool(reason.strip())


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def in_short(text: str) -> str:
    """The last non-empty lines, cut and cleaned for a message."""
    lines = "\n".join(line.rstrip() for line in COLOUR.sub("", text).splitlines() if line.strip())
    end = lines[-LONGEST_REASON:].strip()
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in end
    )
