# SPDX-License-Identifier: Apache-2.0
"""The state of a session, for threads and for asyncio: no I/O, no locks.

The rules are those of the C++ client (clients/cpp/session.h).
"""

from __future__ import annotations

import collections
from typing import Any, Deque, Dict, List, Optional

import grpc

from voxloc import messages
from voxloc._route import Addresses, ReconnectOptions, SessionReconnectPolicy
from voxloc.errors import Error, SessionClosed, broken_protocol
from voxloc.result import Result

_MAX_REJECTIONS = 64


class SessionState:
    """Unanswered scans, results, and what a reconnect needs."""

    def __init__(self, addresses: Addresses, open_message: Any, reconnect: ReconnectOptions,
                 max_outstanding: int):
        self.route = SessionReconnectPolicy(addresses, reconnect)  # of the stream, or the next one
        self.open_request = messages.AlignScansRequest(open=open_message)
        self.opened: Optional[Any] = None  # the last answer to `open`
        self.writable = False  # a stream is open, and unanswered scans have been sent again
        self.closing = False
        self.ended = False
        self.end: Optional[Error] = None  # what ended the session; None: it was closed
        self.reconnects = 0
        self.unexpected_results = 0
        self.given_up = 0  # scans whose result the session made itself
        self.unanswered: Dict[int, Any] = {}
        self.results: Deque[Result] = collections.deque()
        self.rejections: Deque[Any] = collections.deque(maxlen=_MAX_REJECTIONS)
        self.draining: Optional[Any] = None  # the server's last SessionDraining
        # Set while the server drains: it answers the scans that it has and accepts no new ones.
        self._drain_wait_s: Optional[float] = None
        self._max_outstanding = max_outstanding
        self._last_sequence = 0
        self._activation: Optional[Any] = None
        self._last_pose: Optional[Any] = None  # by the session's filter, or accepted
        self._guess_from_last_pose = False  # since a reconnect, until there is such a pose
        self._was_open = False  # the stream

    def add_scan(self, request: Any) -> Any:
        """Takes a message with a scan, and numbers it; the one to write if the stream is
        writable."""
        self.check_open()
        limit = self.opened.max_message_bytes if self.opened is not None else 0
        size = request.ByteSize()
        if limit and size > limit:
            raise ValueError(f"the scan must take at most {limit} bytes, the message limit of "
                             f"{self.route.server} (got {size})")
        if len(self.unanswered) + len(self.results) >= self._max_outstanding:
            raise Error(grpc.StatusCode.RESOURCE_EXHAUSTED,
                        f"{self._max_outstanding} scans are unanswered or have not been received")
        self._last_sequence += 1
        request.scan.sequence = self._last_sequence
        self.unanswered[self._last_sequence] = request
        if not self.writable and self._drain_wait_s is None:
            self._abandon_scans_before(self._last_sequence)
        return self._with_guess(request)

    def add_message(self, request: Any) -> Any:
        """Takes any other message; returns the one to write."""
        self.check_open()
        if request.HasField("activate"):
            self._activation = request
        return request

    def check_open(self) -> None:
        """Raises where nothing can be sent."""
        if self.ended:
            raise self.end_of_results()
        if self.closing:
            raise Error(grpc.StatusCode.FAILED_PRECONDITION, "the session is being closed")

    def stream_opened(self, response: Optional[Any]) -> List[Any]:
        """The first answer of a stream; what is to be written before anything else."""
        if response is None or not response.HasField("opened"):
            raise broken_protocol(self.route.server, "AlignScans",
                                  "`open` was not answered by `opened`")
        if self.opened is not None:
            self.reconnects += 1
            self._guess_from_last_pose = True
        self.opened = response.opened
        self._was_open = True
        self.writable = True
        first = [] if self._activation is None else [self._activation]
        if self.unanswered:
            newest = max(self.unanswered)
            self._abandon_scans_before(newest)
            first.append(self._with_guess(self.unanswered[newest]))
        return first

    def take(self, response: Any) -> bool:
        """Handles a later response of the stream. True: half-close it, the server drains."""
        kind = response.WhichOneof("response")
        if kind == "result":
            self._take_result(response.result)
        elif kind == "rejected":
            self.rejections.append(response.rejected)
        elif kind == "draining":
            self.draining = response.draining
            self._drain_wait_s = response.draining.reconnect_after_s
            self.writable = False
            return not self.closing  # a session that is being closed has half-closed it
        return False

    def stream_ended(self, error: Optional[Error]) -> Optional[float]:
        """The stream has ended, with OK or an error. Seconds to wait before the next attempt;
        None: the session has ended."""
        self.writable = False
        drain_wait_s, self._drain_wait_s = self._drain_wait_s, None
        was_open, self._was_open = self._was_open, False
        if was_open:
            wait_s = self.route.after_stream(error, drain_wait_s)
        else:
            wait_s = self.route.after_refusal(error) if error is not None else None
        if wait_s is None or self.closing:
            self.finish(self.route.error)
            return None
        return wait_s

    def finish(self, error: Optional[Error]) -> None:
        """The session has ended."""
        if error is None:  # closed before another server had them
            self._abandon_scans_before(self._last_sequence + 1)
        self.writable = False
        self.ended = True
        self.end = error

    def end_of_results(self) -> Error:
        """What `receive` raises when nothing more will come."""
        if self.end is not None:
            return self.end
        return SessionClosed(grpc.StatusCode.OUT_OF_RANGE,
                             "the session is closed and has no more results")

    def find(self, sequence: Optional[int]) -> Optional[Result]:
        """Takes out the oldest result, or that of a scan. None: it is not here."""
        for result in self.results:
            if sequence is None or result.sequence == sequence:
                self.results.remove(result)
                return result
        return None

    def _take_result(self, message: Any) -> None:
        if self.unanswered.pop(message.sequence, None) is None:
            self.unexpected_results += 1
            return
        fused = message.HasField("fused")
        if fused or (message.accepted and message.HasField("map_t_base")):
            self._last_pose = (message.fused if fused else message).map_t_base.pose
            self._guess_from_last_pose = False
        self.results.append(Result(message))

    def _abandon_scans_before(self, sequence: int) -> None:
        for old in [number for number in self.unanswered if number < sequence]:
            request = self.unanswered.pop(old)
            self.given_up += 1
            self.results.append(Result(messages.AlignmentResult(
                sequence=old, stamp_ns=request.scan.stamp_ns,
                status=messages.ALIGNMENT_STATUS_STALE,
                detail="the server was lost or drained before the answer, and a newer scan "
                "was there")))

    def _with_guess(self, request: Any) -> Any:
        if (not self._guess_from_last_pose or self._last_pose is None or
                request.scan.HasField("guess_map_t_base")):
            return request
        filled = messages.AlignScansRequest()
        filled.CopyFrom(request)
        filled.scan.guess_map_t_base.pose.CopyFrom(self._last_pose)
        return filled
