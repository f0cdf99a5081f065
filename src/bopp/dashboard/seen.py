"""Seen: a study as it was seen last, all that pages need of it; and how it comes to be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bopp.dashboard.course import Course
from bopp.problem import Problem
from bopp.study.following import Look
from bopp.study.opening import existing
from bopp.trial import Trial

LATEST = 20  # trials that are kept whole, besides those under way and the best
MOST = 100  # trials under way, or of a front, that are kept whole


@dataclass(frozen=True, kw_only=True)
class Seen(Look):
    """A study as it was seen last; `kept` has some of its trials: the latest, those under way, the best."""

    name: str
    url: str
    problem: Problem
    knows: bool  # whether it has sources of knowledge
    generation: int  # how often it has been opened
    course: Course
    kept: Mapping[int, Trial]

    @property
    def under_way(self) -> list[Trial]:
        """The trials that were asked for and not told, of which the latest are kept."""
        return [trial for trial in self.kept.values() if trial.state == "asked"]

    @property
    def leading(self) -> list[Trial]:
        """The best trial, or the front, of which the first are kept."""
        return [self.kept[number] for number in _leading(self.course) if number in self.kept]


class Watching:
    """An open study that is looked at again and again; not by several threads at once, except `some`."""

    def __init__(self, source: str, name: str, generation: int):
        self._study = existing(source, name)
        self._following = self._study.follow()
        self._course = Course.empty(self._study.problem)
        self._generation = generation
        self._seen: Seen | None = None

    def close(self) -> None:
        self._study.close()

    def look(self) -> Seen:
        """What there is to see now: the very same as before if nothing has changed."""
        look, before = self._following.look(), self._seen
        if before is not None and not look.changed and _state(before) == _state(look):
            return before
        self._course = course = self._course.after(look.changed)
        self._seen = seen = Seen(
            **vars(replace(look, changed=())),  # which the course has
            name=self._study.name,
            url=self._study.url,
            problem=self._study.problem,
            knows=bool(self._study.definition.knowledge),
            generation=self._generation,
            course=course,
            kept=self._kept(course, look, before.kept if before else {}),
        )
        return seen

    def some(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """Some of the trials, by number, as the store has them."""
        return self._following.some(numbers)

    def _kept(self, course: Course, look: Look, before: Mapping[int, Trial]) -> dict[int, Trial]:
        """The trials that are kept whole, some of which may have to be read again."""
        asked, leased = course.chosen("asked").tolist(), {held.number for held in look.leased}
        by_hand = [number for number in asked if number not in leased][-MOST:]
        latest = range(max(0, len(course) - LATEST), len(course))
        wanted = sorted({*latest, *by_hand, *sorted(leased)[-MOST:], *_leading(course)})
        known = {**before, **{trial.number: trial for trial in look.changed}}
        missing = [number for number in wanted if number not in known]
        if missing and look.whole:
            known |= self.some(missing)
        return {number: known[number] for number in wanted if number in known}


def _leading(course: Course) -> list[int]:
    best = course.best
    return course.front[:MOST] if best is None else [best]


def _state(look: Look) -> tuple[object, ...]:
    """All that a page shows of a look but the trials."""
    return look.whole, look.revision, look.leased, look.queued, look.paused
