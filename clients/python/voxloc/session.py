# SPDX-License-Identifier: Apache-2.0
"""A vehicle's session: scans in, results out. For threads; voxloc.aio has it for asyncio."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator, List, Optional

import grpc
import numpy as np

from voxloc import messages
from voxloc._route import Addresses, ReconnectOptions
from voxloc._session_state import (SessionFacts, SessionState, activate_request, no_result,
                                   pose_request, reference_request)
from voxloc.errors import Error, NoResult, SessionClosed
from voxloc.pose import Numbers, Pose
from voxloc.result import Result
from voxloc.scan import Scan


class Session(SessionFacts):
    """Client.session opens it. All methods are safe from any thread, and none but `receive`,
    `receive_of`, `align` and `close` waits.

    Every scan that `send` has taken has exactly one result. Usually it is the server's answer;
    where the connection was lost and a newer scan was there, the session makes it itself (STALE).

    When the server becomes unavailable, the session opens again with growing waits, sends the
    newest unanswered scan once more, and gives scans without a guess the last accepted pose as
    theirs until the new session has accepted a scan. A server that refuses the new session because
    it is full, or does not have the map yet, is asked again. When the server drains, it answers
    what it has, and the session then opens anew. So does one that the server has ended because it
    had nothing to send for long. Where the client has several addresses, the next one is tried at
    once; the session waits when all of them have refused. Any other error ends the session, such as
    UNAUTHENTICATED and PERMISSION_DENIED, as does the last failed attempt:
    `receive` then hands out what has arrived, and raises the error after that;
    `unanswered` are the scans that have no result. Poses and references that were sent before a
    reconnect are forgotten; an activation is repeated.

    As a context manager it is closed at the end, and cancelled where an exception leaves it.
    """

    def __init__(self, make_stream: Callable[[int], Any], addresses: Addresses, open_message: Any,
                 open_timeout_s: Optional[float], reconnect: ReconnectOptions,
                 max_outstanding: int):
        self._make_stream = make_stream
        self._open_timeout_s = open_timeout_s
        self._state = SessionState(addresses, open_message, reconnect, max_outstanding)
        self._changed = threading.Condition()  # guards the state and the stream
        self._stream: Any = None
        self._cancelled = False
        self._thread = threading.Thread(target=self._run, name="voxloc session", daemon=True)
        self._thread.start()
        with self._changed:
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

    @property
    def unanswered(self) -> List[int]:
        """Sequences of the scans that have no result."""
        with self._changed:
            return list(self._state.unanswered)

    def send(self, scan: Scan) -> int:
        """Hands a scan over and does not wait; its sequence number, counted from 1.

        ValueError: malformed, or over the server's message limit. Error RESOURCE_EXHAUSTED: too
        many outstanding. Otherwise what ended the session.
        """
        message = messages.AlignScansRequest(scan=scan.to_message())
        with self._changed:
            request = self._state.add_scan(message)
            if self._state.writable:
                self._stream.write(request)
            self._changed.notify_all()  # an older scan may have been given up
            return message.scan.sequence

    def send_pose(self, stamp_ns: int, map_T_base: Pose,
                  covariance: Optional[np.ndarray] = None) -> None:
        """A pose from odometry or a filter, for guesses. Dropped while the session reconnects."""
        self._write(pose_request(stamp_ns, map_T_base, covariance))

    def send_reference(self, stamp_ns: int, position_map: Numbers) -> None:
        """A reference position such as GNSS, for the regularization. Dropped likewise."""
        self._write(reference_request(stamp_ns, position_map))

    def activate(self, active: bool = True) -> None:
        """Activates or deactivates the session for the scans sent from now on."""
        self._write(activate_request(active))

    def take_rejection(self) -> Optional[Any]:
        """The oldest RequestRejected of a message that the server has not taken; each once."""
        with self._changed:
            return self._state.rejections.popleft() if self._state.rejections else None

    def receive(self, timeout_s: Optional[float] = None) -> Result:
        """The next result, in the order of completion.

        NoResult: none in time. SessionClosed: none will come. Otherwise what ended the session.
        """
        return self._receive(None, timeout_s)

    def receive_of(self, sequence: int, timeout_s: Optional[float] = None) -> Result:
        """The result of one scan; others stay for later calls."""
        return self._receive(sequence, timeout_s)

    def align(self, scan: Scan, timeout_s: Optional[float] = None) -> Result:
        """Sends a scan and waits for its result."""
        return self.receive_of(self.send(scan), timeout_s)

    def close(self, timeout_s: Optional[float] = 10.0) -> None:
        """Ends the session once the server has answered every scan; results that have arrived can
        still be received. Raises what ended it instead, and NoResult, after cancelling, where that
        takes longer."""
        with self._changed:
            if not self._state.closing:
                self._state.closing = True
                if self._state.writable:
                    self._stream.done_writing()
                self._changed.notify_all()
            in_time = self._changed.wait_for(lambda: self._state.ended, timeout_s)
        if not in_time:
            self.cancel()
            raise NoResult(grpc.StatusCode.DEADLINE_EXCEEDED, f"{self._state.server} AlignScans: "
                           f"the session did not end in {timeout_s} s")
        if self._state.end is not None:
            raise self._state.end

    def cancel(self) -> None:
        """Ends the session at once."""
        with self._changed:
            self._state.closing = self._cancelled = True
            stream = self._stream
            self._changed.notify_all()
        if stream is not None:
            stream.cancel()
        self._thread.join()

    def _write(self, request: Any) -> None:
        with self._changed:
            self._state.add_message(request)
            if self._state.writable:
                self._stream.write(request)

    def _receive(self, sequence: Optional[int], timeout_s: Optional[float]) -> Result:
        found: List[Result] = []

        def arrived() -> bool:
            result = self._state.find(sequence)
            if result is not None:
                found.append(result)
            return result is not None or self._state.ended

        with self._changed:
            if not self._changed.wait_for(arrived, timeout_s):
                raise NoResult(grpc.StatusCode.DEADLINE_EXCEEDED,
                               no_result(self._state.server, sequence, timeout_s or 0.0))
            if found:
                return found[0]
            raise self._state.end_of_results()

    def _run(self) -> None:
        while True:
            try:
                error = self._serve_one_stream()
            except Exception as fault:  # such as a channel that was closed
                error = Error(grpc.StatusCode.CANCELLED, f"{self._state.server} AlignScans: "
                              f"{fault}")
            with self._changed:
                wait_s = self._state.stream_ended(error)
                self._changed.notify_all()
                if wait_s is None:
                    return
                if self._changed.wait_for(lambda: self._state.closing, wait_s):
                    self._state.finish(error)
                    self._changed.notify_all()
                    return

    def _serve_one_stream(self) -> Optional[Error]:
        with self._changed:
            if self._state.closing:
                return Error(grpc.StatusCode.CANCELLED,
                             "the session was closed while it reconnected")
            stream = self._stream = self._make_stream(self._state.index)
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
                return Error(grpc.StatusCode.DEADLINE_EXCEEDED, f"{self._state.server} AlignScans:"
                             f" no answer to `open` in {self._open_timeout_s} s")
            return error
        finally:
            timer.cancel()
            stream.cancel()
