# SPDX-License-Identifier: Apache-2.0
"""A server of this program's own, for notebooks, tests and demonstrations.

    with voxloc.serve() as server, server.client() as client:
        client.load_map("town", voxloc.io.read_map("town/map"))
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

if TYPE_CHECKING:
    from voxloc.client import Client

_LOG_CHARACTERS = 2000  # of the log's end, in errors
_STOP_TIMEOUT_S = 60.0  # a server that drains takes up to 28 s


class Server:
    """A server that runs."""

    __slots__ = ("address", "metrics_address", "_log")

    def __init__(self, address: str, metrics_address: str, log: pathlib.Path):
        self.address = address  # HOST:PORT
        self.metrics_address = metrics_address  # of the pages in a browser and for Prometheus
        self._log = log

    def client(self, **options: Any) -> Client:
        """A new client of the server; `options` are those of Client."""
        from voxloc.client import Client
        return Client(self.address, **options)

    def log(self) -> str:
        """What the server has written so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def __repr__(self) -> str:
        return f"<Server {self.address}>"


def _find_program() -> str:
    packed = pathlib.Path(__file__).parent / "bin" / "voxlocd"
    found = str(packed) if packed.exists() else shutil.which("voxlocd")
    if found is None:
        raise FileNotFoundError("voxlocd is neither in this package nor in PATH; name it by program=")
    return found


def _failure(what: str, log: pathlib.Path) -> RuntimeError:
    end = log.read_text(encoding="utf-8", errors="replace")[-_LOG_CHARACTERS:]
    return RuntimeError(f"voxlocd {what}; its log ends with:\n{end}")


def _addresses_of_ready(ready: pathlib.Path) -> Optional[Any]:
    """What the ready file says, once the maps of the data directory are open, too."""
    if not ready.exists():
        return None
    addresses = json.loads(ready.read_text(encoding="utf-8"))
    if not addresses["metrics"]:  # --metrics-listen=off
        return addresses
    try:
        with urllib.request.urlopen(f"http://{addresses['metrics']}/readyz", timeout=1.0):
            return addresses
    except OSError:  # 503: not yet
        return None


def _wait_until_ready(process: subprocess.Popen[bytes], ready: pathlib.Path, log: pathlib.Path,
                      timeout_s: float) -> Any:
    end = time.monotonic() + timeout_s
    while True:
        addresses = _addresses_of_ready(ready)
        if addresses is not None:
            return addresses
        try:
            code = process.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise _failure(f"was not ready within {timeout_s} s", log) from None
        else:
            raise _failure(f"has ended with exit code {code}", log)


@contextlib.contextmanager
def serve(*arguments: str, data_dir: Optional[Any] = None,
          program: Optional[Union[str, pathlib.Path]] = None,
          timeout_s: float = 60.0) -> Iterator[Server]:
    """Runs voxlocd on free ports of the loopback address while the context is open.

    `arguments` are further ones of voxlocd, such as "--engine=cuda" (docs/cli.md). Maps are kept in
    `data_dir`, None: in a temporary folder, which is deleted at the end. `program` is voxlocd; None:
    that of this package, else that in PATH. `timeout_s`: how long the server may take to start. At
    the end it gets SIGTERM.

    Errors: FileNotFoundError where there is no voxlocd; RuntimeError, with the end of the log, where
    the server does not start, or ends by itself or with an error.
    """
    command = [str(program) if program is not None else _find_program()]
    with tempfile.TemporaryDirectory(prefix="voxloc_") as name:
        folder = pathlib.Path(name)
        log, ready = folder / "server.log", folder / "ready.json"
        # No load balancer asks for the readiness and has to notice its end.
        command += ["--drain-delay-s=0", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0",
                    f"--ready-file={ready}",
                    f"--data-dir={folder / 'data' if data_dir is None else data_dir}", *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT)
        try:
            addresses = _wait_until_ready(process, ready, log, timeout_s)
            yield Server(addresses["listen"], addresses["metrics"], log)
            if process.poll() is not None:
                raise _failure(f"has ended by itself with exit code {process.returncode}", log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.returncode != 0:
            raise _failure(f"has ended with exit code {process.returncode}", log)
