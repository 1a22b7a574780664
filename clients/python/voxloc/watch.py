# SPDX-License-Identifier: Apache-2.0
"""Changes of maps, for threads."""

from __future__ import annotations

import threading
from typing import Any, Iterator, Optional

import grpc

from voxloc._channel import Connections
from voxloc._route import ReconnectOptions, WatchReconnectPolicy
from voxloc.errors import Error


def watch_ended(server: str) -> Error:
    """Of a watch that the server has ended without an error."""
    return Error(grpc.StatusCode.UNAVAILABLE, f"{server} WatchMap: the server ended the watch")


class MapWatch:
    """An iterator over WatchMapResponse, for one thread. First come the maps as they are. Where the
    connection breaks, the watch begins again, at once with the next address of the client where
    there is one, and so do they; after too many attempts in a row without an event, the error is
    raised. After `cancel`, from any thread, the iterator ends."""

    def __init__(self, connections: Connections, request: Any, reconnect: ReconnectOptions):
        self._connections, self._request = connections, request
        self._route = WatchReconnectPolicy(connections.addresses, reconnect)
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._call: Optional[Any] = None

    def __repr__(self) -> str:
        return f"<MapWatch of {self._request.map or 'all maps'} at {self._route.server}>"

    def __enter__(self) -> MapWatch:
        return self

    def __exit__(self, *_: Any) -> None:
        self.cancel()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while True:
            with self._lock:
                if self._cancelled.is_set():
                    raise StopIteration
                if self._call is None:
                    self._call = self._connections.begin(self._route.index, "WatchMap",
                                                         self._request)
            try:
                event = next(self._call)
                self._route.event()
                return event
            except StopIteration:
                end = watch_ended(self._route.server)
            except grpc.RpcError as rpc:
                end = self._connections.error_of_stream(self._route.index, "WatchMap", rpc,
                                                        self._cancelled.is_set())
            self._call = None
            if self._cancelled.is_set():
                raise StopIteration
            self._cancelled.wait(self._route.after(end))

    def cancel(self) -> None:
        """Ends the watch, and a `next` that waits."""
        with self._lock:
            self._cancelled.set()
            call = self._call
        if call is not None:
            call.cancel()
