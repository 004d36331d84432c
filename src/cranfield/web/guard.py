"""Who is answered at all: the right Host, no foreign Origin, the token where there is one, and bodies with an end."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from cranfield.web.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SAFE = ("GET", "HEAD", "OPTIONS")
SLOWEST = 10_000  # bytes per second of an upload or of an answer, less the time that it may pause
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class Guard:
    """Stands before the pages."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets here
        headers = _Headers(scope)
        why = self._refusal(scope, headers)
        if why is not None:
            await _plain(send, 403, why)
            return
        if not self._is_known(headers):
            await self._let_in(scope, send)
            return
        # Without a body, whoever asked is watched: they may go before the answer.
        bounded = receive if scope["method"] in SAFE else self._bounded(scope, headers, receive, send)
        await self._app(scope, bounded, _with_headers(send))

    def _refusal(self, scope: Scope, headers: _Headers) -> str | None:
        hosts = headers.all("host")
        name = urlsplit(f"//{hosts[0]}").hostname if len(hosts) == 1 and _parses(hosts[0]) else None
        if name is None or not self._settings.answers_to(name):
            return "This server does not go by that name. Use the address it printed when it was started.\n"
        origin = headers.one("origin")
        if origin is not None and (not _parses(origin) or urlsplit(origin).netloc.lower() != hosts[0].lower()):
            return "Another site asked for this. Only this server's own pages may.\n"
        site = headers.one("sec-fetch-site")
        if origin is None and site not in (None, "same-origin", "none") and not _is_link_to_a_page(scope, headers):
            return "Another site asked for this. Only this server's own pages may; paste the address to open it.\n"
        return None

    # --- the token

    def _is_known(self, headers: _Headers) -> bool:
        if self._settings.token is None:
            return True
        given = (headers.one("authorization") or "").removeprefix("Bearer ")
        return _same(given, self._settings.token) or _same(headers.cookie(self._cookie), self._ticket)

    async def _let_in(self, scope: Scope, send: Send) -> None:
        """A link with the right token becomes a cookie, and the token leaves the address."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in pairs if name == "token"), "")
        if scope["method"] != "GET" or not _same(given, self._settings.token or ""):
            text = (
                "A token is needed: open the link that was printed when the server was started,\n"
                "or send the header Authorization: Bearer TOKEN.\n"
            )
            await _plain(send, 401, text, ("www-authenticate", "Bearer"))
            return
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # never //somewhere, which would be another machine
        location = quote("/" + scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
        cookie = f"{self._cookie}={self._ticket}; HttpOnly; SameSite=Lax; Path=/"
        await _plain(send, 303, "", ("location", location), ("set-cookie", cookie))

    @property
    def _cookie(self) -> str:
        return f"cranfield_{self._settings.port}"  # cookies do not distinguish ports

    @property
    def _ticket(self) -> str:
        return hashlib.sha256(f"cranfield {self._settings.token}".encode()).hexdigest()

    # --- bodies

    def _bounded(self, scope: Scope, headers: _Headers, receive: Receive, send: Send) -> Receive:
        """``receive``, which ends a body that is too long or does not come."""
        length = headers.one("content-length") or ""
        most = self._settings.max_upload
        got, whole, began = 0, False, asyncio.get_running_loop().time()

        async def bounded() -> Message:
            nonlocal got, whole
            if whole:
                return await receive()
            late = asyncio.get_running_loop().time() - began - got / SLOWEST
            if length.isdecimal() and int(length) > most:
                raise BodyError(413, f"more than {most / 1e6:,.0f} MB cannot be uploaded at once")
            try:
                message = await asyncio.wait_for(receive(), self._settings.idle - max(0.0, late))
            except TimeoutError:
                raise BodyError(408, "the upload stopped coming") from None
            got += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if got > most:
                raise BodyError(413, f"more than {most / 1e6:,.0f} MB cannot be uploaded at once")
            return message

        return bounded


class BodyError(Exception):
    """A body that is not taken."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]

    def all(self, name: str) -> list[str]:
        return [value for each, value in self._pairs if each == name]

    def one(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)

    def cookie(self, name: str) -> str:
        try:
            found = SimpleCookie("; ".join(self.all("cookie"))).get(name)
        except CookieError:
            return ""
        return "" if found is None else found.value


def _is_link_to_a_page(scope: Scope, headers: _Headers) -> bool:
    """Whether somebody follows another site's link to a page that asks nothing, and so cannot be made to compute."""
    opened = scope["method"] in SAFE and headers.one("sec-fetch-dest") == "document"
    return opened and not scope["query_string"] and "/" not in scope["path"][1:] and "." not in scope["path"]


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _parses(text: str) -> bool:
    try:
        return urlsplit(text if "//" in text else f"//{text}").hostname is not None
    except ValueError:
        return False


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            extra = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in there]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return sending


async def _plain(send: Send, status: int, text: str, *more: tuple[str, str]) -> None:
    headers = [("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(text.encode()))), *more]
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": text.encode()})
