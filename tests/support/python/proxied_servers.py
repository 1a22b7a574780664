# SPDX-License-Identifier: Apache-2.0
"""Servers of a test behind a real nginx with deploy/nginx."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.request

from certificates import Certificates
from waiting import eventually, free_port

TIMEOUT_S = 100


def why_not_root_with_nginx():
    """Why no test can start nginx here; None: it can."""
    os.environ["PATH"] += ":/usr/sbin"
    if not shutil.which("nginx"):
        return "nginx is not installed"
    return "root is needed: nginx is not installed for other users" if os.geteuid() != 0 else None


def run(command):
    """What a program prints; fails with what it says."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """One voxlocd, started again at the same addresses with the same folder."""

    def __init__(self, cleanup, folder, program, number, flags=()):
        self.number, self._cleanup, self._program, self._flags = number, cleanup, program, flags
        self.grpc, self.http = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.log = folder / f"voxlocd-{number}.log"
        self._data = folder / f"data-{number}"
        self.process = None
        cleanup.callback(self.kill)

    def start(self):
        self.launch()
        self.wait_until_ready()

    def launch(self):
        log = self._cleanup.enter_context(open(self.log, "ab"))
        self.process = subprocess.Popen(
            [self._program, f"--listen={self.grpc}", f"--metrics-listen={self.http}", f"--data-dir={self._data}",
             # The delay is for proxies that ask for the readiness.
             "--engine=cpu", "--drain-delay-s=0", *self._flags],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_until_ready(self):
        eventually(f"server {self.number} is ready",
                   lambda: urllib.request.urlopen(f"http://{self.http}/readyz", timeout=TIMEOUT_S).status == 200)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=TIMEOUT_S)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def metric(self, series):
        """Its value; 0: there is no such series."""
        page = urllib.request.urlopen(f"http://{self.http}/metrics", timeout=TIMEOUT_S).read().decode()
        found = re.search(rf"^{re.escape(series)} (\S+)$", page, re.M)
        return int(float(found.group(1))) if found else 0

    def sessions(self):
        return self.metric("voxloc_sessions_active")


class Proxy:
    """A running nginx before these servers, with TLS at `address`, by the authority in `authority`. `changes` are
    (shipped, wanted) texts of nginx.conf."""

    def __init__(self, cleanup, folder, source, servers, changes=()):
        self._folder, self._shipped, self._servers = folder / "nginx", source / "deploy/nginx", servers
        shutil.copytree(self._shipped, self._folder)
        # The workers of nginx have a user of their own.
        os.chmod(folder, 0o755)
        certificates = Certificates(folder)
        for path, name in zip(certificates.sign("server", "IP:127.0.0.1"), ("tls.crt", "tls.key")):
            shutil.copy(path, self._folder / name)
        self.authority = certificates.authority[0]
        self.address = f"127.0.0.1:{free_port()}"
        self._config = self._folder / "nginx.conf"
        text = self._config.read_text(encoding="utf-8")
        for shipped, wanted in (("listen 50051 ", f"listen {self.address} "),
                                ("/run/nginx-voxloc.pid", f"{folder}/nginx.pid"), *changes):
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, wanted)
        self._config.write_text(text, encoding="utf-8")
        self._write_servers(down=())
        self._run("-t")
        self._log = folder / "nginx.log"
        log = cleanup.enter_context(open(self._log, "wb"))
        self.process = subprocess.Popen(["nginx", "-c", self._config, "-g", "daemon off;"], stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=log)
        cleanup.callback(self._end)
        host, _, port = self.address.partition(":")
        eventually("nginx listens", lambda: socket.create_connection((host, int(port))).close() is None)

    def mark(self, down=()):
        """Takes these servers out; no others are."""
        self._write_servers(down)
        self._run("-s", "reload")

    def log(self):
        return self._log.read_text(encoding="utf-8")

    def flags(self):
        """Of a command of voxloc that goes through it."""
        return ("--server", self.address, "--tls-ca", self.authority)

    def _run(self, *arguments):
        run(["nginx", "-c", self._config, *arguments])

    def _write_servers(self, down):
        """servers.conf as it ships, with the addresses of this test."""
        text = pathlib.Path(self._shipped / "servers.conf").read_text(encoding="utf-8")
        for server in self._servers:
            name = f"voxloc-{server.number}:50051 "
            assert text.count(name) == 1, name
            text = text.replace(name, server.grpc + (" down " if server in down else " "))
        (self._folder / "servers.conf").write_text(text, encoding="utf-8")

    def _end(self):
        self.process.terminate()
        self.process.wait(timeout=TIMEOUT_S)
