"""The lab's server: this machine only, and only for who knows the secret that its address contains.

Another page that is open in the browser must neither read the lab nor run programs in it. So every path begins with the secret (a cookie
would be sent to servers on other ports too), a name that was made to lead here is refused by its `Host`, a foreign page by its `Origin`,
and the pages themselves may load nothing from elsewhere.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
import sys
import webbrowser
from collections.abc import Callable
from contextlib import AbstractContextManager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import pages
from .runner import Runner

LONGEST_REQUEST = 1 << 20  # bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Lab(ThreadingHTTPServer):
    """The server, listening as soon as it exists; `address` is what to open."""

    daemon_threads = True

    def __init__(self, port: int = 0, runner: Runner | None = None) -> None:
        self.secret = secrets.token_urlsafe(24)
        self.runner = Runner() if runner is None else runner
        self.own: dict[str, bytes] = {}  # files that take the place of the lab's own
        self.obeying: Callable[[str], AbstractContextManager[dict[str, Any]]] | None = None  # who obeys commands of a page, and answers
        super().__init__(("127.0.0.1", port), Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # the one between asks for this machine's name, which may take seconds

    @property
    def hosts(self) -> tuple[str, str]:
        port = self.server_address[1]
        return f"127.0.0.1:{port}", f"localhost:{port}"

    @property
    def address(self) -> str:
        return f"http://{self.hosts[0]}/{self.secret}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # who asked has gone to another page
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        self.runner.close()


class Handler(BaseHTTPRequestHandler):
    server: Lab
    protocol_version = "HTTP/1.1"
    server_version = "adjoint-lab"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        name = self.asked_for()
        if name is None:
            return
        if name == "":
            self.answer(HTTPStatus.FOUND, "text/plain", b"", Location=f"/{self.server.secret}/index.html")
        elif name in self.server.own:
            self.answer(HTTPStatus.OK, pages.TYPES[".js"], self.server.own[name])
        elif (found := pages.content(name, live=True)) is None:
            self.refuse(HTTPStatus.NOT_FOUND, f"The lab has no page {name!r}.")
        else:
            self.answer(HTTPStatus.OK, *found)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        name = self.asked_for()
        if name is None:
            return
        obeying = self.server.obeying if name == "debug" else None
        if name != "run" and obeying is None:
            return self.refuse(HTTPStatus.NOT_FOUND, "Programs are sent to 'run'.")
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            return self.refuse(HTTPStatus.LENGTH_REQUIRED, "How long is the program?")
        if not 0 <= length <= LONGEST_REQUEST:
            return self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The program is too long.")
        try:
            request = json.loads(self.rfile.read(length))
            if obeying is not None:
                with obeying(str(request["command"])) as answer:
                    return self.answer(HTTPStatus.OK, "application/json", json.dumps(answer).encode())
            code, trace = request["code"], request.get("trace", True)
        except (ValueError, TypeError, KeyError, AttributeError):
            code = trace = None
        if not isinstance(code, str) or not isinstance(trace, bool):
            return self.refuse(HTTPStatus.BAD_REQUEST, 'A program is sent as {"code": "..."}.')
        result = self.server.runner.run(code, trace=trace)
        self.answer(HTTPStatus.OK, "application/json", json.dumps(result).encode())

    def asked_for(self) -> str | None:
        """What follows the secret in the path; None after a request was refused that does not come from the lab's own pages."""
        hosts = self.server.hosts
        origin = self.headers.get("Origin")
        secret, _, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if self.headers.get("Host") not in hosts:
            why = f"The lab is at {hosts[0]} only."
        elif origin is not None and origin not in [f"http://{host}" for host in hosts]:
            why = "The lab answers its own pages only."
        elif not hmac.compare_digest(secret.encode(), self.server.secret.encode()):
            why = "Open the address that `python -m adjoint lab` printed: it contains the key to this lab."
        else:
            return name
        self.refuse(HTTPStatus.FORBIDDEN, why)
        return None

    def refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what was sent along has not been read
        self.answer(status, "text/plain; charset=utf-8", f"{why}\n".encode())

    def answer(self, status: HTTPStatus, kind: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in (HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for the address, and requests contain the secret."""


def serve(port: int = 0, browser: bool = True) -> int:
    """Serve the lab until Ctrl-C."""
    try:
        lab = Lab(port)
    except (OSError, OverflowError) as error:
        print(f"python -m adjoint lab: port {port} cannot be used ({error}); --port 0 takes a free one", file=sys.stderr)
        return 1
    with lab:
        try:
            print(f"The lab is at {lab.address}\nCtrl-C ends it.", flush=True)
            if browser:
                webbrowser.open(lab.address)
            lab.serve_forever()
        except KeyboardInterrupt:
            print("\nThe lab is closed.")
    return 0
