"""Changes: what people do on the pages; each is a form, sent once and done as the command line does it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from bopp.dashboard.actions import ACTIONS, Form
from bopp.dashboard.format import link
from bopp.dashboard.pages import Pages
from bopp.dashboard.state import Outcome, State
from bopp.errors import BoppError
from bopp.study.address import censored

SLOWEST = 10.0  # seconds for a body to arrive
MOST_FIELDS = 2000
BACK = ("work", "trial", "study")  # pages to go back to
LATE = "the form did not arrive in time, or whole"
OLD = "this form was sent before, or is too old: load its page again, and see what is there"


@dataclass
class Changes:
    """Does what a form asks for, and goes back to its page, which says what came of it."""

    state: State
    pages: Pages

    async def change(self, request: Request) -> Response:
        """Do what the form says."""
        name = request.path_params["action"]
        if name not in ACTIONS:
            raise HTTPException(404, "there is no such change")
        form = await self._form(request)
        if self.state.read_only:
            raise HTTPException(403, "started with --read-only: nothing can be changed from here")
        process = self.state.suggester if name == "ask" else self.state.writer
        try:
            source = self.state.source_of(form["name"])
            outcome = Outcome(await process.call(ACTIONS[name], source, form["name"], form))
        except BoppError as error:
            outcome = Outcome(censored(str(error)), name, form.fields)
        page = form["back"] if form["back"] in BACK else "study"
        number = form["number"] if page == "trial" else None
        said = self.state.keep(request.scope["session"], outcome)
        return RedirectResponse(link(f"/{page}", name=form["name"], number=number, said=said), 303)

    async def link(self, request: Request) -> Response:
        """A link by which another browser may come in, once."""
        await self._form(request)
        token = self.state.sessions.link()
        url = f"{request.url.scheme}://{request.headers['host']}/enter?token={token}"
        return self.pages.page(request, "link.html", None, url=url)

    async def _form(self, request: Request) -> Form:
        """The form that a request carries, whose token is used up."""
        try:
            body = await asyncio.wait_for(request.body(), SLOWEST)
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except (TimeoutError, ClientDisconnect, ValueError):  # too slow, given up, too many, or no Unicode
            raise HTTPException(408, LATE) from None
        form = Form({key: text.replace("\r\n", "\n") for key, text in pairs})
        if not self.state.sessions.spend(request.scope["session"], form["token"]):
            raise HTTPException(403, OLD)
        return form
