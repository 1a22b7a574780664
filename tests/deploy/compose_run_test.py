#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Docker Compose starts compose.yaml, alone and with compose.replicas.yaml, and vehicles drive while
servers are drained, killed and replaced.

    compose_run_test.py SOURCE_DIR BUILD_DIR [--storage DIR] [--vehicles N] [--rate HZ] [UNITTEST...]

The files are run as they are, but for Grafana, by Docker and docker-compose of the distribution: a
dockerd of the test's own, in namespaces of its own, whose ports, addresses and processes the machine
does not see and which end with the test. voxlocd's image has the programs of BUILD_DIR; compose/Dockerfile
makes the others from Debian's packages. --storage keeps the images. Exits with 77 where root, Docker or
a mirror of Debian is missing. Run by `scripts/release-check compose`.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/python"))
try:
    import yaml

    from docker_engine import PROJECT, TIMEOUT_S, call, docker, make_images
except ImportError:
    yaml = None
from certificates import Certificates  # noqa: E402  pylint: disable=wrong-import-position
from waiting import eventually  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
# An alert comes after its minute, at most four times 15 s of scraping, evaluating and grouping, and the
# time that a busy machine takes.
ALERT_TIMEOUT_S = 300
ADDED_CAPABILITIES = {"nginx": {0, 2, 6, 7}}  # CHOWN, DAC_READ_SEARCH, SETGID, SETUID in capability.h


def get(url):
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as page:
        return page.read().decode()


class ComposeTest(unittest.TestCase):
    """All services of the files but Grafana, with a map."""
    options = None
    files = ()
    servers = {}  # service: its name in servers.conf
    others = ()
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cleanup = contextlib.ExitStack()
        cls.addClassCleanup(cls.cleanup.close)
        cls.folder = pathlib.Path(cls.cleanup.enter_context(tempfile.TemporaryDirectory()))
        cls.deploy = cls.folder / PROJECT
        shutil.copytree(cls.options.source / "deploy", cls.deploy)
        certificates = Certificates(cls.folder)
        cls.authority = certificates.authority[0]
        for made, name in zip(certificates.sign("server", "DNS:localhost"), ("tls.crt", "tls.key")):
            shutil.copy(made, cls.deploy / "nginx" / name)
        # A key that is its owner's alone, who is not the user in the container.
        os.chmod(cls.deploy / "nginx/tls.key", 0o600)
        os.chown(cls.deploy / "nginx/tls.key", 1234, 1234)
        cls.town = cls.folder / "town"
        cls.voxloc("simulate", "--size", "100", "--scans", "10", "--map-spacing", "0.2", cls.town)
        call("ip", "link", "set", "lo", "up")
        cls.cleanup.enter_context(docker(cls.options.storage))
        os.environ["VOXLOC_STORE_PASSWORD"] = secrets.token_hex(16)
        # A run that was killed leaves its containers in a storage that is kept.
        cls.compose("down", "--volumes")
        cls.cleanup.callback(cls.compose, "down", "--volumes")
        cls.compose("up", "--detach", "--no-build", *cls.servers, *cls.others)
        cls.voxloc(*cls.client("map", "load", "--map", "town", cls.town / "map"))
        for service in cls.servers:
            cls.wait_until_it_serves(service)

    @classmethod
    def compose(cls, *arguments):
        files = [part for name in cls.files for part in ("--file", cls.deploy / name)]
        return call("docker-compose", *files, "--project-name", PROJECT, *arguments, timeout=3 * TIMEOUT_S)

    @classmethod
    def voxloc(cls, *arguments):
        return call(cls.options.programs / "bin/voxloc", *arguments, timeout=TIMEOUT_S)

    @classmethod
    def inspect(cls, service):
        return json.loads(call("docker", "inspect", f"{PROJECT}_{service}_1"))[0]

    @classmethod
    def wait_until_healthy(cls, service):
        eventually(f"{service} is healthy", lambda: cls.inspect(service)["State"]["Health"]["Status"] == "healthy")

    @classmethod
    def wait_until_it_serves(cls, service, name="town"):
        """Docker calls it healthy, and it has the map."""
        cls.wait_until_healthy(service)
        eventually(f"{service} has the map {name}", lambda: subprocess.run(
            ["docker", "exec", f"{PROJECT}_{service}_1", "voxloc-healthcheck", f"readyz/maps/{name}"], check=False,
            stderr=subprocess.DEVNULL).returncode == 0)

    def stop(self, service):
        """Within the time that the file gives, after which Docker would kill it."""
        self.compose("stop", service)
        self.assertEqual(self.inspect(service)["State"]["ExitCode"], 0, self.compose("logs", service)[-4000:])

    def kill(self, service):
        """From outside, as when it runs out of memory: Docker starts it again."""
        os.kill(self.inspect(service)["State"]["Pid"], signal.SIGKILL)
        eventually(f"{service} was started again", lambda: self.inspect(service)["RestartCount"] == 1)
        self.wait_until_healthy(service)


    def check_live_page(self):
        self.assertIn("EventSource", get("http://127.0.0.1:8080/"))
        with urllib.request.urlopen("http://127.0.0.1:8080/events", timeout=TIMEOUT_S) as events:
            look = next(json.loads(line[len(b"data: "):]) for line in events
                        if line.startswith(b"data: {") and b'"servers"' in line)
        self.assertEqual(look["errors"], [])
        self.assertEqual(len(look["servers"]), len(self.servers))
        for server in look["servers"]:
            self.assertIn("town", [one["name"] for one in server["maps"]])


class OneServer(ComposeTest):
    files = ("compose.yaml",)
    servers = {"voxlocd": None}
    others = ("alertmanager", "page", "prometheus")

    @classmethod
    def client(cls, *arguments):
        return [*arguments, "--server", "localhost:50051"]

    def test_a_map_survives_a_kill_and_a_new_container(self):
        self.kill("voxlocd")
        self.wait_until_it_serves("voxlocd")
        self.stop("voxlocd")
        self.compose("up", "--detach", "--no-build", "--force-recreate", "voxlocd")
        self.wait_until_it_serves("voxlocd")
        self.voxloc(*self.client("locate", "--map", "town", "--points", 1500, min((self.town / "scans").iterdir())))

    def test_the_live_page_has_the_server(self):
        self.check_live_page()

    def test_a_server_plans_with_the_limits_of_its_container(self):
        container = call("docker", "run", "--detach", "--memory=1g", "--cpus=1", "voxloc").strip()
        self.addCleanup(call, "docker", "rm", "--force", "--volumes", container)
        logs = eventually("it serves", lambda: re.search("event=host_resources .*", subprocess.run(
            ["docker", "logs", container], check=True, capture_output=True, text=True).stderr)).group()
        self.assertIn("processors=1 ", logs)
        self.assertIn("memory_bytes=1073741824 ", logs)

    def test_compose_reads_the_file_for_gpus(self):
        read = yaml.safe_load(self.compose("--file", self.deploy / "compose.gpu.yaml", "config"))["services"]["voxlocd"]
        self.assertEqual(read["build"]["target"], "gpu")
        self.assertEqual(read["deploy"]["resources"]["reservations"]["devices"][0]["driver"], "nvidia")


class Replicas(ComposeTest):
    files = ("compose.yaml", "compose.replicas.yaml")
    servers = {"voxlocd": "voxloc-0", "voxloc-1": "voxloc-1", "voxloc-2": "voxloc-2"}
    others = ("alertmanager", "nginx", "page", "postgres", "prometheus")

    @classmethod
    def client(cls, *arguments):
        return [*arguments, "--server", "localhost:50061", "--tls-ca", cls.authority]

    @classmethod
    def sessions(cls, service):
        (network,) = cls.inspect(service)["NetworkSettings"]["Networks"].values()
        page = get(f"http://{network['IPAddress']}:9464/metrics")
        return int(re.search(r"^voxloc_sessions_active (\d+)$", page, re.M).group(1))

    def all_vehicles_on(self, services):
        eventually(f"all vehicles are on {services}",
                   lambda: sum(map(self.sessions, services)) == self.options.vehicles)

    def mark(self, down=()):
        """As deploy/README.md says it: gives these servers no new streams."""
        text = (self.options.source / "deploy/nginx/servers.conf").read_text(encoding="utf-8")
        for service in down:
            text, found = re.subn(f"^server {self.servers[service]}:50051 ", r"\g<0>down ", text, flags=re.M)
            self.assertEqual(found, 1, service)
        (self.deploy / "nginx/servers.conf").write_text(text, encoding="utf-8")
        self.compose("exec", "-T", "nginx", "nginx", "-c", "/etc/voxloc/nginx/nginx.conf", "-s", "reload")

    @staticmethod
    def alerts():
        """Name and instance of all that Alertmanager has."""
        return {(alert["labels"]["alertname"], alert["labels"].get("instance"))
                for alert in json.loads(get("http://127.0.0.1:9093/api/v2/alerts?active=true"))}

    @staticmethod
    def prometheus(path):
        return json.loads(get(f"http://127.0.0.1:9090/api/v1/{path}"))["data"]

    def test_containers_run_without_privileges_on_a_read_only_root(self):
        for service in (*self.servers, *self.others):
            container = self.inspect(service)
            with open(f"/proc/{container['State']['Pid']}/status", encoding="utf-8") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
            added = sum(1 << bit for bit in ADDED_CAPABILITIES.get(service, ()))
            self.assertEqual(int(status["CapBnd"], 16), added, service)
            self.assertEqual(int(status["CapEff"], 16), added, service)
            self.assertEqual(status["NoNewPrivs"], "1", service)
            if service in self.servers:
                self.assertEqual(status["Uid"].split() + status["Gid"].split(), ["10001"] * 8)
            elif service != "nginx":
                self.assertNotIn("0", status["Uid"].split(), service)
            self.assertTrue(os.statvfs(f"/proc/{container['State']['Pid']}/root").f_flag & os.ST_RDONLY, service)

    def test_ports_are_published_to_this_machine_alone(self):
        for service in (*self.servers, *self.others):
            for bindings in self.inspect(service)["NetworkSettings"]["Ports"].values():
                for binding in bindings or ():
                    self.assertEqual(binding["HostIp"], "127.0.0.1", service)

    def test_prometheus_scrapes_all_servers_and_has_the_rules(self):
        eventually("all servers are scraped", lambda: {
            target["labels"]["instance"]: target["health"] for target in self.prometheus("targets")["activeTargets"]
        } == {f"{service}:9464": "up" for service in self.servers})
        shipped = [(group["name"], len(group["rules"])) for path in (self.deploy / "prometheus/rules").glob("*.yml")
                   for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]]
        self.assertTrue(shipped)
        loaded = eventually("all rules were evaluated", self.rules_if_evaluated)
        self.assertEqual(sorted((group["name"], len(group["rules"])) for group in loaded), sorted(shipped))
        self.assertEqual([manager["url"] for manager in self.prometheus("alertmanagers")["activeAlertmanagers"]],
                         ["http://alertmanager:9093/api/v2/alerts"])

    def rules_if_evaluated(self):
        groups = self.prometheus("rules")["groups"]
        return groups if all(rule["health"] == "ok" for group in groups for rule in group["rules"]) else None

    def test_the_live_page_has_all_servers(self):
        self.check_live_page()

    def test_the_database_is_dumped(self):
        dump = call("docker", "exec", f"{PROJECT}_postgres_1", "pg_dump", "--username=voxloc", "--format=custom",
                    "voxloc", errors="replace")
        self.assertTrue(dump.startswith("PGDMP"))

    def test_nginx_starts_while_a_server_does_not_run(self):
        self.stop("voxloc-1")
        self.compose("restart", "nginx")
        eventually("nginx answers", lambda: subprocess.run(
            [self.options.programs / "bin/voxloc", *self.client("map", "list")], check=False, timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0)
        self.compose("start", "voxloc-1")
        self.wait_until_it_serves("voxloc-1")

    def test_no_scan_is_lost_while_servers_are_drained_killed_and_replaced(self):
        result = self.folder / "result.json"
        with open(self.folder / "load-test.log", "wb") as log:
            driving = subprocess.Popen(
                [self.options.programs / "bin/voxloc", *map(str, self.client(
                    "load-test", "--map", "town", "--scans", self.town / "scans", "--poses", self.town / "poses.txt",
                    "--points", 300, "--streams", self.options.vehicles, "--rate", self.options.rate, "--seconds",
                    # Until it is told to end.
                    86400, "--one-outcome", "--json", result))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.all_vehicles_on(self.servers)
            for service in self.servers:
                self.assertGreater(self.sessions(service), 0, service)
            self.drain_one_until_its_alert()
            self.kill("voxloc-2")
            self.wait_until_it_serves("voxloc-2")
            self.all_vehicles_on(self.servers)
            self.replace_all()
            self.kill_the_database()
            self.assertIsNone(driving.poll())
        finally:
            driving.send_signal(signal.SIGINT)
            driving.wait(timeout=TIMEOUT_S)
        text = (self.folder / "load-test.log").read_text(encoding="utf-8")
        counted = json.loads(result.read_text(encoding="utf-8"))
        counts = {key: counted[key] for key in (
            "sent", "answered", "accepted", "superseded", "local_stale", "local_superseded", "lost", "duplicated",
            "unsent", "reconnects", "streams_ended", "problems")}
        print(counts, "pause_ms", counted["pause_ms"])
        self.assertEqual((counts["lost"], counts["duplicated"], counts["streams_ended"]), (0, 0, 0), text)
        self.assertGreater(counts["accepted"], 0)
        self.assertEqual(counts["sent"], sum(counts[key] for key in (
            "answered", "superseded", "local_stale", "local_superseded")), counts)
        self.assertGreaterEqual(counts["reconnects"], self.options.vehicles, counts)

    def drain_one_until_its_alert(self):
        """nginx can be reloaded while the container does not run."""
        others = [service for service in self.servers if service != "voxloc-1"]
        down = ("VoxlocDown", "voxloc-1:9464")
        self.mark(down=["voxloc-1"])
        self.stop("voxloc-1")
        self.all_vehicles_on(others)
        self.mark()
        started = time.monotonic()
        eventually("the alert is at Alertmanager", lambda: down in self.alerts(), ALERT_TIMEOUT_S)
        print(f"VoxlocDown was at Alertmanager after {time.monotonic() - started:.0f} s")
        self.compose("start", "voxloc-1")
        self.wait_until_it_serves("voxloc-1")
        eventually("the alert is over", lambda: down not in self.alerts(), ALERT_TIMEOUT_S)

    def replace_all(self):
        """One after the other, each by a new container, as for a new image."""
        for service in self.servers:
            before = self.inspect(service)["Id"]
            self.mark(down=[service])
            self.stop(service)
            self.compose("up", "--detach", "--no-build", "--no-deps", "--force-recreate", service)
            self.assertNotEqual(self.inspect(service)["Id"], before)
            self.wait_until_it_serves(service)
            self.mark()
            self.all_vehicles_on(self.servers)

    def kill_the_database(self):
        """The servers go on, and take a map once it is there again."""
        self.kill("postgres")
        self.all_vehicles_on(self.servers)
        self.voxloc(*self.client("map", "load", "--map", "second", self.town / "map"))
        for service in self.servers:
            self.wait_until_it_serves(service, "second")


def why_not_here():
    """What is missing to run containers; empty: nothing."""
    if yaml is None:
        return "python3-yaml is not installed"
    if os.geteuid() != 0:
        return "root is needed to run containers"
    for tool in ("buildah", "debootstrap", "docker", "docker-compose", "dockerd", "ip"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    separate = subprocess.run(["unshare", "--net", "--mount", "ip", "link", "add", "type", "bridge"], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return "there can be no network for containers here" if separate.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("programs", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--storage", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--vehicles", type=int, default=6)
    parser.add_argument("--rate", type=float, default=5)
    # Given by the program itself, in the namespaces.
    parser.add_argument("--separate", action="store_true", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if options.separate:
        ComposeTest.options = options
        unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
    missing = why_not_here()
    if missing:
        print(missing)
        return SKIPPED
    with contextlib.ExitStack() as cleanup:
        if not options.storage:
            options.storage = pathlib.Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        options.storage.mkdir(parents=True, exist_ok=True)
        if not make_images(options.source, options.programs, options.storage):
            return SKIPPED
        return subprocess.run(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
             "--mount-proc", sys.executable, *sys.argv, "--storage", options.storage, "--separate"],
            check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
