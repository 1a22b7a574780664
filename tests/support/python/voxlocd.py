# SPDX-License-Identifier: Apache-2.0
"""A voxlocd of its own for a test: a free port, its own folder, ended at the end."""

import json
import os
import socket
import subprocess
import time

READY_TIMEOUT_S = 30


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Voxlocd:
    """Starts `command` (the program and its arguments) so that it uses nothing but `folder`, and the
    data directory that the command names itself, if it does.

    Returns before the server is ready, as a shell does after `voxlocd &`.
    """

    def __init__(self, command, folder, cwd=None):
        self.address = f"127.0.0.1:{_free_port()}"
        self._log = os.path.join(folder, "server.log")
        self._ready = os.path.join(folder, "ready.json")
        with open(self._log, "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [*command, f"--listen={self.address}", "--metrics-listen=127.0.0.1:0",
                 *([] if "--data-dir" in command else [f"--data-dir={folder}/data"]),
                 f"--ready-file={self._ready}"],
                cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def log(self):
        with open(self._log, encoding="utf-8") as file:
            return file.read()

    def wait_until_ready(self):
        """Raises, with the log, where the server ended or is not ready in time."""
        end = time.monotonic() + READY_TIMEOUT_S
        while not os.path.exists(self._ready):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"voxlocd was not ready; its log:\n{self.log()}")
            time.sleep(0.02)
        with open(self._ready, encoding="utf-8") as file:
            assert json.load(file)["listen"] == self.address

    def stop(self):
        """Asks it to end; its exit status."""
        self._process.terminate()
        try:
            return self._process.wait(timeout=60)  # a drain takes up to 28 s
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
