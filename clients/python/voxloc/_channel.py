# SPDX-License-Identifier: Apache-2.0
"""The connections of a client, one to each of its addresses."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

import grpc

from voxloc._contract import CONTRACT
from voxloc._route import Addresses, AddressRound
from voxloc._security import ChannelOptions, Token, Trace, credentials_of
from voxloc.errors import Error, error_of_rpc

# Those of the C++ client (clients/cpp/channel.h). A ping goes out when nothing was heard for 20 s,
# and the connection counts as lost when it is not answered within 10 s; the server refuses pings
# that come more often than every 10 s. A session opens again by its own schedule, so the channel
# must not wait longer between attempts.
_GRPC_OPTIONS: List[Tuple[str, Any]] = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", -1),  # the server says what it takes
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 2_000),  # what one attempt may take
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.use_local_subchannel_pool", 1),
]

# Calls that change nothing: where a server is unavailable, the next one is asked.
_REPEATABLE = frozenset((
    "GetServerInfo", "ListSessions", "GetConfig", "ListMaps", "GetMap", "ListTiles", "GetCells",
    "ListRevisions", "AlignScan"))


class Connections:
    """`transport` is grpc or grpc.aio, whose channels these are."""

    def __init__(self, transport: Any, server: str,
                 credentials: Optional[grpc.ChannelCredentials],
                 options: Optional[ChannelOptions]):
        options = options or ChannelOptions()
        if credentials is not None and options.tls:
            raise ValueError("credentials and options.tls must not both be set (got both)")
        self.addresses = Addresses(server)
        credentials = credentials or credentials_of(options)
        self._token = Token(options, self.addresses.all, credentials is not None)
        self._trace = Trace(options)
        grpc_options = list(_GRPC_OPTIONS)
        if options.tls_server_name:
            grpc_options.append(("grpc.ssl_target_name_override", options.tls_server_name))
        self.channels = [
            transport.insecure_channel(address, grpc_options) if credentials is None
            else transport.secure_channel(address, credentials, grpc_options)
            for address in self.addresses.all]
        self.closed = False  # set before the channels are closed
        self._stubs: Dict[Tuple[int, str], Any] = {}

    def round(self) -> AddressRound:
        """For a call: the addresses, one after another."""
        return AddressRound(self.addresses)

    def begin(self, index: int, call: str, *request: Any, timeout_s: Optional[float] = None,
              map: str = "") -> Any:
        """Begins a call of a server; `request` where the call has just one, `map` where it has
        several, which are of that map."""
        key = index, call
        if key not in self._stubs:
            self._stubs[key] = _stub(self.channels[index], CONTRACT.methods[call])
        metadata = (self._token.metadata() + self._trace.metadata()
                    + _map_metadata(map or _map_of(*request)))
        return self._stubs[key](*request, timeout=timeout_s, metadata=metadata)

    def error(self, index: int, call: str, rpc: Any) -> Error:
        """The Error for what gRPC raised. A server that is unavailable is left."""
        error = error_of_rpc(self.addresses.all[index], call, rpc)
        if error.code == grpc.StatusCode.UNAVAILABLE:
            self.addresses.fail_over(index)
        return error

    def error_of_stream(self, index: int, call: str, rpc: Any, cancelled: bool = False) -> Error:
        """The same for a stream. CANCELLED becomes UNAVAILABLE unless this client has `cancelled`
        it: gRPC reports it for a stream that reaches a server as that stops, and proxies for one that
        they drop."""
        error = self.error(index, call, rpc)
        if (cancelled or self.closed or error.reason
                or error.code != grpc.StatusCode.CANCELLED):
            return error
        self.addresses.fail_over(index)
        return Error(grpc.StatusCode.UNAVAILABLE, f"{self.addresses.all[index]} {call}: the server "
                     "or a proxy cancelled the stream")

    def needs_reaching(self, call: str) -> bool:
        """Whether a server that can be reached is to be found before the call, since it must be
        sent once."""
        return call not in _REPEATABLE and self.addresses.has_several


def _map_of(request: Any = None) -> str:
    """The map that a request names, itself or in its setup; "": none."""
    return getattr(request, "map", "") or getattr(getattr(request, "setup", None), "map", "")


def _map_metadata(map: str) -> Tuple[Tuple[str, str], ...]:
    """By which proxies route; none for what no metadata can have, and no map is called."""
    return (("x-voxloc-map", map),) if re.fullmatch("[!-~]+", map) else ()


def _stub(channel: Any, method: Any) -> Any:
    """The callable of a call on a channel, of grpc or of grpc.aio."""
    make = {(False, False): channel.unary_unary, (False, True): channel.unary_stream,
            (True, True): channel.stream_stream}[method.client_streaming, method.server_streaming]
    return make(method.path, request_serializer=method.request.SerializeToString,
                response_deserializer=method.response.FromString)
