"""Pages: what a browser is shown, rendered on the server; the scripts only bring it up to date.

Every page can be had in part, with `live=1` in its query: the sections that change while a study runs.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from textwrap import wrap
from typing import Any

import msgspec
from anyio import to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

import bopp
from bopp.dashboard import facts, looking
from bopp.dashboard.board import Board, Outcome
from bopp.dashboard.facts import PAGE, Query
from bopp.dashboard.followed import Followed
from bopp.dashboard.seen import Seen
from bopp.dashboard.views import View
from bopp.dashboard.wording import brief, link, moment, number, shown
from bopp.errors import StoreError, StudyError
from bopp.legible import cut, one_line
from bopp.trial import Trial
from bopp.view.values import searched

STALE = 5.0  # seconds after which what the studies have found is looked up again
PATIENCE = 0.6  # seconds that a page waits for the store, or for what has to be computed
HEARTBEAT = 10.0  # seconds between signs of life
LONGEST, SOON = 60.0, 2.0  # seconds that a picture is waited for, without scripts and with them

Context = dict[str, Any]


class Pages:
    """The pages of a board that can be looked at; looking changes nothing."""

    def __init__(self, board: Board, digest: str):
        self._board = board
        self._templates = Environment(
            loader=PackageLoader("bopp.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,  # whatever is installed meanwhile
            trim_blocks=True,
            lstrip_blocks=True,
        )
        for filter in (shown, brief, number, moment):
            self._templates.filters[filter.__name__] = filter
        self._templates.globals |= {
            "link": link,
            "version": bopp.__version__,
            "of": digest,
            "read_only": board.read_only,
        }

    async def studies(self, request: Request) -> Response:
        """The studies of the store; of a single one, its own page unless all are asked for."""
        names = await self._board.names()
        if len(names) == 1 and "all" not in request.query_params:
            return RedirectResponse(link("/study", name=names[0]))
        found = await self._board.views.get(
            int(time.time() / STALE), PATIENCE, looking.findings, self._board.url, self._board.source
        )
        words = (found.error,) if found and found.error else ()
        rows = [(name, (found.value or {}).get(name, words) if found else None) for name in names]
        return self.page(request, "studies.html", None, rows=rows, place=self._board.place)

    async def study(self, request: Request) -> Response:
        """A study at a glance."""
        followed, seen = await self.sight(request)
        latest = sorted(seen.kept.values(), key=lambda trial: -trial.number)[:10] if seen else []
        asked = request.query_params.getlist("of")
        several = seen is not None and len(seen.problem.objectives) > 1
        pair = facts.checked_objectives(seen.problem, asked) if seen and several else []
        return self.page(request, "study.html", followed, latest=latest, pair=pair)

    async def trials(self, request: Request) -> Response:
        """The table of the trials: sorted, filtered, a page at a time."""
        followed, seen = await self.sight(request)
        query = Query.of(request.query_params)
        rows, total = [], 0
        if seen:
            numbers, total = query.numbers(seen.course)
            try:
                rows = await to_thread.run_sync(followed.some, numbers)
            except StoreError as error:
                return self.page(request, "unread.html", followed, reason=str(error))
        last = max(1, -(-total // PAGE))
        query = replace(query, page=min(max(query.page, 1), last))
        return self.page(request, "trials.html", followed, trials=rows, query=query, total=total, last=last)

    async def trial(self, request: Request) -> Response:
        """All there is to know of one trial."""
        followed, seen = await self.sight(request)
        chosen = numbered(request)
        if seen is None or not seen.whole:
            return self.page(request, "unread.html", followed, reason=followed.trouble or "It is being read.")
        try:
            found = await to_thread.run_sync(followed.some, [chosen])
        except StoreError as error:
            return self.page(request, "unread.html", followed, reason=str(error))
        if not found:
            raise StudyError(f"there is no trial {chosen} in {followed.name!r}")
        why = await self._why(seen, found[0])
        return self.page(request, "trial.html", followed, trial=found[0], why=why)

    async def model(self, request: Request) -> Response:
        """What the model has learned: importance, slices, contours, calibration, knowledge."""
        followed, seen = await self.sight(request)
        objective = request.query_params.get("objective", "")
        context: Context = {
            "objective": objective,
            "objectives": [],
            "axes": [],
            "shares": None,
            "trusted": None,
        }
        if seen and seen.course.count("done"):
            names = [*seen.problem.objectives, *(limit.name for limit in seen.problem.limits)]
            several = len(names) > 1
            chosen = objective if objective in names else names[0]
            context |= {"objective": chosen if several else "", "objectives": names if several else []}
            context["shares"] = await self.view(seen, looking.shares, context["objective"])
            if seen.knows:
                context["trusted"] = await self.view(seen, looking.trusted, context["objective"])
            known = searched(seen.problem.space)
            context["axes"] = known
            picked = [request.query_params.get(axis, "") for axis in ("x", "y")]
            context["picked"] = picked if set(picked) <= set(known) and picked[0] != picked[1] else []
        return self.page(request, "model.html", followed, **{"picked": [], **context})

    async def parallel(self, request: Request) -> Response:
        """Every trial as a line across the parameters."""
        followed, seen = await self.sight(request)
        names = list(seen.problem.objectives) if seen else []
        asked = request.query_params.get("objective", "")
        objective = asked if asked in names else names[0] if names else ""
        return self.page(request, "parallel.html", followed, objective=objective, objectives=names)

    async def work(self, request: Request) -> Response:
        """Where somebody works by hand: the next settings, and what came out of them."""
        followed, seen = await self.sight(request)
        unlisted = seen.course.count("asked") - len(seen.under_way) if seen else 0
        return self.page(request, "work.html", followed, by_hand=by_hand(seen), unlisted=unlisted)

    async def events(self, request: Request) -> Response:
        """A stream that says when a study has changed."""
        followed = self._followed(request)

        async def stream() -> AsyncIterator[bytes]:
            changes = followed.changes(HEARTBEAT)  # before the first event, lest one be missed meanwhile
            yield b"retry: 1000\n\n"
            yield _event(followed)
            async for changed in changes:
                yield _event(followed) if changed else b": nothing new\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def data(self, request: Request) -> Response:
        """What a chart draws."""
        followed, seen = await self.sight(request)
        if seen is None:
            raise StudyError(followed.trouble or "the study is not open yet")
        kind = request.path_params["kind"]
        if kind == "convergence":
            found = facts.convergence_data(seen.course)
        elif kind == "front":
            names = facts.checked_objectives(seen.problem, request.query_params.getlist("of"))
            trials = await to_thread.run_sync(followed.some, facts.front_numbers(seen.course))
            found = facts.front_data(seen, trials, names)
        elif kind == "parallel":
            objective = request.query_params.get("objective", "") or next(iter(seen.problem.objectives))
            trials = await to_thread.run_sync(followed.some, facts.parallel_numbers(seen.course, objective))
            found = await to_thread.run_sync(facts.parallel_data, seen, trials, objective)
        else:
            return Response("there is no such data", 404, media_type="text/plain")
        return Response(msgspec.json.encode(found), media_type="application/json")

    async def picture(self, request: Request) -> Response:
        """A picture, as PNG."""
        _, seen = await self.sight(request)
        if seen is None:
            return Response("the study is not open yet", 404, media_type="text/plain")
        asked = request.query_params
        names = tuple(asked.getlist("of"))
        chosen = (asked.get("kind", ""), asked.get("objective", ""), names)
        patience = SOON if "at" in asked else LONGEST  # a script asks again, and others are waiting in line
        view = await self.view(seen, looking.picture, *chosen, patience=patience, rests=False)
        if view is None and "at" in asked:
            return Response(status_code=202)
        if view is None or view.value is None:
            words = view.error if view and view.error else "This takes long; it is still being drawn."
            text = self._templates.get_template("words.svg").render(lines=wrap(one_line(cut(words, 600)), 60))
            return Response(text, media_type="image/svg+xml")
        headers = {"Bopp-Current": "yes" if view.current else "no"}  # or a better one is being drawn
        return Response(view.value, media_type="image/png", headers=headers)

    async def csv(self, request: Request) -> Response:
        """Every trial as a table for spreadsheets, as `bopp trials --csv` writes it."""
        followed, seen = await self.sight(request)
        if seen is None:
            raise StudyError(followed.trouble or "the study is not open yet")
        study = (self._board.source, seen.name, seen.generation)
        text = await self._board.eyes.call(looking.table, *study)
        headers = {"Content-Disposition": 'attachment; filename="trials.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)

    async def sight(self, request: Request) -> tuple[Followed, Seen | None]:
        """The study that a request is about, and how it looks now."""
        followed = self._followed(request)
        return followed, await followed.sight(PATIENCE)

    async def view(
        self, seen: Seen, function: Any, /, *arguments: Any, patience: float = PATIENCE, rests: bool = True
    ) -> View | None:
        """What has to be computed of a study; None if it takes longer than a page can wait."""
        of = (seen.generation, seen.revision)
        source = (self._board.source, seen.name, seen.generation)
        return await self._board.views.get(of, patience, function, *source, *arguments, rests=rests)

    def page(self, request: Request, template: str, followed: Followed | None, /, **context: Any) -> Response:
        """A page, or those of its sections that change."""
        session = request.scope["session"]
        live = request.query_params.get("live") == "1"
        seen = followed.seen if followed else None
        said = request.query_params.get("said", "")
        outcome = None if live else self._board.outcomes.pop((session, said), None)
        context = {
            "live": live,
            "followed": followed,
            "name": followed.name if followed else None,
            "seen": seen,
            "problem": seen.problem if seen else None,
            "page": template.removesuffix(".html"),
            "here": f"{request.url.path}?{request.url.query}",
            "token": lambda: self._board.keys.token(session),
            "rows_of": lambda trials: [facts.row(seen.problem, trial) for trial in trials] if seen else [],
            "held": {held.number: held for held in seen.leased} if seen else {},
            "limits": lambda: facts.limits(seen) if seen else [],
            "fields": lambda: facts.fields(seen.problem.space) if seen else [],
            "several": len(seen.problem.objectives) > 1 if seen else False,
            "outcome": outcome,
            "again": lambda act, number="": _typed_before(outcome, act, number),
            **context,
        }
        return HTMLResponse(self._templates.get_template(template).render(context))

    def refusal(self, status: int, reason: str) -> Response:
        """The page for those who are not let in, or ask for what is not there."""
        text = self._templates.get_template("refused.html").render(status=status, reason=reason)
        return HTMLResponse(text, status)

    def way_in(self, request: Request, word: str) -> Response:
        """The page with a link for another browser."""
        url = f"{request.url.scheme}://{request.headers['host']}/enter?token={word}"
        return self.page(request, "link.html", None, url=url)

    async def _why(self, seen: Seen, trial: Trial) -> dict[str, View | None]:
        """What the model believed of a trial when it was suggested, of each objective."""
        names = list(seen.problem.objectives)
        asked = names if len(names) > 1 else [""]
        views = (self.view(seen, looking.explained, trial.number, name) for name in asked)
        return dict(zip(names, await asyncio.gather(*views), strict=True))

    def _followed(self, request: Request) -> Followed:
        name = request.query_params.get("name", "")
        if not name:
            raise StudyError("wanted the name of a study, got none")
        return self._board.follow(name)


def by_hand(seen: Seen | None) -> list[Trial]:
    """The trials that somebody asked for by hand, which no lease takes away."""
    leased = {held.number for held in seen.leased} if seen else set()
    return [trial for trial in seen.under_way if trial.number not in leased] if seen else []


def numbered(request: Request) -> int:
    """The number of the trial that a request is about."""
    text = request.query_params.get("number", "")
    if not text.isdecimal() or len(text) > 9:
        raise StudyError(f"wanted the number of a trial, got {cut(text, 40)!r}")
    return int(text)


def _typed_before(outcome: Outcome | None, act: str, number: object) -> Mapping[str, str]:
    """What was typed into a form that could not be accepted, so that it need not be typed again."""
    same = outcome is not None and outcome.act == act and outcome.typed.get("number", "") == str(number)
    return outcome.typed if outcome is not None and same else {}


def _event(followed: Followed) -> bytes:
    reading = followed.seen is not None and not followed.seen.whole
    said = {"version": followed.version, "trouble": followed.trouble, "reading": reading}
    return f"event: seen\ndata: {json.dumps(said)}\n\n".encode()
