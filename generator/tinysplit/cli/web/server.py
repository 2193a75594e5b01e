"""A server for one user of this machine: on 127.0.0.1, with a token in its address, for its own page alone.

Other users of the machine do not know the token, and pages of other hosts in the same browser neither: requests that
name another host (DNS rebinding) or come from another origin are refused all the same.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from errno import EADDRINUSE
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from threading import Lock
from typing import Any, ClassVar

from typing_extensions import override

from tinysplit.common.errors import TinysplitError, ToolError

LOCALHOST = "127.0.0.1"
_MAX_REQUEST_BYTES = 1 << 16
_POLL_S = 0.2  # after which the server looks whether it is to end
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Site:
    """What is served: files by name with type and text, and functions of JSON, called one at a time."""

    files: Mapping[str, tuple[str, str]]
    functions: Mapping[str, Callable[[Any], dict[str, Any]]]


class Server(ThreadingHTTPServer):
    """Serves a site at `address` until the block ends that it is opened for."""

    daemon_threads = True
    timeout = _POLL_S

    def __init__(self, site: Site, port: int, remedy: str) -> None:
        """Take a TCP port, 0 for a free one. Raises ToolError with the remedy where it cannot be had."""
        self.site, self.token, self.lock = site, token_urlsafe(16), Lock()
        try:
            super().__init__((LOCALHOST, port), _Handler)
        except OSError as error:
            reason = "is in use" if error.errno == EADDRINUSE else f"cannot be opened ({error.strerror})"
            raise ToolError(f"TCP port {port} {reason}: {remedy}") from None
        self.hosts = {f"{name}:{self.server_port}" for name in (LOCALHOST, "localhost")}

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOCALHOST}:{self.server_port}/{self.token}/"

    def serve(self, is_stopped: Callable[[], bool]) -> None:
        """Answer requests until `is_stopped`."""
        while not is_stopped():
            self.handle_request()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout: ClassVar[float] = 10  # seconds: of a client that stays silent

    def do_GET(self) -> None:
        """Answer with a file."""
        name = self._name()
        found = self.server.site.files.get(name) if name is not None else None
        if found:
            self._answer(HTTPStatus.OK, *found)
        elif name is not None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def do_POST(self) -> None:
        """Answer with what a function returns, or with its error."""
        name = self._name()
        function = self.server.site.functions.get(name) if name is not None else None
        length = self.headers.get("Content-Length", "")
        if name is None:
            return
        if not function:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such function")
        elif self.headers.get_content_type() != "application/json" or not length.isdecimal():
            self._refuse(HTTPStatus.BAD_REQUEST, "expected JSON and its length")
        elif int(length) > _MAX_REQUEST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_MAX_REQUEST_BYTES} bytes")
        else:
            status, answer = self._called(function, self.rfile.read(int(length)))
            self._answer(status, "application/json", json.dumps(answer))

    def _called(self, function: Callable[[Any], dict[str, Any]], request: bytes) -> tuple[HTTPStatus, dict[str, Any]]:
        try:
            given = json.loads(request)
        except (ValueError, RecursionError):
            return HTTPStatus.BAD_REQUEST, {"error": "this is no JSON"}
        try:
            with self.server.lock:
                return HTTPStatus.OK, function(given)
        except TinysplitError as error:
            return HTTPStatus.UNPROCESSABLE_ENTITY, {"error": str(error)}

    def _name(self) -> str | None:
        """Return the name behind the token, None for a request that was refused."""
        _, token, *rest = (*self.path.split("/", 2), "")
        hosts = self.server.hosts
        if self.headers.get("Host") not in hosts:
            self._refuse(HTTPStatus.FORBIDDEN, "another host is named")
        elif self.headers.get("Origin", f"http://{next(iter(hosts))}") not in {f"http://{host}" for host in hosts}:
            self._refuse(HTTPStatus.FORBIDDEN, "the request comes from another page")
        elif not compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "the token is wrong: open the address that `tinysplit explore` printed")
        else:
            return rest[0]
        return None

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._answer(status, "text/plain", f"{why}\n")

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @override
    def version_string(self) -> str:
        return "tinysplit"

    @override
    def log_message(self, format: str, *args: Any) -> None:
        _log.debug("%s", format % args)
