# SPDX-License-Identifier: Apache-2.0
"""What calls raise. A verdict on a scan is no error: see Result.status."""

from __future__ import annotations

from typing import Any, Dict, Optional

import grpc

from voxloc._contract import CONTRACT

_STATUS = CONTRACT.messages["google.rpc.Status"]
_ERROR_INFO = CONTRACT.messages["google.rpc.ErrorInfo"]
_RETRY_INFO = CONTRACT.messages["google.rpc.RetryInfo"]


class Error(Exception):
    """A request that could not be served.

    code           the gRPC code
    message        "SERVER CALL: what the server said", for people
    reason         the server's constant, such as "MAP_NOT_FOUND" (docs/errors.md lists them); empty
                   where the error is the client's own or the server too old to say
    metadata       the values that belong to the reason, by their names
    retry_after_s  seconds after which trying again can help; None: the server does not say
    """

    def __init__(self, code: grpc.StatusCode, message: str, reason: str = "",
                 metadata: Optional[Dict[str, str]] = None,
                 retry_after_s: Optional[float] = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata: Dict[str, str] = metadata or {}
        self.retry_after_s = retry_after_s

    @property
    def was_cut_off(self) -> bool:
        """Whether an open stream ended on its way, by a connection that was lost or by a proxy that
        has lost the server. gRPC reports the latter as INTERNAL or UNKNOWN; the server's own errors
        of these codes have a reason."""
        return self.code == grpc.StatusCode.UNAVAILABLE or not self.reason and self.code in (
            grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)

    def __str__(self) -> str:
        reason = f" [{self.reason}]" if self.reason not in ("", self.code.name) else ""
        return f"{self.code.name}{reason}: {self.message}"


class NoResult(Error, TimeoutError):
    """No result within the time that `receive` was to wait. The session continues."""


class SessionClosed(Error):
    """The session was closed, and all its results were received."""


def error_of_rpc(server: str, call: str, rpc: Any) -> Error:
    """The Error for what gRPC raised, with the details from its trailer."""
    code = rpc.code() or grpc.StatusCode.UNKNOWN
    message = f"{server} {call}: {rpc.details() or 'no reason given'}"
    reason, metadata, retry_after_s = "", {}, None
    trailer = {key: value for key, value in rpc.trailing_metadata() or ()}
    for name, value in _details(trailer.get("grpc-status-details-bin", b"")):
        if name == "google.rpc.ErrorInfo":
            info = _ERROR_INFO.FromString(value)
            reason, metadata = info.reason, dict(info.metadata)
        elif name == "google.rpc.RetryInfo":
            delay = _RETRY_INFO.FromString(value).retry_delay
            retry_after_s = delay.seconds + 1e-9 * delay.nanos
    return Error(code, message, reason, metadata, retry_after_s)


def _details(trailer: bytes) -> Any:
    try:
        return [(detail.type_url.rpartition("/")[2], detail.value)
                for detail in _STATUS.FromString(trailer).details]
    except Exception:  # DecodeError, whose module differs between versions: details are optional
        return []


def broken_protocol(server: str, call: str, what: str) -> Error:
    """An answer that the contract does not have at this place."""
    return Error(grpc.StatusCode.INTERNAL, f"{server} {call}: {what}")
