# SPDX-License-Identifier: Apache-2.0
"""A voxlocd of a test: on a free port, in a temporary folder, stopped at the end."""

import json
import os
import subprocess

from waiting import eventually


class Voxlocd:
    """Starts `command` (the program and its arguments) so that it uses nothing but `folder`, and the
    data directory that the command names itself, if it does.

    Returns before the server is ready, as a shell does after `voxlocd &`; `address` waits for that,
    since it is the server that finds the free port.
    """

    def __init__(self, command, folder, cwd=None):
        self._address = None
        self._log = os.path.join(folder, "server.log")
        self._ready = os.path.join(folder, "ready.json")
        with open(self._log, "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [*command, "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0",
                 *([] if "--data-dir" in command else [f"--data-dir={folder}/data"]),
                 f"--ready-file={self._ready}"],
                cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def log(self):
        with open(self._log, encoding="utf-8") as file:
            return file.read()

    def wait_until_ready(self):
        """Raises, with the log, where the server ended or is not ready in time."""
        if self._address is not None:
            return
        eventually("voxlocd is ready or has ended",
                   lambda: os.path.exists(self._ready) or self._process.poll() is not None)
        if not os.path.exists(self._ready):
            raise RuntimeError(f"voxlocd was not ready; its log:\n{self.log()}")
        with open(self._ready, encoding="utf-8") as file:
            self._address = json.load(file)["listen"]

    @property
    def address(self):
        """HOST:PORT, once the server is ready."""
        self.wait_until_ready()
        return self._address

    def signal(self, number):
        self._process.send_signal(number)

    def stop(self):
        """Asks it to end; its exit status."""
        self._process.terminate()
        try:
            return self._process.wait(timeout=60)  # a drain takes up to 28 s
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
