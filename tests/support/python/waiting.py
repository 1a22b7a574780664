# SPDX-License-Identifier: Apache-2.0
"""Ports for programs that tests start, and waiting for what they do."""

import contextlib
import socket
import time


def free_port():
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(what, condition, timeout_s=100):
    """The first value of `condition()` that is true. An OSError is no value."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            value = condition()
            if value:
                return value
        time.sleep(0.05)
    raise AssertionError(f"not within {timeout_s} s: {what}")
