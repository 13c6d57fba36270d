"""Requests to a server: connections that are used again, TLS, uploads and downloads, and what is repeated."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import secrets
import socket
import ssl
import threading
import time
from contextlib import nullcontext
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, TypeVar, Union
from urllib.parse import quote, urlencode, urlsplit

from ._errors import ClusterError, InputError, InvalidResponseError, ResponseError, UnreachableError, UntrustedError
from ._pulse import Pulse
from ._version import API_VERSION, SERVER_VERSION

PathName = Union[str, "os.PathLike[str]"]
Done = TypeVar("Done")

#: Seconds without a byte.
TIMEOUT = 30.0
#: Seconds for which a server is waited for that answers nothing at all, where another one may be asked instead.
FIRST_BYTE = 5.0
#: Seconds for which a server that has answered before may be away.
PATIENCE = 60.0
CHUNK = 256 * 1024
#: Servers close connections that are idle; younger ones are used again, so many of them at most.
IDLE = 4.0
KEPT = 8

#: What a server says that does not lead, is about to end, or is cut off from a store that others may reach.
ELSEWHERE = ("standing_by", "draining", "store_unavailable")

#: What may be sent twice without doing anything twice.
_REPEATABLE = {"/v1/jobs/{id}/cancel", "/v1/artifacts"}


class JsonText(str):
    """A body that is JSON text already, and is sent as it is: numbers stay as they were written."""


class Reply(NamedTuple):
    status: int
    headers: Dict[str, str]
    body: bytes


class Download:
    """An answer that is read while it comes. Close it, or use it in a `with` statement."""

    def __init__(self, answer: http.client.HTTPResponse, connection: http.client.HTTPConnection) -> None:
        self.status = answer.status
        self.headers = _lower(answer)
        self._answer = answer
        self._connection = connection

    def chunks(self) -> Iterator[bytes]:
        """The bytes; raises `UnreachableError` when the connection breaks before the last of them."""
        got = 0
        while True:
            try:
                chunk = self._answer.read(CHUNK)
            except (OSError, http.client.HTTPException) as error:
                raise _broken_off(got, _words(error)) from error
            if not chunk:
                break
            got += len(chunk)
            yield chunk
        if self._answer.length:
            raise _broken_off(got, "the connection was closed")

    def close(self) -> None:
        self._answer.close()
        self._connection.close()

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(NamedTuple):
    url: str
    host: str
    port: Optional[int]
    base: str


class _Connection(NamedTuple):
    http: http.client.HTTPConnection
    server: _Server
    since: float


class Transport:
    """Sends the requests of a client. May be used by several threads at the same time."""

    def __init__(self, server: str, token: Optional[str], ca: Optional[PathName]) -> None:
        # Of servers that stand by for each other, the first is the one that answered last.
        self._servers = [_address(one) for one in server.split(",")]
        self._token = _token(token)
        self._tls = _context(ca) if any(one.url.startswith("https:") for one in self._servers) else None
        self._idle: List[_Connection] = []
        self._lock = threading.Lock()
        self._met = False

    @property
    def server(self) -> str:
        """The address that is asked at present."""
        return self._servers[0].url

    # What the methods of `Api` call.

    def json(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        query: Mapping[str, object],
        body: object = None,
    ) -> Any:
        """The answer as JSON."""
        return parsed(self.text(method, path, params, query, body), self.server)

    def text(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        query: Mapping[str, object],
        body: object = None,
    ) -> str:
        """The answer as text, numbers as they were written."""
        content = None if body is None else (body if isinstance(body, JsonText) else dumps(body)).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        repeats = method == "GET" or path in _REPEATABLE or (path == "/v1/jobs" and _has_key(body))
        target = self._target(path, params, query)
        hurries = method == "GET"
        reply = self._repeated(
            lambda others: self._exchange(method, target, headers, content, repeats, others and hurries), repeats
        )
        return reply.body.decode("utf-8", "replace")

    def upload(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        query: Mapping[str, object],
        file: PathName,
        filename: Optional[str] = None,
    ) -> Any:
        """Sends a file as the part `file` of a multipart body, in pieces."""
        boundary = "jq-" + secrets.token_hex(16)
        name = re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", "_", filename or os.path.basename(os.fspath(file)))
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name.replace(chr(34), "%22")}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        tail = f"\r\n--{boundary}--\r\n".encode()
        headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(head) + os.path.getsize(file) + len(tail)),
        }

        def pieces() -> Iterator[bytes]:
            yield head
            with open(file, "rb") as opened:
                yield from iter(lambda: opened.read(CHUNK), b"")
            yield tail

        target = self._target(path, params, query)
        reply = self._repeated(
            lambda _: self._exchange(method, target, headers, pieces(), False, False), path in _REPEATABLE
        )
        return parsed(reply.body.decode("utf-8", "replace"), self.server)

    def download(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        query: Mapping[str, object],
        range: Optional[str] = None,
    ) -> Download:
        """The answer while it comes, on a connection of its own."""
        headers = {} if range is None else {"Range": range}
        target = self._target(path, params, query)

        def open_one(others: bool) -> Download:
            connection = self._connect()
            answer = self._answer(connection, method, target, headers, None, others)
            download = Download(answer, connection.http)
            if answer.status >= 400:
                with download:
                    self._assert_done(answer, lambda: answer.read(CHUNK))
            return download

        return self._repeated(open_one, True)

    def has(self, path: str, params: Mapping[str, str]) -> bool:
        """Whether there is something at this path."""
        target = self._target(path, params, {})
        try:
            self._repeated(lambda others: self._exchange("HEAD", target, {}, None, True, others), True)
            return True
        except ResponseError as error:
            if error.status in (404, 410):
                return False
            raise

    def close(self) -> None:
        """Ends the connections that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.http.close()

    def __del__(self) -> None:
        if hasattr(self, "_idle"):
            self.close()

    # Within.

    def _target(self, path: str, params: Mapping[str, str], query: Mapping[str, object]) -> str:
        filled = re.sub(r"\{(\w+)\}", lambda found: quote(params[found[1]], safe=""), path)
        given = {key: _in_query(value) for key, value in query.items() if value is not None}
        return filled + (f"?{urlencode(given)}" if given else "")

    def _repeated(self, send: Callable[[bool], Done], repeats: bool) -> Done:
        """What was lost is sent again for a while, where it may be; so is what a busy server asks for again.

        `send` is told whether there is another server to ask.
        """
        began = time.monotonic()
        pause = 0.2
        others = len(self._servers) - 1
        while True:
            server = self._servers[0]
            try:
                done = send(others > 0)
                self._met = True
                return done
            except ResponseError as error:
                self._met = True
                # After a 503 of the server nothing was accepted; what stands before it says less with its own, 502 and 504.
                again = error.status == 503 if error.is_named else repeats and error.status in (502, 503, 504)
                if not again or time.monotonic() - began > PATIENCE:
                    raise
                wait = error.retry_after if error.retry_after is not None else pause
                elsewhere = error.code in ELSEWHERE
                if elsewhere:
                    self._leave(server)
            except UnreachableError:
                self._leave(server)
                elsewhere = True
                is_over = not self._met or time.monotonic() - began > PATIENCE
                if not repeats or (is_over and not others):
                    raise
                wait = pause
            if elsewhere and others:
                others -= 1
                continue
            others = len(self._servers) - 1
            time.sleep(min(wait, 10.0) * (0.75 + random.random() / 2))
            pause = min(pause * 2, 5.0)

    def _exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: Any, reuse: bool, hurries: bool
    ) -> Reply:
        """One request and its whole answer; on a used connection only where it may be repeated."""
        while True:
            used = self._take() if reuse else None
            connection = used or self._connect()
            try:
                answer = self._answer(connection, method, target, headers, body, hurries)
                content = answer.read()
            except (OSError, http.client.HTTPException, UnreachableError) as error:
                connection.http.close()
                # The server closed the idle connection just as the request went out; a new one will do.
                if used is not None:
                    continue
                raise error if isinstance(error, ClusterError) else unreachable(connection.server.url, error) from error
            if answer.will_close:
                connection.http.close()
            else:
                self._give_back(connection)
            self._assert_done(answer, lambda: content)
            return Reply(answer.status, _lower(answer), content)

    def _answer(
        self,
        connection: _Connection,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Any,
        hurries: bool,
    ) -> http.client.HTTPResponse:
        url = connection.server.url
        pulse = Pulse(connection.http, lambda: self._is_there(connection.server), FIRST_BYTE)
        watches = not hurries and len(self._servers) > 1
        try:
            if connection.http.sock is None:
                connection.http.connect()
            # The connection gives it up where it ends with the answer.
            sock = connection.http.sock
            sock.settimeout(TIMEOUT)
            with pulse if watches else nullcontext():
                try:
                    path = connection.server.base + target
                    connection.http.request(method, path, body, {**self._headers(), **headers})
                except (BrokenPipeError, ConnectionResetError):
                    # Who refuses a body before its end answers, and hangs up.
                    pass
                if hurries:
                    sock.settimeout(FIRST_BYTE)
                answer = connection.http.getresponse()
            if hurries and sock.fileno() != -1:
                sock.settimeout(TIMEOUT)
            return answer
        except (OSError, http.client.HTTPException) as error:
            connection.http.close()
            if pulse.is_gone:
                raise UnreachableError(f"cannot reach {url} (it answers nothing any more)") from error
            raise unreachable(url, error) from error

    def _is_there(self, server: _Server) -> bool:
        """Whether a server answers at all, whatever it says."""
        asked = self._connection_to(server)
        try:
            asked.request("GET", f"{server.base}/healthz", headers=self._headers())
            asked.getresponse().read()
            return True
        except (OSError, http.client.HTTPException):
            return False
        finally:
            asked.close()

    def _assert_done(self, answer: http.client.HTTPResponse, read: Callable[[], bytes]) -> None:
        if answer.status < 400:
            return
        said: Any = None
        try:
            said = json.loads(read())
        except ValueError:
            pass
        body = said if isinstance(said, dict) else {"detail": f"{self.server} answered {answer.status} {answer.reason}"}
        raise ResponseError(answer.status, body, _lower(answer))

    def _headers(self) -> Dict[str, str]:
        headers = {
            "X-CLUSTER-Version": SERVER_VERSION,
            "X-CLUSTER-Api": str(API_VERSION),
            "X-CLUSTER-Role": "client",
            "User-Agent": f"jq-cluster-python/{SERVER_VERSION}",
        }
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _connect(self) -> _Connection:
        server = self._servers[0]
        return _Connection(self._connection_to(server), server, time.monotonic())

    def _connection_to(self, server: _Server) -> http.client.HTTPConnection:
        """One that is not open yet, and waits no longer for that than for a first byte."""
        if server.url.startswith("https:"):
            return http.client.HTTPSConnection(server.host, server.port, timeout=FIRST_BYTE, context=self._tls)
        return http.client.HTTPConnection(server.host, server.port, timeout=FIRST_BYTE)

    def _leave(self, server: _Server) -> None:
        """Asks the next one from now on, unless another thread does so already."""
        with self._lock:
            if self._servers[0] == server:
                self._servers = self._servers[1:] + self._servers[:1]

    def _take(self) -> Optional[_Connection]:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if connection.server == self._servers[0] and time.monotonic() - connection.since < IDLE:
                    return connection
                connection.http.close()
        return None

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            self._idle.append(connection._replace(since=time.monotonic()))
            superfluous = self._idle[:-KEPT]
            del self._idle[:-KEPT]
        for old in superfluous:
            old.http.close()


def parsed(text: str, server: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidResponseError(f"{server} answered no JSON; is it the address of a jq-cluster server?") from None


def dumps(value: object) -> JsonText:
    """JSON as Python writes it; numbers and arrays of numpy are written as what they hold."""
    try:
        return JsonText(json.dumps(value, allow_nan=False, default=_plain, separators=(",", ":")))
    except ValueError as error:
        raise InputError(f"what is sent holds a number that JSON does not have, or holds itself ({error})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise InputError(f"{type(value).__name__} cannot be sent: {value!r} has no form in JSON")


def unreachable(server: str, error: BaseException) -> ClusterError:
    """What a fault of the connection means."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return UntrustedError(f"{server} is not trusted: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        return UnreachableError(f"cannot reach {server} (it speaks no TLS there; did you mean http://?)")
    return UnreachableError(f"cannot reach {server} ({_words(error)})")


def _broken_off(got: int, why: str) -> UnreachableError:
    return UnreachableError(f"the download broke off after {got} bytes ({why})")


def _words(error: BaseException) -> str:
    if isinstance(error, socket.timeout):
        return "it answers nothing"
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__


def _address(text: str) -> _Server:
    parts = urlsplit(text.strip())
    guess = f"; did you mean http://{text}?" if re.fullmatch(r"[\w.-]+(:\d+)?", text) else ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"'{text}' is not an http address, such as http://127.0.0.1:8765{guess}")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise InputError(f"'{text}' must be scheme, host, port and path alone")
    base = parts.path.rstrip("/")
    return _Server(f"{parts.scheme}://{parts.netloc}{base}", parts.hostname, parts.port, base)


def _token(token: Optional[str]) -> Optional[str]:
    if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token):
        raise InputError("the token is empty or holds spaces or characters beyond ASCII")
    return token


def _context(ca: Optional[PathName]) -> ssl.SSLContext:
    """@param ca certificates in PEM that alone vouch for the server; None: those of the system"""
    try:
        context = ssl.create_default_context(cafile=None if ca is None else os.fspath(ca))
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{ca} holds no certificates in PEM ({error})") from None
    if ca is not None:
        # Since 3.13 an authority of one's own has to say in its certificate what its key is for; those of labs seldom do.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _in_query(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _has_key(body: object) -> bool:
    found = json.loads(body) if isinstance(body, JsonText) else body
    return isinstance(found, dict) and bool(found.get("idempotency_key"))


def _lower(answer: http.client.HTTPResponse) -> Dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}
