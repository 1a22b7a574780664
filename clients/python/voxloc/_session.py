# SPDX-License-Identifier: Apache-2.0
"""What the sessions for threads and for asyncio have in common: how they are used, and how they go
from stream to stream. Methods that wait are procedures."""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable, List, Optional

import grpc
import numpy as np

from voxloc import messages
from voxloc._procedure import Procedure
from voxloc._route import Addresses, ReconnectOptions
from voxloc._session_state import SessionState
from voxloc.errors import Error, NoResult
from voxloc.pose import Numbers, Pose
from voxloc.result import Result
from voxloc.scan import Scan, encode_pose_with_covariance, encode_vector


def _state(name: str, doc: str) -> Any:
    """A property: an attribute of the session's state."""
    return property(operator.attrgetter(f"_state.{name}"), doc=doc)


class SessionBase:
    """`changed` guards the state and the stream; it is entered, notified and waited for as
    threading.Condition is, but `wait_for` is called without the lock."""

    # Of the sessions: serves one stream, until it ends; hands a message to the open stream, None
    # half-closes it; ends the session at once.
    _run_stream: Any
    _write: Callable[[Any], None]
    cancel: Any

    def __init__(self, changed: Any, make_stream: Callable[[int], Any], addresses: Addresses,
                 open_message: Any, open_timeout_s: Optional[float], reconnect: ReconnectOptions,
                 max_outstanding: int):
        self._changed = changed
        self._make_stream = make_stream
        self._open_timeout_s = open_timeout_s
        self._state = SessionState(addresses, open_message, reconnect, max_outstanding)
        self._stream: Any = None

    def __repr__(self) -> str:
        setup = self._state.open_request.open.setup
        return f"<Session on map {setup.map} at {self._state.route.server}>"

    opened: Any = _state(
        "opened", "SessionOpened: what the server said when the session was last opened.")
    reconnects: int = _state("reconnects", "How often the session was opened again.")
    unexpected_results: int = _state(
        "unexpected_results", "Results that no scan was waiting for. They are dropped.")
    given_up: int = _state("given_up", "Scans whose result the session made itself.")
    draining: Optional[Any] = _state(
        "draining", "SessionDraining, once the server asks the client to go elsewhere.")

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
                self._write(request)
            self._changed.notify_all()  # an older scan may have been given up
            return message.scan.sequence

    def send_pose(self, stamp_ns: int, map_T_base: Pose,
                  covariance: Optional[np.ndarray] = None) -> None:
        """A pose from odometry or a filter, for guesses. Dropped while the session reconnects."""
        pose = encode_pose_with_covariance(map_T_base, covariance)
        self._send(pose=messages.PoseSample(stamp_ns=stamp_ns, map_t_base=pose))

    def send_reference(self, stamp_ns: int, position_map: Numbers) -> None:
        """A reference position such as GNSS, for the regularization. Dropped likewise."""
        position = encode_vector(position_map)
        self._send(reference=messages.ReferenceSample(stamp_ns=stamp_ns, position=position))

    def activate(self, active: bool = True) -> None:
        """Activates or deactivates the session for the scans sent from now on."""
        self._send(activate=messages.ActivateSession(active=active))

    def take_rejection(self) -> Optional[Any]:
        """The oldest RequestRejected of a message that the server has not taken; each once."""
        with self._changed:
            return self._state.rejections.popleft() if self._state.rejections else None

    def _send(self, **field: Any) -> None:
        request = messages.AlignScansRequest(**field)
        with self._changed:
            self._state.add_message(request)
            if self._state.writable:
                self._write(request)

    def _serve(self) -> Procedure[None]:
        """One stream after another, until the session has ended."""
        while True:
            try:
                error = yield self._run_stream
            except Exception as fault:  # such as a channel that was closed
                error = Error(grpc.StatusCode.CANCELLED, f"{self._state.route.server} AlignScans: "
                              f"{fault}")
            with self._changed:
                wait_s = self._state.stream_ended(error)
                self._changed.notify_all()
            if wait_s is not None:
                if not (yield self._until(lambda: self._state.closing, wait_s)):
                    continue
                with self._changed:
                    self._state.finish(error)
                    self._changed.notify_all()
            return

    def _until(self, predicate: Callable[[], bool], timeout_s: Optional[float]) -> Any:
        """A step that waits until the predicate holds; false: not in time."""
        return functools.partial(self._changed.wait_for, predicate, timeout_s)


def receive(self: SessionBase, timeout_s: Optional[float] = None) -> Procedure[Result]:
    """The next result, in the order of completion.

    NoResult: none in time. SessionClosed: none will come. Otherwise what ended the session.
    """
    return _receive(self, None, timeout_s)


def receive_of(self: SessionBase, sequence: int,
               timeout_s: Optional[float] = None) -> Procedure[Result]:
    """The result of one scan; others stay for later calls."""
    return _receive(self, sequence, timeout_s)


def align(self: SessionBase, scan: Scan, timeout_s: Optional[float] = None) -> Procedure[Result]:
    """Sends a scan and waits for its result."""
    return _receive(self, self.send(scan), timeout_s)


def close(self: SessionBase, timeout_s: Optional[float] = 10.0) -> Procedure[None]:
    """Ends the session once the server has answered every scan; results that have arrived can
    still be received. Raises what ended it instead, and NoResult, after cancelling, where that
    takes longer."""
    with self._changed:
        if not self._state.closing:
            self._state.closing = True
            if self._state.writable:
                self._write(None)
            self._changed.notify_all()
    if not (yield self._until(lambda: self._state.ended, timeout_s)):
        yield self.cancel
        raise NoResult(grpc.StatusCode.DEADLINE_EXCEEDED, f"{self._state.route.server} AlignScans: "
                       f"the session did not end in {timeout_s} s")
    if self._state.end is not None:
        raise self._state.end


def _receive(self: SessionBase, sequence: Optional[int],
             timeout_s: Optional[float]) -> Procedure[Result]:
    found: List[Result] = []

    def arrived() -> bool:
        result = self._state.find(sequence)
        if result is not None:
            found.append(result)
        return result is not None or self._state.ended

    if not (yield self._until(arrived, timeout_s)):
        of = "" if sequence is None else f" of scan {sequence}"
        raise NoResult(grpc.StatusCode.DEADLINE_EXCEEDED, f"{self._state.route.server} AlignScans: "
                       f"no result{of} in {timeout_s or 0.0} s")
    if found:
        return found[0]
    raise self._state.end_of_results()
