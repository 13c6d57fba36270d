"""Notices that a server is gone while an answer of it is waited for."""

from __future__ import annotations

import http.client
import socket
import threading
from types import TracebackType
from typing import Callable, Optional, Type


class Pulse:
    """Asks beside a request, again and again, whether its server is there: one that is stopped, or whose machine is gone, takes
    requests and answers none, while who only takes its time answers others. The connection of one that is gone is ended.
    """

    def __init__(self, connection: http.client.HTTPConnection, is_there: Callable[[], bool], seconds: float) -> None:
        self._connection = connection
        self._is_there = is_there
        self._seconds = seconds
        self._over = threading.Event()
        #: Whether it was.
        self.is_gone = False

    def __enter__(self) -> "Pulse":
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._over.set()

    def _watch(self) -> None:
        sock = self._connection.sock
        while not self._over.wait(self._seconds):
            if self._is_there():
                continue
            if not self._over.is_set():
                self.is_gone = True
                try:
                    # That of a socket of TLS would say farewell, and wait.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
                except OSError:
                    pass
            return
