"""Changes: what people do on the pages; each is a form, sent once and done as the command line does it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from bopp.dashboard import doing
from bopp.dashboard.board import Board, Outcome
from bopp.dashboard.pages import Pages
from bopp.dashboard.wording import link
from bopp.errors import BoppError, ConfigError
from bopp.study.address import censored

SLOWEST = 10.0  # seconds for a body to arrive
MOST_FIELDS = 2000
PARAM, VALUE = "param:", "value:"  # begin the names of fields for a parameter, and for a value
BACK = ("work", "trial", "study")  # pages to go back to
LATE = "the form did not arrive in time, or whole"
OLD = "this form was sent before, or is too old: load its page again, and see what is there"


@dataclass(frozen=True)
class Form:
    """What was sent: texts as somebody typed them."""

    fields: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.fields.get(name, "")

    @property
    def number(self) -> int:
        """The number of the trial that it is about."""
        text = self["number"]
        if not text.isdecimal() or len(text) > 9:
            raise ConfigError(f"wanted the number of a trial, got {text[:40]!r}")
        return int(text)

    @property
    def params(self) -> dict[str, str]:
        """The params that were filled in, by name."""
        return {name: text for name, text in self._of(PARAM).items() if text.strip()}

    @property
    def values(self) -> dict[str, str]:
        """The values, by name; what was left blank was not measured."""
        return {name: text if text.strip() else "none" for name, text in self._of(VALUE).items()}

    def _of(self, start: str) -> dict[str, str]:
        return {key.removeprefix(start): text for key, text in self.fields.items() if key.startswith(start)}


@dataclass(frozen=True)
class Act:
    """A change: what does it, with which of the fields, and what to say of it in the end."""

    do: Callable[..., Any]
    needs: Callable[[Form], tuple[Any, ...]]
    said: Callable[[Form, Any], str]


ACTS = {
    "ask": Act(
        doing.ask,
        lambda form: (form["count"],),
        lambda form, numbers: f"to try next: trial {', '.join(map(str, numbers))}",
    ),
    "tell": Act(
        doing.tell,
        lambda form: (form.number, form.values, form["noise"], form["note"]),
        lambda form, _: f"trial {form.number} is told",
    ),
    "fail": Act(
        doing.fail,
        lambda form: (form.number, form["reason"], form["note"]),
        lambda form, _: f"trial {form.number} is told as failed",
    ),
    "amend": Act(
        doing.amend,
        lambda form: (form.number, form.values, form["noise"], form["reason"]),
        lambda form, _: f"trial {form.number} is amended; what it was stays in its record",
    ),
    "retry": Act(
        doing.retry,
        lambda form: (form.number, form["reason"]),
        lambda form, _: f"trial {form.number} will be evaluated again by whoever asks next",
    ),
    "drop": Act(
        doing.drop,
        lambda form: (form.number, form["reason"]),
        lambda form, _: f"trial {form.number} no longer counts",
    ),
    "note": Act(
        doing.note, lambda form: (form.number, form["text"]), lambda form, _: f"noted at trial {form.number}"
    ),
    "enqueue": Act(
        doing.enqueue, lambda form: (form.params,), lambda form, _: "it is tried before any suggestion"
    ),
    "observe": Act(
        doing.observe,
        lambda form: (form.params, form.values, form["noise"]),
        lambda form, number: f"the result is trial {number}",
    ),
    "pause": Act(doing.pause, lambda form: (form["reason"],), lambda form, words: str(words)),
    "resume": Act(doing.resume, lambda form: (), lambda form, words: str(words)),
}


@dataclass
class Changes:
    """Does what a form asks for, and goes back to its page, which says what came of it."""

    board: Board
    pages: Pages

    async def change(self, request: Request) -> Response:
        """Do what the form says."""
        act = ACTS.get(request.path_params["act"])
        if act is None:
            return self.pages.refusal(404, "there is no such change")
        session, form = request.scope["session"], await form_of(request)
        if form is None:
            return self.pages.refusal(408, LATE)
        if not self.board.keys.spend(session, form["token"]):
            return self.pages.refusal(403, OLD)
        if self.board.read_only:
            return self.pages.refusal(403, "started with --read-only: nothing can be changed from here")
        try:
            needed = act.needs(form)
            beside = self.board.mind if act.do is doing.ask else self.board.hands
            came = await beside.call(act.do, self.board.source_of(form["name"]), form["name"], *needed)
            outcome = Outcome(act.said(form, came))
        except BoppError as error:
            outcome = Outcome(censored(str(error)), request.path_params["act"], form.fields)
        page = form["back"] if form["back"] in BACK else "study"
        number = form["number"] if page == "trial" else None
        said = self.board.keep(session, outcome)
        return RedirectResponse(link(f"/{page}", name=form["name"], number=number, said=said), 303)

    async def another(self, request: Request) -> Response:
        """A link by which another browser may come in, once."""
        form = await form_of(request)
        if form is None:
            return self.pages.refusal(408, LATE)
        if not self.board.keys.spend(request.scope["session"], form["token"]):
            return self.pages.refusal(403, OLD)
        return self.pages.way_in(request, self.board.keys.link())


async def form_of(request: Request) -> Form | None:
    """The form that a request carries; None if it does not arrive in time, or is none."""
    try:
        body = await asyncio.wait_for(request.body(), SLOWEST)
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except (TimeoutError, ClientDisconnect, ValueError):  # too slow, given up, too many, or no Unicode
        return None
    return Form({key: text.replace("\r\n", "\n") for key, text in pairs})
