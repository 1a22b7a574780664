# SPDX-License-Identifier: Apache-2.0
"""Which of a client's servers is asked, and when: no input, no output.

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
_MAY_HELP_ELSEWHERE = ("TOO_MANY_SESSIONS", "TOO_MANY_UNOPENED_STREAMS", "MAP_NOT_FOUND",
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

    def wait_s(self, attempts: int, asked_s: float = 0.0) -> float:
        """Before the attempt after as many. At least as long as a server asked for, and up to twice
        the jitter longer, since it may have asked many clients for the same."""
        nominal = min(self.max_wait_s, self.initial_wait_s * self.factor ** attempts)
        return max(nominal * random.uniform(1.0 - self.jitter, 1.0 + self.jitter),
                   asked_s * random.uniform(1.0, 1.0 + 2.0 * self.jitter))


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
        self._lock = threading.Lock()
        self._first = 0

    @property
    def first(self) -> int:
        """The index of the address that calls go to."""
        return self._first

    @property
    def several(self) -> bool:
        """Whether there is another one."""
        return len(self.all) > 1

    def leave(self, index: int) -> None:
        """The address was lost, cannot be reached, or drains: the next is the first, unless another
        one is already."""
        with self._lock:
            if self._first == index:
                self._first = (index + 1) % len(self.all)


class AddressRound:
    """The addresses, each tried once, from the one that calls go to on."""

    def __init__(self, addresses: Addresses):
        self._addresses = addresses
        self._begin = addresses.first
        self._refusals: List[Error] = []

    @property
    def index(self) -> int:
        """Of the address to be tried now."""
        return (self._begin + len(self._refusals)) % len(self._addresses.all)

    def leave(self) -> None:
        """The address is of no use to anyone for now."""
        self._addresses.leave(self.index)

    def next(self, refusal: Error) -> bool:
        """The address refused, or could not be reached: on to the next. False: each was tried."""
        self._refusals.append(refusal)
        return len(self._refusals) < len(self._addresses.all)

    @property
    def refusal(self) -> Error:
        """What the addresses said, in one Error; its details are those of the last that answered,
        or of the last if none did."""
        answered = [error for error in self._refusals
                    if error.code != grpc.StatusCode.UNAVAILABLE]
        telling = (answered or self._refusals)[-1]
        message = "; ".join([telling.message] + [error.message for error in self._refusals
                                                 if error is not telling])
        return Error(telling.code, message, telling.reason, telling.metadata,
                     telling.retry_after_s)

    @property
    def retry_after_s(self) -> float:
        """The shortest time that they asked for; 0 where one did not."""
        return min((error.retry_after_s or 0.0 for error in self._refusals), default=0.0)


class _Route:
    """The addresses in turn, and how often all of them have been tried in vain."""

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

    def _next_wait_s(self, asked_s: float) -> float:
        """Begins another round; what is to be waited before it."""
        wait_s = self._reconnect.wait_s(self._attempts, asked_s)
        self._attempts += 1
        self._round = AddressRound(self._addresses)
        return wait_s


class SessionRoute(_Route):
    """Where a session opens its next stream, and when."""

    def __init__(self, addresses: Addresses, reconnect: ReconnectOptions):
        super().__init__(addresses, reconnect)
        self._opened_once = False
        self._drained_s = 0.0  # what a server that drains asked for, until it was waited
        self._error: Optional[Error] = None

    @property
    def error(self) -> Optional[Error]:
        """What ended the last stream, or, once all addresses refused one, what they said."""
        error = self._error
        if error is None or error.code != grpc.StatusCode.UNAVAILABLE or not self._attempts:
            return error
        return Error(error.code, f"{error.message} (gave up after {self._attempts} attempts "
                     "to reconnect)", error.reason, error.metadata, error.retry_after_s)

    def after_stream(self, error: Optional[Error], drained_s: Optional[float]) -> Optional[float]:
        """A stream that was open has ended. Seconds to wait before the next; None: there is none.
        `drained_s` is SessionDraining.reconnect_after_s, where the server drained."""
        self._error, self._opened_once, self._attempts = error, True, 0
        drained = drained_s is not None
        left = drained or (error is not None and error.was_cut_off)
        if not left and (error is None or error.reason != "IDLE_TIMEOUT"):
            return None
        if left:
            self._round.leave()
        if self._attempts >= self._reconnect.max_attempts:
            return None
        asked_s = (error.retry_after_s if error is not None else None) or 0.0
        wait_s = self._next_wait_s(asked_s)
        self._drained_s = drained_s or 0.0
        # A server that drains says so while another one is there, also behind the same name.
        return 0.0 if drained or (left and self._addresses.several) else wait_s

    def after_refusal(self, error: Error) -> Optional[float]:
        """A stream was not opened; likewise."""
        self._error = error
        silent = error.code == grpc.StatusCode.DEADLINE_EXCEEDED and self._addresses.several
        full = (error.code == grpc.StatusCode.RESOURCE_EXHAUSTED
                and error.retry_after_s is not None)
        if silent:
            self._round.leave()
        elif (error.code != grpc.StatusCode.UNAVAILABLE and not full
              and error.reason not in _MAY_HELP_ELSEWHERE):
            return None
        if self._round.next(error):
            return 0.0
        self._error = self._round.refusal
        if not self._opened_once or self._attempts >= self._reconnect.max_attempts:
            return None
        asked_s, self._drained_s = max(self._round.retry_after_s, self._drained_s), 0.0
        return self._next_wait_s(asked_s)


class WatchRoute(_Route):
    """The same for a watch, which needs no opening: it is there once an event has come."""

    def __init__(self, addresses: Addresses, reconnect: ReconnectOptions):
        super().__init__(addresses, reconnect)
        self._had_event = False

    def event(self) -> None:
        """One has come."""
        self._attempts, self._had_event = 0, True

    def after(self, error: Error) -> float:
        """The watch has ended. Seconds to wait before the next; raises where there is none."""
        if error.code != grpc.StatusCode.UNAVAILABLE:
            raise error
        lost, self._had_event = self._had_event, False
        self._round.leave()
        if not lost and self._round.next(error):
            return 0.0
        refusal = error if lost else self._round.refusal
        if self._attempts >= self._reconnect.max_attempts:
            raise refusal
        wait_s = self._next_wait_s(self._round.retry_after_s)
        return 0.0 if lost and self._addresses.several else wait_s
