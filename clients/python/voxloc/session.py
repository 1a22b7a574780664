# SPDX-License-Identifier: Apache-2.0
"""A vehicle's session: scans in, results out. For threads; voxloc.aio has it for asyncio."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator, Optional

import grpc

from voxloc import _session
from voxloc._procedure import blocking, run
from voxloc.errors import Error, SessionClosed
from voxloc.result import Result


class _Condition(threading.Condition):
    def wait_for(self, predicate: Callable[[], bool], timeout: Optional[float] = None) -> bool:
        with self:
            return super().wait_for(predicate, timeout)


class Session(_session.SessionBase):
    """Client.session opens it. All methods are safe from any thread, and none but `receive`,
    `receive_of`, `align` and `close` waits.

    Every scan that `send` has taken has exactly one result. Usually it is the server's answer;
    where the connection was lost and a newer scan was there, the session makes it itself (STALE).

    When the server becomes unavailable, the session opens again with growing waits, sends the
    newest unanswered scan once more, and gives scans without a guess the last accepted pose, or
    with `fusion` that of the filter, as theirs until a result has such a pose again. A server that refuses the new session because
    it is full, or does not have the map yet, is asked again. When the server drains, it answers
    what it has, and the session then opens again. So does one that the server has ended because it
    had nothing to send for long. Where the client has several addresses, the next one is tried at
    once; the session waits when all of them have refused. Any other error ends the session, such as
    UNAUTHENTICATED and PERMISSION_DENIED, as does the last failed attempt:
    `receive` then hands out what has arrived, and raises the error after that;
    `unanswered` are the scans that have no result. Poses and references that were sent before a
    reconnect are forgotten; an activation is repeated.

    As a context manager it is closed at the end, and cancelled where an exception leaves it.
    """

    def __init__(self, *arguments: Any):
        super().__init__(_Condition(), *arguments)
        self._thread = threading.Thread(target=lambda: run(self._serve()), name="voxloc session",
                                        daemon=True)
        self._thread.start()
        self._changed.wait_for(lambda: self._state.writable or self._state.ended)
        if self._state.end is not None:
            raise self._state.end

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.cancel()

    def __iter__(self) -> Iterator[Result]:
        """Results as they come, until the session is closed."""
        while True:
            try:
                yield self.receive()
            except SessionClosed:
                return

    receive = blocking(_session.receive)
    receive_of = blocking(_session.receive_of)
    align = blocking(_session.align)
    close = blocking(_session.close)

    def cancel(self) -> None:
        """Ends the session at once."""
        with self._changed:
            self._state.closing = True
            stream = self._stream
            self._changed.notify_all()
        if stream is not None:
            stream.cancel()
        self._thread.join()

    def _write(self, request: Optional[Any]) -> None:
        if request is None:
            self._stream.done_writing()
        else:
            self._stream.write(request)

    def _run_stream(self) -> Optional[Error]:
        with self._changed:
            if self._state.closing:
                return Error(grpc.StatusCode.CANCELLED,
                             "the session was closed while it reconnected")
            stream = self._stream = self._make_stream(self._state.route.index)
        late = threading.Event()

        def give_up() -> None:
            late.set()
            stream.cancel()

        timer = threading.Timer(self._open_timeout_s or 0.0, give_up)
        timer.daemon = True
        if self._open_timeout_s is not None:
            timer.start()
        try:
            stream.write(self._state.open_request)
            response = stream.read()
            timer.cancel()
            with self._changed:
                for request in self._state.stream_opened(response):
                    stream.write(request)
                if self._state.closing:
                    stream.done_writing()
                self._changed.notify_all()
            while True:
                response = stream.read()
                if response is None:
                    return None
                with self._changed:
                    if self._state.take(response):
                        stream.done_writing()
                    self._changed.notify_all()
        except Error as error:
            if late.is_set():
                return Error(grpc.StatusCode.DEADLINE_EXCEEDED,
                             f"{self._state.route.server} AlignScans: "
                             f"no answer to `open` in {self._open_timeout_s} s")
            return error
        finally:
            timer.cancel()
            stream.cancel()
