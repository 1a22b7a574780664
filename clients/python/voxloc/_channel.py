# SPDX-License-Identifier: Apache-2.0
"""The settings of a connection, those of the C++ client (clients/cpp/channel.h)."""

from __future__ import annotations

from typing import Any, List, Tuple

# A ping goes out when nothing was heard for 20 s, and the connection counts as lost when it is not
# answered within 10 s; the server refuses pings that come more often than every 10 s. A session
# opens again by its own schedule, so the channel must not wait longer between attempts.
CHANNEL_OPTIONS: List[Tuple[str, int]] = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", -1),  # the server says what it takes
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.use_local_subchannel_pool", 1),
]


def check_address(server: str) -> None:
    """Raises ValueError where it is not HOST:PORT or unix:PATH."""
    if ":" not in server:
        raise ValueError(f"the server address must be HOST:PORT (got {server!r})")


def stub(channel: Any, method: Any) -> Any:
    """The callable of a call on a channel, of grpc or of grpc.aio."""
    make = {(False, False): channel.unary_unary, (False, True): channel.unary_stream,
            (True, True): channel.stream_stream}[method.client_streaming, method.server_streaming]
    return make(method.path, request_serializer=method.request.SerializeToString,
                response_deserializer=method.response.FromString)
