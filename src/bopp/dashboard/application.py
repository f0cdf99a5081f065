"""Application: the pages put together behind the access control."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from mimetypes import guess_type

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bopp.dashboard.access import AccessControl, Hosts
from bopp.dashboard.changes import Changes
from bopp.dashboard.pages import Pages
from bopp.dashboard.state import State
from bopp.errors import BoppError, StoreError

USED = "this link was used before, or is too old: each lets one browser in, once"
ENTERED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>bopp</title>'
    '<link rel="icon" href="/static/icon.svg">'
    '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Go on</a></p></html>'
)
"""Not a redirect: where a link elsewhere leads by one, browsers would not send the new cookie."""


def application(state: State, hosts: Hosts, cookie: str, entered: Callable[[], None]) -> AccessControl:
    """The pages of a server; `entered` is called when a link let somebody in."""
    folder = files("bopp.dashboard") / "static"
    static = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    digest = sha256(b"\0".join(static[name] for name in sorted(static))).hexdigest()[:12]
    pages = Pages(state, digest)  # in the addresses of files, so that browsers may keep them
    changes = Changes(state, pages)

    async def file(request: Request) -> Response:
        """A file that pages refer to, from memory: no other can be asked for."""
        name = request.path_params["name"]
        if name not in static:
            raise HTTPException(404, "there is no such file")
        kind = guess_type(name)[0] or "text/plain"
        return Response(static[name], media_type=kind, headers={"Cache-Control": "max-age=604800"})

    async def enter(request: Request) -> Response:
        token = request.query_params.get("token", "") if request.method == "GET" else ""
        session = state.sessions.enter(token)
        if session is None:
            raise HTTPException(403, USED)
        entered()
        answer = HTMLResponse(ENTERED, headers={"Referrer-Policy": "no-referrer"})
        answer.set_cookie(cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    async def refuse(_: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return pages.refusal(error.status_code, error.detail)
        if isinstance(error, BoppError):
            return pages.refusal(503 if isinstance(error, StoreError) else 404, str(error))
        return pages.refusal(500, f"{type(error).__name__}: a fault of bopp; the terminal says where")

    looked_at = {
        "/static/{name}": file,
        "/enter": enter,
        "/": pages.studies,
        "/study": pages.study,
        "/trials": pages.trials,
        "/trials.csv": pages.csv,
        "/trial": pages.trial,
        "/model": pages.model,
        "/parallel": pages.parallel,
        "/work": pages.work,
        "/events": pages.events,
        "/picture": pages.picture,
        "/data/{kind}": pages.data,
    }
    changed = {"/change/{action}": changes.change, "/link": changes.link}
    routes = [Route(path, show, methods=["GET"]) for path, show in looked_at.items()]
    routes += [Route(path, change, methods=["POST"]) for path, change in changed.items()]
    handlers = dict.fromkeys((BoppError, HTTPException, Exception), refuse)
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False  # each page has one address
    return AccessControl(app, state.sessions, hosts, cookie, pages.refusal)
