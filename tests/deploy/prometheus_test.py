#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a real Prometheus scrape a live voxlocd: prometheus_test.py SOURCE_DIR VOXLOCD VOXLOC.

Every expression of the rules and dashboards in deploy/ is evaluated: none may be empty, and none may
name a metric that is not there. The server shares its maps by a PostgreSQL where one is installed. Exits
with 77 where Prometheus is not installed.
"""

import contextlib
import http.server
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
import urllib.request

import dashboards

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/python"))
import postgres  # noqa: E402  pylint: disable=wrong-import-position
from waiting import eventually, free_port  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
TIMEOUT_S = 60

# What only a server with a GPU has.
OF_GPU_SERVERS = {"voxloc_engine_memory_total_bytes", "voxloc_engine_memory_used_bytes"}

# Fields of NVIDIA's DCGM exporter, as its default-counters.csv names them.
DCGM_PAGE = "".join(
    f'{name}{{gpu="0",UUID="GPU-1",device="nvidia0",modelName="GPU",Hostname="host"}} {value}\n'
    for name, value in (("DCGM_FI_DEV_GPU_UTIL", 40), ("DCGM_FI_DEV_POWER_USAGE", 300),
                        ("DCGM_FI_DEV_GPU_TEMP", 50), ("DCGM_FI_DEV_SM_CLOCK", 1900),
                        ("DCGM_FI_DEV_XID_ERRORS", 0)))

VARIABLES = {"$job": ".+", "$instance": ".+", "$map": ".+", "$__rate_interval": "10s"}


class DcgmPage(http.server.BaseHTTPRequestHandler):
    """Answers as the exporter does."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(DCGM_PAGE.encode())

    def log_message(self, *_):
        pass


def without_comparison(expression):
    """An alert's expression as its operands: it has a value also where the alert does not fire."""
    expression = re.sub(r"\babsent\(", "count(", expression)
    expression = expression.replace(" unless on ", " or on ")
    return re.sub(r" (==|!=|>=|<=|>|<) (?!bool)", r" \1 bool ", expression)


def metrics_of(expression):
    """The names of the metrics in an expression."""
    bare = re.sub(r"\{[^}]*\}", "", re.sub(r'"[^"]*"', "", expression))
    bare = re.sub(r"\b(by|on|without|group_left|ignoring)\s*\([^)]*\)", "", bare)
    return set(re.findall(r"\b(?:[a-z_]+:)?(?:voxloc|process|DCGM)_[A-Za-z0-9_:]*|\bup\b|\bALERTS\b", bare))


class Scraped(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cleanup = contextlib.ExitStack()
        cls.addClassCleanup(cls.cleanup.close)
        cls.folder = pathlib.Path(cls.cleanup.enter_context(tempfile.TemporaryDirectory()))
        exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), DcgmPage)
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        cls.cleanup.callback(exporter.server_close)
        cls.cleanup.callback(exporter.shutdown)
        cls.grpc = f"127.0.0.1:{free_port()}"
        metrics = f"127.0.0.1:{free_port()}"
        store = []
        if postgres.is_installed():
            database = postgres.Postgres()
            cls.cleanup.callback(database.stop)
            store = [f"--store.url={database.url}"]
        cls.start(cls.voxlocd, f"--listen={cls.grpc}", f"--metrics-listen={metrics}",
                  f"--data-dir={cls.folder}/data", *store)
        eventually("voxlocd is ready", lambda: urllib.request.urlopen(f"http://{metrics}/readyz"))
        cls.drive()
        cls.scrape(metrics, f"127.0.0.1:{exporter.server_port}")

    @classmethod
    def start(cls, *command):
        log = cls.cleanup.enter_context(open(cls.folder / f"{pathlib.Path(command[0]).name}.log", "wb"))
        process = subprocess.Popen([*map(str, command)], stdout=log, stderr=log)

        def stop():
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        cls.cleanup.callback(stop)

    @classmethod
    def run_voxloc(cls, *arguments):
        subprocess.run([cls.voxloc, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL,
                       timeout=TIMEOUT_S)

    @classmethod
    def drive(cls):
        town = cls.folder / "town"
        cls.run_voxloc("simulate", "--size", "100", "--scans", "20", "--map-spacing", "0.2", town)
        server = ("--server", cls.grpc)
        cls.run_voxloc("map", "load", *server, "--map", "town", town / "map")
        cls.replay = ("replay", *server, "--map", "town", "--scans", town / "scans", "--poses",
                      town / "poses.txt")
        cls.run_voxloc(*cls.replay)

    @classmethod
    def scrape(cls, metrics, dcgm):
        """Starts Prometheus with the project's configuration, every second and of these targets."""
        shutil.copytree(cls.source / "deploy/prometheus", cls.folder / "prometheus")
        config = cls.folder / "prometheus/prometheus.yml"
        text = config.read_text(encoding="utf-8")
        text = text.replace("interval: 15s", "interval: 1s").replace("voxlocd:9464", metrics)
        config.write_text(text, encoding="utf-8")
        (config.parent / "dcgm-targets.yml").write_text(f'- targets: ["{dcgm}"]\n', encoding="utf-8")
        address = f"127.0.0.1:{free_port()}"
        cls.api = f"http://{address}/api/v1/"
        cls.start("prometheus", f"--config.file={config}", f"--web.listen-address={address}",
                  f"--storage.tsdb.path={cls.folder}/tsdb")
        eventually("Prometheus has scraped all targets twice", lambda: len(cls.values(
            'count_over_time(up[1m]) >= 2')) == 2)
        # Counters have to grow while they are scraped.
        cls.run_voxloc(*cls.replay)
        eventually("the recording rules have values", lambda: cls.values(
            "instance:voxloc_scans_received:rate5m > 0"))

    @classmethod
    def get(cls, path, **query):
        with urllib.request.urlopen(f"{cls.api}{path}?{urllib.parse.urlencode(query)}",
                                    timeout=TIMEOUT_S) as answer:
            return json.load(answer)["data"]

    @classmethod
    def values(cls, expression):
        return cls.get("query", query=expression)["result"]

    def all_rules(self):
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def expressions(self):
        """Every expression of rules and dashboards, ready to be evaluated, and where it stands."""
        for rule in self.all_rules():
            yield f"rule {rule['name']}", without_comparison(rule["query"])
        for dashboard in dashboards.load_dashboards(self.source).values():
            for place, expression in dashboards.queries_of(dashboard):
                if "annotation" in place:
                    expression = without_comparison(expression)
                for variable, value in VARIABLES.items():
                    expression = expression.replace(variable, value)
                yield place, expression
        # What prometheus-adapter asks for the autoscaler of Kubernetes, for one pod.
        adapter = (self.source / "deploy/kubernetes/components/autoscaling/prometheus-adapter.yaml")
        query = re.search(r"metricsQuery: >-\n((?: {8}.*\n)+)", adapter.read_text(encoding="utf-8")).group(1)
        for placeholder, value in (("Series", "voxloc_queue_wait_seconds_bucket"), ("GroupBy", "instance"),
                                   ("LabelMatchers", 'job="voxloc"')):
            self.assertIn(f"<<.{placeholder}>>", query)
            query = query.replace(f"<<.{placeholder}>>", value)
        yield "prometheus-adapter.yaml", query

    def test_no_expression_is_empty(self):
        expressions = [(place, expression) for place, expression in self.expressions()
                       if not metrics_of(expression) & (OF_GPU_SERVERS | {"ALERTS"})]
        self.assertGreater(len(expressions), 100)
        empty = expressions

        def none_is_left():
            nonlocal empty
            empty = [(place, expression) for place, expression in empty if not self.values(expression)]
            return not empty

        # Groups of recording rules are evaluated one after the other, at different moments.
        with contextlib.suppress(AssertionError):
            eventually("every expression has had a value", none_is_left)
        self.assertEqual(empty, [])

    def test_no_expression_names_an_unknown_metric(self):
        known = set(self.get("label/__name__/values")) | OF_GPU_SERVERS | {"ALERTS"}
        for place, expression in self.expressions():
            named = metrics_of(expression)
            self.assertTrue(named, f"{place}: {expression}")
            self.assertEqual(named - known, set(), place)

    def test_a_healthy_server_raises_no_alert(self):
        firing = [alert["labels"]["alertname"] for alert in self.get("alerts")["alerts"]
                  if alert["state"] == "firing"]
        self.assertEqual(firing, [])

    def test_rules_are_evaluated_without_errors(self):
        rules = self.all_rules()
        self.assertGreater(len(rules), 40)
        for rule in rules:
            self.assertEqual(rule["health"], "ok", rule["name"])


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        print("Prometheus is not installed")
        sys.exit(SKIPPED)
    Scraped.source, Scraped.voxlocd, Scraped.voxloc = map(pathlib.Path, sys.argv[1:4])
    del sys.argv[1:]
    unittest.main()
