"""Pages: what a browser is shown, rendered on the server; the scripts only bring it up to date.

Every page can be had in part, with `live=1` in its query: the sections that change while a study runs.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

import msgspec
from anyio import to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

import bopp
from bopp.dashboard import page_data, queries
from bopp.dashboard.actions import trial_number
from bopp.dashboard.cache import CachedResult
from bopp.dashboard.format import brief, link, shown
from bopp.dashboard.page_data import Query
from bopp.dashboard.state import Outcome, State
from bopp.dashboard.watch import Snapshot, StudyWatch
from bopp.errors import StoreError, StudyError
from bopp.legible import cut, one_line
from bopp.trial import Trial
from bopp.view.values import broken_by, remark, searched

STALE = 5.0  # seconds after which what the studies have found is looked up again
PATIENCE = 0.6  # seconds that a page waits for the store, or for what has to be computed
HEARTBEAT = 10.0  # seconds between signs of life
LONGEST, SOON = 60.0, 2.0  # seconds that a picture is waited for, without scripts and with them


class Pages:
    """The pages that can be looked at; looking changes nothing."""

    def __init__(self, state: State, digest: str):
        self._state = state
        self._templates = Environment(
            loader=PackageLoader("bopp.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,  # whatever is installed meanwhile
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {"shown": shown, "brief": brief}
        self._templates.globals |= {
            "link": link,
            "remark": remark,
            "broken_by": broken_by,
            "version": bopp.__version__,
            "of": digest,
            "read_only": state.read_only,
        }

    async def studies(self, request: Request) -> Response:
        """The studies of the store; of a single one, its own page unless all are asked for."""
        state = self._state
        names = await state.names()
        if len(names) == 1 and "all" not in request.query_params:
            return RedirectResponse(link("/study", name=names[0]))
        found = await state.results.get(
            int(time.time() / STALE), PATIENCE, queries.findings, state.url, state.source
        )
        words = (found.error,) if found and found.error else ()
        rows = [(name, (found.value or {}).get(name, words) if found else None) for name in names]
        return self.page(request, "studies.html", None, rows=rows, place=state.place)

    async def study(self, request: Request) -> Response:
        """A study at a glance."""
        watch, snapshot = await self._look(request)
        pair = []
        if snapshot and len(snapshot.problem.objectives) > 1:
            pair = page_data.checked_objectives(snapshot.problem, request.query_params.getlist("of"))
        return self.page(request, "study.html", watch, pair=pair)

    async def trials(self, request: Request) -> Response:
        """The table of the trials: sorted, filtered, a page at a time."""
        watch, snapshot = await self._look(request)
        if snapshot is None:
            return self.page(request, "trials.html", watch)
        numbers, query, total, last = Query.of(request.query_params).find(snapshot.columns)
        try:
            trials = await self._some(watch, numbers)
        except StoreError as error:
            return self.page(request, "unread.html", watch, reason=str(error))
        return self.page(request, "trials.html", watch, trials=trials, query=query, total=total, last=last)

    async def trial(self, request: Request) -> Response:
        """All there is to know of one trial."""
        watch, snapshot = await self._look(request)
        number = trial_number(request.query_params.get("number", ""))
        if snapshot is None or not snapshot.whole:
            return self.page(request, "unread.html", watch, reason=watch.trouble or "It is being read.")
        try:
            found = await self._some(watch, [number])
        except StoreError as error:
            return self.page(request, "unread.html", watch, reason=str(error))
        if not found:
            raise StudyError(f"there is no trial {number} in {watch.name!r}")
        why = await self._why(snapshot, found[0])
        return self.page(request, "trial.html", watch, trial=found[0], why=why)

    async def model(self, request: Request) -> Response:
        """What the model has learned: importance, slices, contours, calibration, knowledge."""
        watch, snapshot = await self._look(request)
        if snapshot is None or not snapshot.columns.count("done"):
            return self.page(request, "model.html", watch)
        asked, problem = request.query_params, snapshot.problem
        objectives = problem.names if len(problem.names) > 1 else []
        objective = _objective(request, objectives)
        axes = searched(problem.space)
        picked = [asked.get(axis, "") for axis in ("x", "y")]
        return self.page(
            request,
            "model.html",
            watch,
            objective=objective,
            objectives=objectives,
            axes=axes,
            picked=picked if set(picked) <= set(axes) and picked[0] != picked[1] else [],
            shares=await self._result(snapshot, queries.shares, objective),
            trusted=await self._result(snapshot, queries.trusted, objective) if snapshot.knows else None,
        )

    async def parallel(self, request: Request) -> Response:
        """Every trial as a line across the parameters."""
        watch, snapshot = await self._look(request)
        names = list(snapshot.problem.objectives) if snapshot else []
        objective = _objective(request, names)
        return self.page(request, "parallel.html", watch, objective=objective, objectives=names)

    async def work(self, request: Request) -> Response:
        """Where somebody works by hand: the next settings, and what came out of them."""
        watch, _ = await self._look(request)
        return self.page(request, "work.html", watch)

    async def events(self, request: Request) -> Response:
        """A stream that says when a study has changed."""
        watch = self._watch(request)

        async def stream() -> AsyncIterator[bytes]:
            changes = watch.changes(watch.version, HEARTBEAT)  # since before the first event: none is missed
            yield b"retry: 1000\n\n"
            yield _event(watch)
            async for changed in changes:
                yield _event(watch) if changed else b": nothing new\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def data(self, request: Request) -> Response:
        """What a chart draws."""
        watch, snapshot = await self._open(request)
        kind, columns = request.path_params["kind"], snapshot.columns
        if kind == "convergence":
            found = page_data.convergence_data(columns)
        elif kind == "front":
            names = page_data.checked_objectives(snapshot.problem, request.query_params.getlist("of"))
            trials = await self._some(watch, page_data.front_numbers(columns))
            found = page_data.front_data(snapshot, trials, names)
        elif kind == "parallel":
            objective = request.query_params.get("objective", "") or next(iter(snapshot.problem.objectives))
            trials = await self._some(watch, page_data.parallel_numbers(columns, objective))
            found = await to_thread.run_sync(page_data.parallel_data, snapshot, trials, objective)
        else:
            raise HTTPException(404, "there is no such data")
        return Response(msgspec.json.encode(found), media_type="application/json")

    async def picture(self, request: Request) -> Response:
        """A picture, as PNG."""
        _, snapshot = await self._open(request)
        asked = request.query_params
        chosen = (asked.get("kind", ""), asked.get("objective", ""), tuple(asked.getlist("of")))
        patience = SOON if "at" in asked else LONGEST  # a script asks again, and others are waiting in line
        found = await self._result(snapshot, queries.picture, *chosen, patience=patience, rests=False)
        if found is None and "at" in asked:
            return Response(status_code=202)
        if found is None or found.value is None:
            words = found.error if found and found.error else "This takes long; it is still being drawn."
            text = self._templates.get_template("words.svg").render(lines=wrap(one_line(cut(words, 600)), 60))
            return Response(text, media_type="image/svg+xml")
        headers = {"Bopp-Current": "yes" if found.current else "no"}  # or a better one is being drawn
        return Response(found.value, media_type="image/png", headers=headers)

    async def csv(self, request: Request) -> Response:
        """Every trial as a table for spreadsheets, as `bopp trials --csv` writes it."""
        _, snapshot = await self._open(request)
        text = await self._state.renderer.call(queries.table, self._which(snapshot))
        headers = {"Content-Disposition": 'attachment; filename="trials.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)

    def page(self, request: Request, template: str, watch: StudyWatch | None, /, **context: Any) -> Response:
        """A page, or those of its sections that change."""
        session = request.scope["session"]
        live = request.query_params.get("live") == "1"
        snapshot = watch.snapshot if watch else None
        said = request.query_params.get("said", "")
        outcome = None if live else self._state.outcomes.pop((session, said), None)
        context = {
            "live": live,
            "watch": watch,
            "name": watch.name if watch else None,
            "snapshot": snapshot,
            "problem": snapshot.problem if snapshot else None,
            "page": template.removesuffix(".html"),
            "here": f"{request.url.path}?{request.url.query}",
            "token": lambda: self._state.sessions.token(session),
            "held": {held.number: held for held in snapshot.leased} if snapshot else {},
            "limits": page_data.limits(snapshot) if snapshot else [],
            "fields": lambda: page_data.fields(snapshot.problem.space) if snapshot else [],
            "several": len(snapshot.problem.objectives) > 1 if snapshot else False,
            "outcome": outcome,
            "again": lambda action, number="": _typed_before(outcome, action, number),
            **context,
        }
        return HTMLResponse(self._templates.get_template(template).render(context))

    def refusal(self, status: int, reason: str) -> Response:
        """The page for those who are not let in, or ask for what is not there."""
        text = self._templates.get_template("refused.html").render(status=status, reason=reason)
        return HTMLResponse(text, status)

    def _watch(self, request: Request) -> StudyWatch:
        """The watch of the study that a request is about."""
        name = request.query_params.get("name", "")
        if not name:
            raise StudyError("wanted the name of a study, got none")
        return self._state.watch(name)

    async def _look(self, request: Request) -> tuple[StudyWatch, Snapshot | None]:
        """The study that a request is about, and how it looks now."""
        watch = self._watch(request)
        return watch, await watch.look(PATIENCE)

    async def _open(self, request: Request) -> tuple[StudyWatch, Snapshot]:
        """The same for what cannot be shown without one."""
        watch, snapshot = await self._look(request)
        if snapshot is None:
            raise StudyError(watch.trouble or "the study is not open yet")
        return watch, snapshot

    async def _some(self, watch: StudyWatch, numbers: Sequence[int]) -> list[Trial]:
        """Some of the trials, read in a thread if need be."""
        return await to_thread.run_sync(watch.some, numbers)

    async def _result(
        self,
        snapshot: Snapshot,
        query: Any,
        /,
        *arguments: Any,
        patience: float = PATIENCE,
        rests: bool = True,
    ) -> CachedResult | None:
        """What has to be computed of a study; None if it takes longer than a page can wait."""
        of, which = (snapshot.generation, snapshot.revision), self._which(snapshot)
        return await self._state.results.get(of, patience, query, which, *arguments, rests=rests)

    def _which(self, snapshot: Snapshot) -> queries.Which:
        return self._state.source, snapshot.name, snapshot.generation

    async def _why(self, snapshot: Snapshot, trial: Trial) -> dict[str, CachedResult | None]:
        """What the model believed of a trial when it was suggested, of each objective."""
        names = list(snapshot.problem.objectives)
        asked = names if len(names) > 1 else [""]
        results = (self._result(snapshot, queries.explained, trial.number, name) for name in asked)
        return dict(zip(names, await asyncio.gather(*results), strict=True))


def _typed_before(outcome: Outcome | None, action: str, number: object) -> Mapping[str, str]:
    """What was typed into a form that could not be accepted, so that it need not be typed again."""
    same = outcome is not None and outcome.action == action and outcome.typed.get("number", "") == str(number)
    return outcome.typed if outcome is not None and same else {}


def _objective(request: Request, names: Sequence[str]) -> str:
    """The one of these that a request asks for, or the first."""
    asked = request.query_params.get("objective", "")
    return asked if asked in names else next(iter(names), "")


def _event(watch: StudyWatch) -> bytes:
    said = {"version": watch.version, "trouble": watch.trouble}
    return f"event: seen\ndata: {json.dumps(said)}\n\n".encode()
