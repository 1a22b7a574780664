# SPDX-License-Identifier: Apache-2.0
"""Selection of the server, and reconnect policies. No I/O.

The rules are those of the C++ client (clients/cpp/channel.h, session.h, map_watch.h).
"""

from __future__ import annotations

import dataclasses
import random
import re
import threading
from typing import List, Optional

import grpc

from voxloc.errors import Error

# Refusals that another server, or the same one later, may not repeat: it is full, or does not have
# the map yet.
_RETRYABLE_ELSEWHERE = ("TOO_MANY_SESSIONS", "TOO_MANY_UNOPENED_STREAMS", "MAP_NOT_FOUND",
                       "MAP_REVISION_TOO_OLD")


@dataclasses.dataclass(frozen=True)
class ReconnectOptions:
    """How a session opens again: after waits that grow by `factor`, each drawn from 1 +- jitter
    times its nominal length, so that a fleet does not come back all at once."""

    max_attempts: int = 10  # in a row before giving up; 0: never reconnect
    initial_wait_s: float = 0.1
    max_wait_s: float = 5.0
    factor: float = 1.6
    jitter: float = 0.2

    def wait_s(self, attempts: int, min_wait_s: float = 0.0) -> float:
        """Seconds to wait after `attempts` attempts. `min_wait_s` is given by the server: up to
        2 * jitter * min_wait_s is added, as other clients got the same value."""
        nominal = min(self.max_wait_s, self.initial_wait_s * self.factor ** attempts)
        return max(nominal * random.uniform(1.0 - self.jitter, 1.0 + self.jitter),
                   min_wait_s * random.uniform(1.0, 1.0 + 2.0 * self.jitter))


# A host, with gRPC's scheme or without, and digits. gRPC takes ports modulo 65536.
_ADDRESS = re.compile(r"((dns|ipv4|ipv6):(//[^/]*/)?)?([^][:/,\s]+|\[[^][/,\s]+\]):([0-9]{1,5})",
                      re.ASCII)


def is_server_address(text: str) -> bool:
    """Whether it is HOST:PORT, an IPv6 address in brackets, or unix:PATH, as the C++ client has
    them (core/text/host_port.h)."""
    if text.startswith(("unix:", "unix-abstract:")):
        return True
    match = _ADDRESS.fullmatch(text)
    return match is not None and 1 <= int(match[5]) <= 65535


class Addresses:
    """The addresses of a client, and which of them calls go to. Thread-safe."""

    def __init__(self, server: str):
        self.all = [part.strip() for part in server.split(",")]
        for address in self.all:
            if not is_server_address(address):
                raise ValueError("the server address must be HOST:PORT with a port from 1 to 65535 "
                                 f"(got {address!r})")
        self.first = 0  # the index of the address that calls go to
        self._lock = threading.Lock()

    @property
    def has_several(self) -> bool:
        """Whether there is more than one address."""
        return len(self.all) > 1

    def fail_over(self, index: int) -> None:
        """The address is lost, unreachable or draining: makes the next one the first, unless
        another one already is."""
        with self._lock:
            if self.first == index:
                self.first = (index + 1) % len(self.all)


class AddressRound:
    """Iterates once over the addresses, starting with the first."""

    def __init__(self, addresses: Addresses):
        self._addresses = addresses
        self._begin = addresses.first
        self._refusals: List[Error] = []

    @property
    def index(self) -> int:
        """Of the address to be tried now."""
        return (self._begin + len(self._refusals)) % len(self._addresses.all)

    def fail_over(self) -> None:
        """Makes the address after the current one the first."""
        self._addresses.fail_over(self.index)

    def next(self, refusal: Error) -> bool:
        """Records the error of the current address and moves on. False: all were tried."""
        self._refusals.append(refusal)
        return len(self._refusals) < len(self._addresses.all)

    @property
    def refusal(self) -> Error:
        """What the addresses said, in one Error; its details are those of the last that answered,
        or of the last if none did."""
        answered = [error for error in self._refusals
                    if error.code != grpc.StatusCode.UNAVAILABLE]
        representative = (answered or self._refusals)[-1]
        message = "; ".join([representative.message] + [error.message for error in self._refusals
                                                 if error is not representative])
        return Error(representative.code, message, representative.reason, representative.metadata,
                     representative.retry_after_s)

    @property
    def retry_after_s(self) -> float:
        """The minimum of their retry delays; 0 if one of them gave none."""
        return min((error.retry_after_s or 0.0 for error in self._refusals), default=0.0)


class _ReconnectPolicy:
    """Iterates over the addresses and counts the rounds in which all of them failed."""

    def __init__(self, addresses: Addresses, reconnect: ReconnectOptions):
        self._addresses, self._reconnect = addresses, reconnect
        self._round = AddressRound(addresses)
        self._attempts = 0

    @property
    def index(self) -> int:
        """Of the address whose turn it is."""
        return self._round.index

    @property
    def server(self) -> str:
        """That address."""
        return self._addresses.all[self.index]

    def _next_wait_s(self, min_wait_s: float) -> float:
        """Starts another round; returns the seconds to wait before it."""
        wait_s = self._reconnect.wait_s(self._attempts, min_wait_s)
        self._attempts += 1
        self._round = AddressRound(self._addresses)
        return wait_s


class SessionReconnectPolicy(_ReconnectPolicy):
    """Where a session opens its next stream, and when."""

    def __init__(self, addresses: Addresses, reconnect: ReconnectOptions):
        super().__init__(addresses, reconnect)
        self._opened_once = False
        self._drain_wait_s = 0.0  # requested by a draining server; 0 once it has been waited for
        self._error: Optional[Error] = None

    @property
    def error(self) -> Optional[Error]:
        """What ended the last stream, or, once all addresses refused one, what they said."""
        error = self._error
        if error is None or error.code != grpc.StatusCode.UNAVAILABLE or not self._attempts:
            return error
        return Error(error.code, f"{error.message} (gave up after {self._attempts} attempts "
                     "to reconnect)", error.reason, error.metadata, error.retry_after_s)

    def after_stream(self, error: Optional[Error],
                     drain_wait_s: Optional[float]) -> Optional[float]:
        """Call after an open stream has ended. Seconds to wait before the next one; None: no
        further attempt. `drain_wait_s`: SessionDraining.reconnect_after_s if it drained."""
        self._error, self._opened_once, self._attempts = error, True, 0
        drained = drain_wait_s is not None
        left = drained or (error is not None and error.was_cut_off)
        if not left and (error is None or error.reason != "IDLE_TIMEOUT"):
            return None
        if left:
            self._round.fail_over()
        if self._attempts >= self._reconnect.max_attempts:
            return None
        min_wait_s = (error.retry_after_s if error is not None else None) or 0.0
        wait_s = self._next_wait_s(min_wait_s)
        self._drain_wait_s = drain_wait_s or 0.0
        # When a server drains, another one is available, possibly under the same name.
        return 0.0 if drained or (left and self._addresses.has_several) else wait_s

    def after_refusal(self, error: Error) -> Optional[float]:
        """Call after a stream could not be opened. Returns as after_stream."""
        self._error = error
        silent = error.code == grpc.StatusCode.DEADLINE_EXCEEDED and self._addresses.has_several
        full = (error.code == grpc.StatusCode.RESOURCE_EXHAUSTED
                and error.retry_after_s is not None)
        if silent:
            self._round.fail_over()
        elif (error.code != grpc.StatusCode.UNAVAILABLE and not full
              and error.reason not in _RETRYABLE_ELSEWHERE):
            return None
        if self._round.next(error):
            return 0.0
        self._error = self._round.refusal
        if not self._opened_once or self._attempts >= self._reconnect.max_attempts:
            return None
        min_wait_s, self._drain_wait_s = max(self._round.retry_after_s, self._drain_wait_s), 0.0
        return self._next_wait_s(min_wait_s)


class WatchReconnectPolicy(_ReconnectPolicy):
    """The same for a watch, which counts as open after its first event."""

    def __init__(self, addresses: Addresses, reconnect: ReconnectOptions):
        super().__init__(addresses, reconnect)
        self._had_event = False

    def event(self) -> None:
        """Call for each event: resets the attempts."""
        self._attempts, self._had_event = 0, True

    def after(self, error: Error) -> float:
        """Call after the watch has ended. Seconds to wait before the next one; raises if there is
        no further attempt."""
        if error.code != grpc.StatusCode.UNAVAILABLE:
            raise error
        lost, self._had_event = self._had_event, False
        self._round.fail_over()
        if not lost and self._round.next(error):
            return 0.0
        refusal = error if lost else self._round.refusal
        if self._attempts >= self._reconnect.max_attempts:
            raise refusal
        wait_s = self._next_wait_s(self._round.retry_after_s)
        return 0.0 if lost and self._addresses.has_several else wait_s
