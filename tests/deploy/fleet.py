# SPDX-License-Identifier: Apache-2.0
"""Three voxlocd with vehicles, a real Prometheus that scrapes them, and faults that can be provoked.

Servers a and b share their maps by a PostgreSQL; c, on a made-up GPU that can fail, has its own. Server a
also has TLS, an access file and a collector of traces that does not answer.
"""

import contextlib
import hashlib
import http.server
import json
import math
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/python"))
import postgres  # noqa: E402  pylint: disable=wrong-import-position
from certificates import Certificates  # noqa: E402  pylint: disable=wrong-import-position
from waiting import eventually, free_port  # noqa: E402  pylint: disable=wrong-import-position

TIMEOUT_S = 60
TOKEN = "token-of-the-operator-of-this-test"
# Sampled, so that spans are made of it.
TRACE = {"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}

SECONDS = {"m": 1, "h": 60, "d": 1440}


def hasten(text):
    """Windows and times of rules and queries with every minute as a second."""
    def seconds(match):
        return f"{match.group(1)}{int(match.group(2)) * SECONDS[match.group(3)]}s"
    return re.sub(r"(\[|\bfor: )(\d+)([mhd])\b", seconds, text)


class Exporter(http.server.ThreadingHTTPServer):
    """NVIDIA's DCGM exporter, with the fields of its default-counters.csv."""

    FIELDS = {"GPU_UTIL": 40, "POWER_USAGE": 300, "GPU_TEMP": 50, "SM_CLOCK": 1900, "XID_ERRORS": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            labels = '{gpu="0",UUID="GPU-1",device="nvidia0",modelName="GPU",Hostname="host"}'
            self.wfile.write("".join(f"DCGM_FI_DEV_{name}{labels} {value}\n"
                                     for name, value in self.server.fields.items()).encode())

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.fields = dict(self.FIELDS)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class OnCall(http.server.ThreadingHTTPServer):
    """The receiver of pages; `paged` has the names of the alerts."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.paged |= {alert["labels"]["alertname"] for alert in message["alerts"]}
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.paged = set()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Server:
    """One voxlocd, started again at the same addresses."""

    def __init__(self, fleet, name, program, *flags, client=()):
        self.fleet, self.name, self.program, self.flags = fleet, name, program, flags
        self.grpc, self.http = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.instance = f"voxloc-{name}:9464"  # as Prometheus calls it
        self.client = ("--server", self.grpc, *client)
        self.process = None

    def start(self, *more, **environment):
        log = self.fleet.cleanup.enter_context(open(self.fleet.folder / f"{self.name}.log", "ab"))
        self.process = subprocess.Popen(
            [self.program, f"--listen={self.grpc}", f"--metrics-listen={self.http}", "--drain-delay-s=0",
             "--drain-spread-s=0", "--drain-timeout-s=0", *self.flags, *more], env={**os.environ, **environment},
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_until_ready(self):
        eventually(f"server {self.name} is ready",
                   lambda: urllib.request.urlopen(f"http://{self.http}/readyz", timeout=TIMEOUT_S).status == 200)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def metric(self, series):
        page = urllib.request.urlopen(f"http://{self.http}/metrics", timeout=TIMEOUT_S).read().decode()
        found = re.search(rf"^{re.escape(series)} (\S+)$", page, re.M)
        return float(found.group(1)) if found else 0.0


class Fleet:
    """Starts everything in `folder`; `cleanup` is an ExitStack that ends it."""

    def __init__(self, source, programs, folder, cleanup):
        self.source, self.folder, self.cleanup = source, folder, cleanup
        self.voxloc = programs / "bin/voxloc"
        self.exporter, self.on_call = Exporter(), OnCall()
        for listener in (self.exporter, self.on_call):
            cleanup.callback(listener.server_close)
            cleanup.callback(listener.shutdown)
        self.database = postgres.Postgres()
        cleanup.callback(self.database.stop)
        self._secure()
        shared = (f"--store.url={self.database.url}", "--store.poll-period-s=0.5")
        voxlocd = programs / "bin/voxlocd"
        self.a = Server(self, "a", voxlocd, *shared, f"--tls.certificate={folder}/tls.pem",
                        f"--tls.private-key={folder}/tls.key", "--tls.refresh-s=0.2",
                        f"--access-file={self.access_file}", "--audit-log=/dev/full",
                        f"--otlp-endpoint=http://127.0.0.1:{free_port()}", f"--data-dir={folder}/data-a",
                        "--capture.max-bytes=1M",
                        client=("--tls-ca", self.certificates.authority[0], "--token-file", folder / "token"))
        self.b = Server(self, "b", voxlocd, *shared, "--limits.max-sessions=16", "--limits.max-maps=2")
        self.c = Server(self, "c", programs / "tests/voxlocd_with_failing_gpu", f"--data-dir={folder}/data-c")
        self.servers = [self.a, self.b, self.c]
        for server in self.servers:
            cleanup.callback(server.kill)
            server.start()
        for server in self.servers:
            server.wait_until_ready()
        self._load_maps()
        for server in self.servers:
            self.drive(server)
            eventually("its vehicles are localized", lambda at=server: at.metric("voxloc_sessions_localized") == 2)
        self._start_alertmanager()
        self._start_prometheus()

    def _secure(self):
        self.certificates = Certificates(self.folder)
        self.renew_certificate(days=90)
        self.access_file = self.folder / "access.yaml"
        self.access_file.write_text(
            "identities:\n  operator:\n    token_sha256: "
            f"[{hashlib.sha256(TOKEN.encode()).hexdigest()}]\n    roles: [track, score, map-write, admin]\n",
            encoding="utf-8")
        (self.folder / "token").write_text(TOKEN, encoding="utf-8")
        (self.folder / "wrong-token").write_text("token-of-nobody-which-is-as-long-as", encoding="utf-8")

    def renew_certificate(self, days):
        certificate, key = self.certificates.sign(f"server-{days}", "IP:127.0.0.1", days)
        shutil.copy(key, self.folder / "tls.key")
        shutil.copy(certificate, self.folder / "tls.pem")

    def _load_maps(self):
        for scene, *flags in (("town", "--size", "100"), ("tunnel",)):
            self.call("simulate", "--scene", scene, *flags, "--scans", "20", "--map-spacing", "0.2", self.folder / scene)
        # Another town: the same streets cannot be found in it.
        self.call("simulate", "--size", "100", "--seed", "7", "--scans", "1", "--map-spacing", "0.2",
                  self.folder / "other")
        for server in (self.b, self.c):
            self.load(server, "town", "town")
        eventually("server a has followed", lambda: self.a.metric('voxloc_map_revision{map="town"}') == 1)

    def _start_alertmanager(self):
        """With the project's configuration, whose on-call receiver gets an address."""
        text = (self.source / "deploy/alertmanager/alertmanager.yml").read_text(encoding="utf-8")
        text = text.replace("# webhook_configs:", "webhook_configs:").replace(
            "#   - url: https://pager.example.com/hook", f"  - url: http://127.0.0.1:{self.on_call.server_port}/")
        config = self.folder / "alertmanager.yml"
        config.write_text(text.replace("group_wait: 30s", "group_wait: 1s").replace("group_interval: 5m",
                                                                                    "group_interval: 5s"))
        self.alertmanager = f"127.0.0.1:{free_port()}"
        self.run("prometheus-alertmanager", f"--config.file={config}", f"--web.listen-address={self.alertmanager}",
                 "--cluster.listen-address=", f"--storage.path={self.folder}/alertmanager")
        eventually("Alertmanager is ready",
                   lambda: urllib.request.urlopen(f"http://{self.alertmanager}/-/ready", timeout=TIMEOUT_S))

    def _start_prometheus(self):
        shutil.copytree(self.source / "deploy/prometheus", self.folder / "prometheus")
        config = self.folder / "prometheus/prometheus.yml"
        text = config.read_text(encoding="utf-8").replace("interval: 15s", "interval: 1s")
        text = text.replace('["voxlocd:9464"]', "[]").replace("alertmanager:9093", self.alertmanager)
        text = text.replace("/etc/voxloc/prometheus-targets", f"{self.folder}/targets")
        config.write_text(text, encoding="utf-8")
        for rules in (config.parent / "rules").iterdir():
            rules.write_text(hasten(rules.read_text(encoding="utf-8")), encoding="utf-8")
        (config.parent / "dcgm-targets.yml").write_text(f'- targets: ["127.0.0.1:{self.exporter.server_port}"]\n',
                                                        encoding="utf-8")
        (self.folder / "targets").mkdir()
        self.scrape(*self.servers)
        address = f"127.0.0.1:{free_port()}"
        self.api = f"http://{address}/api/v1/"
        self.began_s = time.time()
        self.run("prometheus", f"--config.file={config}", f"--web.listen-address={address}",
                 f"--storage.tsdb.path={self.folder}/tsdb")
        eventually("Prometheus has scraped all", lambda: len(self.values("up == 1")) == len(self.servers) + 1)

    def scrape(self, *servers):
        """Has Prometheus scrape these servers and no others."""
        file = self.folder / "targets/new"
        file.write_text(json.dumps([{"targets": [server.http], "labels": {"instance": server.instance}}
                                    for server in servers]), encoding="utf-8")
        file.rename(self.folder / "targets/servers.yml")

    # --- programs ---

    def run(self, *command, **environment):
        """Starts a program that ends with the fleet."""
        log = self.cleanup.enter_context(open(self.folder / f"{pathlib.Path(command[0]).name}.log", "ab"))
        process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env={**os.environ, **environment})
        self.cleanup.callback(process.wait)
        self.cleanup.callback(process.kill)
        return process

    def call(self, *arguments, check=True):
        done = subprocess.run([str(self.voxloc), *map(str, arguments)], check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0 or not check, f"{arguments}: {done.returncode}\n{done.stderr}"

    def load(self, server, name, scene, *flags):
        self.call("map", "load", *server.client, "--map", name, *flags, self.folder / scene / "map")

    def drive(self, server, *flags, town="town", seconds=1000, streams=2, rate=3, points=1500, **environment):
        """Vehicles in the background, until the seconds or the fleet end."""
        return self.run(self.voxloc, "load-test", *server.client, "--map", town, "--scans", self.folder / town / "scans",
                        "--poses", self.folder / town / "poses.txt", "--streams", streams, "--rate", rate, "--points",
                        points, "--seconds", seconds, "--ramp", "0.2", *flags, **environment)

    # --- Prometheus ---

    def get(self, path, **query):
        data = urllib.parse.urlencode(query).encode() if query else None
        with urllib.request.urlopen(self.api + path, data, timeout=TIMEOUT_S) as answer:
            return json.load(answer)["data"]

    def values(self, expression):
        return self.get("query", query=expression)["result"]

    def history(self, expression, end_s=None):
        """The series since the beginning."""
        return self.get("query_range", query=expression, start=self.began_s, end=end_s or time.time(), step=1)["result"]

    def has_had_a_value(self, expression):
        """Whether it was a number at some time."""
        return any(math.isfinite(float(value)) for one in self.history(expression) for _, value in one["values"])

    def fired(self):
        """The alerts that have fired, those of several windows with the window."""
        seen = self.values('count by (alertname, window) (last_over_time(ALERTS{alertstate="firing"}[1h]))')
        return {" ".join(filter(None, (one["metric"]["alertname"], one["metric"].get("window")))) for one in seen}

    def inhibited(self):
        """The labels of the alerts that Alertmanager does not pass on, since others make them redundant."""
        with urllib.request.urlopen(f"http://{self.alertmanager}/api/v2/alerts", timeout=TIMEOUT_S) as answer:
            return [alert["labels"] for alert in json.load(answer) if alert["status"]["inhibitedBy"]]

    def rules(self):
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    # --- faults ---

    def gpu_error(self):
        self.exporter.fields["XID_ERRORS"] = 79

    def bad_credentials(self):
        end = time.monotonic() + 25
        while time.monotonic() < end and "VoxlocAccessDenied" not in self.fired():
            for _ in range(10):
                self.call("map", "list", *self.a.client[:-1], self.folder / "wrong-token", check=False)

    def broken_access_file(self):
        good = self.access_file.read_text(encoding="utf-8")
        self.access_file.write_text(good.replace("roles", "rolls"), encoding="utf-8")
        eventually("it was refused", lambda: self.a.metric(
            'voxloc_security_reloads_total{file="access",outcome="failed"}'))
        self.access_file.write_text(good, encoding="utf-8")

    def short_certificate(self):
        self.renew_certificate(days=1)

    def traces_without_collector(self):
        self.drive(self.a, **TRACE)

    def wrong_guesses(self):
        self.drive(self.b, "--perturb", "15,15,0,0,0,60", streams=4, seconds=15)

    def tunnel(self):
        self.load(self.b, "tunnel", "tunnel")
        self.drive(self.b, town="tunnel", streams=4, seconds=20)

    def search_elsewhere(self):
        self.call("locate", *self.b.client, "--map", "town", "--prior", "900,900,0,0,0,0", self._scan(), check=False)

    def _scan(self):
        return next(iter(sorted((self.folder / "town/scans").iterdir())))

    def worse_canary(self):
        self.load(self.a, "town", "other", "--canary", "bus-7")
        self.drive(self.a, "--vehicle", "bus-7", seconds=25)

    def activate_canary_on_one_store(self):
        # An update that is too late changes nothing.
        self.call("map", "load", *self.a.client, "--map", "town", "--base-revision", "99", self.folder / "other/map",
                  check=False)
        self.call("map", "activate", *self.a.client, "--map", "town", "--revision", "2")

    def too_many_sessions(self):
        self.repeat(12, lambda: self.drive(self.b, streams=30, rate=0.2, seconds=0.5).wait())

    @staticmethod
    def repeat(seconds, action):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            action()

    def overload(self):
        self.drive(self.c, streams=30, rate=0, points=0, seconds=20)
        self.drive(self.c, streams=10, rate=4, points=0, seconds=20)

    def failing_calls(self):
        self.drive(self.c, streams=10, rate=5, seconds=15)
        self.c.process.send_signal(signal.SIGUSR2)

    def dead_gpu(self):
        self.c.process.send_signal(signal.SIGUSR1)

    def killed(self):
        self.c.kill()
        eventually("the page has come", lambda: "VoxlocDown" in self.on_call.paged)

    def dead_gpu_without_standby(self):
        self.c.start(VOXLOC_NO_STANDBY="1")
        self.c.wait_until_ready()
        self.dead_gpu()

    def damaged_tile_and_restarts(self):
        self.c.kill()
        with contextlib.closing(sqlite3.connect(self.folder / "data-c/maps.db")) as store, store:
            tile, digest = store.execute("SELECT id, hex(digest) FROM contents ORDER BY id LIMIT 1").fetchone()
            store.execute("UPDATE pieces SET data = zeroblob(length(data)) WHERE content_id = ?", (tile,))
        # The others come from the cache, so that a start takes a moment.
        for cached in (self.folder / "data-c/moments").glob(f"*{digest.lower()}*"):
            cached.unlink()
        for _ in range(3):
            self.c.kill()
            self.c.start("--limits.max-map-memory-bytes=4M")
            self.c.wait_until_ready()
            ready = (f'voxloc_server_ready{{instance="{self.c.instance}"}} == 1 and process_start_time_seconds == '
                     f'{self.c.metric("process_start_time_seconds")}')
            eventually("Prometheus has seen it", lambda query=ready: self.values(query))
        self.drive(self.c)

    def map_that_one_server_refuses(self):
        self.load(self.a, "third", "other")

    def lost_connections(self):
        def terminate():
            subprocess.run(["psql", "--quiet", "--dbname", self.database.url, "--command",
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"],
                           check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
            time.sleep(1)
        self.repeat(12, terminate)

    def drained(self):
        self.call("admin", "drain", *self.b.client)

    def no_targets(self):
        self.scrape()
