"""Sessions: who may enter, and which form was sent: links that work once, sessions, and tokens of forms."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from typing import TypeVar

from bopp.guard import Guard

LINK_SECONDS = 600.0  # that a link from a page is valid
FORM_SECONDS = 7 * 86_400.0  # that a form may stay open
MOST = 1000  # sessions, and links; the oldest give way
MOST_SPENT = 100_000  # tokens of forms that are remembered as used

T = TypeVar("T")


class Sessions:
    """The secrets of one server, in its memory alone."""

    def __init__(self) -> None:
        self._guard = Guard()
        self._secret = secrets.token_bytes(32)
        self._links: OrderedDict[str, float] = OrderedDict()  # until when each is valid
        self._sessions: OrderedDict[str, None] = OrderedDict()
        self._spent: OrderedDict[str, None] = OrderedDict()

    def link(self, seconds: float = LINK_SECONDS) -> str:
        """A new word that lets somebody in once."""
        word = secrets.token_urlsafe(32)
        with self._guard:
            _keep(self._links, _digest(word), time.monotonic() + seconds, MOST)
        return word

    def enter(self, word: str) -> str | None:
        """The key of a new session, in return for a word that was not used yet; else None."""
        with self._guard:
            until = self._links.pop(_digest(word), None)
            if until is None or time.monotonic() > until:
                return None
            session = secrets.token_urlsafe(32)
            _keep(self._sessions, _digest(session), None, MOST)
            return session

    def knows(self, session: str) -> bool:
        """Whether this is the key of a session."""
        with self._guard:
            return _digest(session) in self._sessions

    def token(self, session: str) -> str:
        """A token for one form of this session, to be used once."""
        said = f"{int(time.monotonic())}-{secrets.token_urlsafe(12)}"
        return f"{said}.{self._signed(session, said)}"

    def spend(self, session: str, token: str) -> bool:
        """Use a token up; false if it is not of this session, too old, or used before."""
        said, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signed(session, said).encode()):
            return False
        if time.monotonic() - int(said.partition("-")[0]) > FORM_SECONDS:
            return False
        with self._guard:
            if said in self._spent:
                return False
            _keep(self._spent, said, None, MOST_SPENT)
            return True

    def _signed(self, session: str, said: str) -> str:
        return hmac.new(self._secret, f"{session} {said}".encode(), hashlib.sha256).hexdigest()


def _digest(word: str) -> str:
    """A word as it is kept: hashed, so that the time of looking it up tells nothing."""
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()


def _keep(kept: OrderedDict[str, T], word: str, value: T, most: int) -> None:
    kept[word] = value
    while len(kept) > most:
        kept.popitem(last=False)
