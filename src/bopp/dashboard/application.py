"""Application: the pages put together behind the gate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bopp.dashboard.assets import Assets
from bopp.dashboard.board import Board
from bopp.dashboard.changes import Changes
from bopp.dashboard.gate import Gate, Hosts
from bopp.dashboard.pages import Pages
from bopp.errors import BoppError, StoreError

USED = "this link was used before, or is too old: each lets one browser in, once"
ENTERED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>bopp</title>'
    '<link rel="icon" href="/static/icon.svg">'
    '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Go on</a></p></html>'
)
"""Not a redirect: where a link elsewhere leads by one, browsers would not send the new cookie."""


def application(
    board: Board, hosts: Hosts, cookie: str, ready: Callable[[], None], entered: Callable[[], None]
) -> ASGIApp:
    """The pages of a board; `ready` is called before the first, `entered` when somebody came in by a link."""
    assets = Assets.load()
    pages = Pages(board, assets.digest)
    changes = Changes(board, pages)

    async def file(request: Request) -> Response:
        found = assets.files.get(request.path_params["name"])
        if found is None:
            return pages.refusal(404, "there is no such file")
        return Response(found[0], media_type=found[1], headers={"Cache-Control": "max-age=604800"})

    async def enter(request: Request) -> Response:
        session = board.keys.enter(request.query_params.get("token", "")) if request.method == "GET" else None
        if session is None:
            return pages.refusal(403, USED)
        entered()
        answer = HTMLResponse(ENTERED, headers={"Referrer-Policy": "no-referrer"})
        answer.set_cookie(cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    async def wrong(_: Request, error: Exception) -> Response:
        return pages.refusal(503 if isinstance(error, StoreError) else 404, str(error))

    async def absent(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return pages.refusal(status, "there is no such page")

    async def broken(_: Request, error: Exception) -> Response:
        return pages.refusal(500, f"{type(error).__name__}: a fault of bopp; the terminal says where")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await board.prepare()
        ready()
        yield
        board.close()

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
    changed = {"/change/{act}": changes.change, "/link": changes.another}
    routes = [Route(path, show, methods=["GET"]) for path, show in looked_at.items()]
    routes += [Route(path, act, methods=["POST"]) for path, act in changed.items()]
    handlers = {BoppError: wrong, HTTPException: absent, Exception: broken}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False  # each page has one address
    return Gate(app, board.keys, hosts, cookie, pages.refusal)
