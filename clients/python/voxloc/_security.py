# SPDX-License-Identifier: Apache-2.0
"""TLS, tokens and traces: the settings of a client, and what becomes of them."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import ssl
from typing import Callable, List, Optional, Tuple

import grpc

# As the C++ client has them (clients/cpp/security.cc).
_MAX_TOKEN_BYTES = 4096
_TOKEN = re.compile(r"[!-~]+")
# As the C++ client has it (clients/cpp/channel.cc).
_TRACEPARENT = re.compile(
    r"(?:00(?=.{53}\Z)|(?!00|ff)[0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}"
    r"-[0-9a-f]{2}(?:-[!-~]{0,456})?")


@dataclasses.dataclass(frozen=True)
class ChannelOptions:
    """How a client is secured and traced; the names are those of the C++ client
    (clients/cpp/channel.h).

    tls                   whether connections are encrypted and the server has to prove its name
    tls_ca_file           PEM: the authorities that vouch for the server; empty: the system's
    tls_certificate_file  PEM: the client's own certificate, for servers that ask for one
    tls_key_file          PEM: its key
    tls_server_name       the name in the server's certificate, where it is not the host
    token                 goes with every call, "authorization: Bearer TOKEN"
    token_file            the same, read for every call and session that begins; while the file is
                          missing or holds no token, the last good one is used
    allow_insecure_token  permits a token without TLS to other machines, where anyone on the way can
                          read it
    traceparent           W3C trace context that goes with every call and session, so that the
                          server's log lines, answers and spans are found by it; a scan can name one
                          of its own
    current_traceparent   a function that is asked for it as each call, and each stream of a
                          session, begins, also on the threads of sessions; what it returns that is
                          no trace context, such as "", is left out

    Client raises ValueError for what does not fit together, and OSError for a file that cannot be
    read. No message shows a token.
    """

    tls: bool = False
    tls_ca_file: str = ""
    tls_certificate_file: str = ""
    tls_key_file: str = ""
    tls_server_name: str = ""
    token: str = dataclasses.field(default="", repr=False)
    token_file: str = ""
    allow_insecure_token: bool = False
    traceparent: str = ""
    current_traceparent: Optional[Callable[[], str]] = None


def credentials_of(options: ChannelOptions) -> Optional[grpc.ChannelCredentials]:
    """None: plaintext. Files are looked into here: gRPC only says that a handshake failed."""
    if not options.tls:
        for name in ("tls_ca_file", "tls_certificate_file", "tls_key_file", "tls_server_name"):
            if getattr(options, name):
                raise ValueError(f"{name} must come with tls (got {getattr(options, name)!r} "
                                 "without)")
        return None
    if bool(options.tls_certificate_file) != bool(options.tls_key_file):
        raise ValueError("tls_certificate_file and tls_key_file must be given together (got "
                         f"{options.tls_certificate_file or options.tls_key_file!r} alone)")
    authorities = certificate = key = None
    if options.tls_ca_file:
        authorities = _read(options.tls_ca_file)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(options.tls_ca_file)
        except ssl.SSLError as error:
            raise ValueError(f"CA file {options.tls_ca_file} must hold a certificate in PEM "
                             f"({error.reason or error})") from None
    if options.tls_certificate_file:
        certificate, key = _read(options.tls_certificate_file), _read(options.tls_key_file)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(
                options.tls_certificate_file, options.tls_key_file, password=_no_passphrase)
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(f"certificate file {options.tls_certificate_file} and key file "
                             f"{options.tls_key_file} must hold a certificate and its key, PEM "
                             f"without a passphrase ({getattr(error, 'reason', error)})") from None
    return grpc.ssl_channel_credentials(authorities, key, certificate)


class Token:
    """What goes with calls as metadata."""

    def __init__(self, options: ChannelOptions, addresses: List[str], encrypted: bool):
        if options.token and options.token_file:
            raise ValueError("token and token_file must not both be set (got both)")
        self._file = options.token_file
        self._last = (_read_token(options.token_file) if options.token_file
                      else _checked(options.token, "the token") if options.token else "")
        if not self._last or encrypted or options.allow_insecure_token:
            return
        for address in addresses:
            if not is_local(address):
                raise ValueError(
                    "a token must be sent over TLS, or to this machine only, since anyone on the "
                    f"way could read and use it (got {address} without tls; allow_insecure_token "
                    "permits it)")

    def metadata(self) -> Tuple[Tuple[str, str], ...]:
        """For a call that begins now."""
        if self._file:
            try:
                self._last = _read_token(self._file)
            except (OSError, ValueError):
                pass  # it is being replaced; a token that is too old, the server refuses
        return (("authorization", f"Bearer {self._last}"),) if self._last else ()


class Trace:
    """What goes with calls as metadata."""

    def __init__(self, options: ChannelOptions):
        if options.traceparent and options.current_traceparent is not None:
            raise ValueError("traceparent and current_traceparent must not both be set (got both)")
        if options.traceparent and not is_traceparent(options.traceparent):
            raise ValueError("traceparent must be a W3C trace context, 00-<32 hexadecimal digits>-"
                             f"<16>-<2> (got {options.traceparent[:80]!r})")
        self._current = options.current_traceparent or (lambda: options.traceparent)

    def metadata(self) -> Tuple[Tuple[str, str], ...]:
        """For a call that begins now."""
        traceparent = self._current()
        return (("traceparent", traceparent),) if is_traceparent(traceparent) else ()


def is_traceparent(text: str) -> bool:
    """Whether it is a W3C trace context; servers ignore others."""
    return _TRACEPARENT.fullmatch(text) is not None


def is_local(address: str) -> bool:
    """Whether what is sent there cannot leave this machine."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = re.sub(r"^(dns|ipv4|ipv6):", "", address)
    host = re.sub(r"^//[^/]*/", "", host)
    host = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0]
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _no_passphrase() -> bytes:
    raise ValueError("the key has a passphrase")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_token(path: str) -> str:
    with open(path, "rb") as file:
        text = file.read(_MAX_TOKEN_BYTES + 16)  # with room for the end of a line
    return _checked(text.decode("latin-1"), f"the token in {path}")


def _checked(text: str, name: str) -> str:
    token = text.strip(" \t\r\n\f\v")
    if not token:
        raise ValueError(f"{name} is empty")
    if len(token) > _MAX_TOKEN_BYTES:
        raise ValueError(f"{name} must have at most {_MAX_TOKEN_BYTES} characters "
                         f"(got {len(token)})")
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"{name} must be printable ASCII characters without spaces")
    return token
