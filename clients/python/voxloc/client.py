# SPDX-License-Identifier: Apache-2.0
"""The calls of a voxloc server, for threads. voxloc.aio has the same for asyncio."""

from __future__ import annotations

import queue
from typing import Any, Iterator, Optional, Sequence, Union

import grpc

from voxloc import _calls, messages
from voxloc._calls import DEFAULT_TIMEOUT_S
from voxloc._channel import Connections
from voxloc._procedure import blocking
from voxloc._route import ReconnectOptions
from voxloc.errors import Error
from voxloc.scan import Setup, setup_message
from voxloc.session import Session
from voxloc.tile import Tile, TileAssembly
from voxloc.watch import MapWatch


class Stream:
    """A stream of a call: messages are written from a queue by a thread of gRPC's."""

    _END = object()

    def __init__(self, connections: Connections, index: int, call: str, map: str,
                 timeout_s: Optional[float] = None, max_pending: int = 4):
        self._connections, self._index, self._call_name = connections, index, call
        self._pending: queue.Queue[Any] = queue.Queue(max_pending)
        self._call = connections.begin(index, call, iter(self._pending.get, self._END),
                                       timeout_s=timeout_s, map=map)
        self._cancelled = False

    def write(self, message: Any) -> None:
        """Hands a message over; waits while `max_pending` (0: no limit) are not sent. If the stream
        has ended, the next `read` raises its error."""
        while self._call.is_active():
            try:
                return self._pending.put(message, timeout=0.1)
            except queue.Full:
                pass

    def done_writing(self) -> None:
        """Half-closes."""
        self.write(self._END)

    def read(self) -> Optional[Any]:
        """The next message; None: the stream has ended with OK."""
        try:
            return next(self._call)
        except StopIteration:
            return None
        except grpc.RpcError as rpc:
            raise self._connections.error_of_stream(self._index, self._call_name, rpc,
                                                    self._cancelled) from None

    def cancel(self) -> None:
        """Ends the stream, and the thread that writes."""
        self._cancelled = True
        self._call.cancel()
        while True:
            try:
                return self._pending.put_nowait(self._END)
            except queue.Full:
                self._pending.get_nowait()


def _read(call: Any) -> Optional[Any]:
    """The next message of a call; None: it has ended with OK."""
    return next(call, None)


class Client(_calls.Caller):
    """A connection to a server. Thread-safe; connects with the first call.

    `server` is HOST:PORT or unix:PATH, or several of them separated by commas: the first that can
    be reached is used, until it cannot be reached, breaks off or drains; then the next is tried at
    once. Calls that change something are sent once. `options` are those of TLS, tokens and traces;
    `credentials` (grpc.ChannelCredentials) may take the place of the files of TLS.
    Calls raise Error; `timeout_s` is the deadline of the whole call at each server that is tried,
    None: none.
    """

    _name, _transport, _stream, _read = "Client", grpc, Stream, staticmethod(_read)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection and cancels its calls."""
        self._connections.closed = True
        for channel in self._connections.channels:
            channel.close()

    server_info = blocking(_calls.server_info)
    list_sessions = blocking(_calls.list_sessions)
    list_captures = blocking(_calls.list_captures)
    get_capture = blocking(_calls.get_capture)
    get_config = blocking(_calls.get_config)
    set_log_level = blocking(_calls.set_log_level)
    drain = blocking(_calls.drain)
    undrain = blocking(_calls.undrain)
    list_maps = blocking(_calls.list_maps)
    get_map = blocking(_calls.get_map)
    list_tiles = blocking(_calls.list_tiles)
    list_revisions = blocking(_calls.list_revisions)
    activate_revision = blocking(_calls.activate_revision)
    withdraw_revision = blocking(_calls.withdraw_revision)
    set_canary = blocking(_calls.set_canary)
    drop_map = blocking(_calls.drop_map)
    undrop_map = blocking(_calls.undrop_map)
    get_cells = blocking(_calls.get_cells)
    load_map = blocking(_calls.load_map)
    align = blocking(_calls.align)
    search = blocking(_calls.search)
    score = blocking(_calls.score)

    def get_tiles(self, map: str, tile_ids: Sequence[str] = (), *, region: Optional[Any] = None,
                  revision: int = 0, timeout_s: Optional[float] = None) -> Iterator[Tile]:
        """The tiles with their points, one after another by id, their digests verified: those of
        `tile_ids`, or (empty) all, or those that touch `region`, a Box."""
        request = messages.GetTilesRequest(map=map, tile_ids=tile_ids, region=region,
                                           revision=revision)
        return self._get_tiles(request, timeout_s)

    def watch(self, map: str = "", reconnect: ReconnectOptions = ReconnectOptions()) -> MapWatch:
        """A WatchMapResponse for each change of a map, or (empty) of all; a context manager."""
        return MapWatch(self._connections, messages.WatchMapRequest(map=map), reconnect)

    def session(self, setup: Union[Setup, str], *, clock: int = 0, limits: Optional[Any] = None,
                start_inactive: bool = False, recovery: Optional[Any] = None,
                accumulation: Optional[Any] = None, fusion: Optional[Any] = None,
                open_timeout_s: Optional[float] = DEFAULT_TIMEOUT_S,
                reconnect: ReconnectOptions = ReconnectOptions(),
                max_outstanding: int = 256) -> Session:
        """Opens a session, and waits until it is open; a context manager.

        `clock` is a StampClock, `limits` a SessionLimits, `recovery` a RecoveryOptions,
        `accumulation` a ScanAccumulation, `fusion` a FusionOptions: with it, results have `fused`.
        `send` refuses a scan while `max_outstanding` are unanswered or not received.
        """
        opening = messages.OpenSession(
            setup=setup_message(setup), clock=clock, limits=limits, start_inactive=start_inactive,
            recovery=recovery, accumulation=accumulation, fusion=fusion)
        return Session(
            lambda index: Stream(self._connections, index, "AlignScans", opening.setup.map,
                                 max_pending=0),
            self._connections.addresses, opening, open_timeout_s, reconnect, max_outstanding)

    def _get_tiles(self, request: Any, timeout_s: Optional[float]) -> Iterator[Tile]:
        round_ = self._connections.round()
        while True:
            server = self._connections.addresses.all[round_.index]
            call = self._connections.begin(round_.index, "GetTiles", request, timeout_s=timeout_s)
            assembly = TileAssembly(server, not request.omit_points)
            began = False
            try:
                for part in call:
                    began = True
                    tile = assembly.add(part)
                    if tile is not None:
                        yield tile
                return assembly.finish()
            except grpc.RpcError as rpc:
                error = self._connections.error(round_.index, "GetTiles", rpc)
            finally:
                call.cancel()
            # What has come would come again.
            if began or error.code != grpc.StatusCode.UNAVAILABLE:
                raise error
            if not round_.next(error):
                raise round_.refusal
