#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile and the compose files run voxlocd with the configurations in deploy/, as an
unprivileged user: containers_test.py SOURCE_DIR PROGRAMS_DIR.

Nothing is built or run in a container: what the files say is compared with each other and with
what `voxlocd --check-config` and `--print-config` say of the configuration.
"""

import ipaddress
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import urllib.parse

PROGRAMS = pathlib.Path(sys.argv.pop()).resolve()
SOURCE = pathlib.Path(sys.argv.pop()).resolve()
DEPLOY = SOURCE / "deploy"
CONFIG = "/etc/voxloc/voxlocd.yaml"  # in the images


def voxlocd(*arguments, **variables):
    """What it prints; its errors fail the test."""
    return subprocess.run([PROGRAMS / "voxlocd", *arguments], check=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env={**os.environ, **variables}).stdout


def basic_configuration(**variables):
    return voxlocd(f"--config={DEPLOY / 'voxlocd.basic.yaml'}", "--print-config", **variables)


def load(name):
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def mounts_of(service):
    return dict(mount.split(":")[:2] for mount in service["volumes"])


def scrape_job():
    (job,) = (job for job in load("prometheus/prometheus.yml")["scrape_configs"] if job["job_name"] == "voxloc")
    return job


class Images(unittest.TestCase):
    """Stages that are not only built from: those with an entry point."""

    @classmethod
    def setUpClass(cls):
        text = (SOURCE / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
        stages = [stage.splitlines() for stage in re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]]
        cls.images = [lines for lines in stages
                      if any(line.startswith("ENTRYPOINT") for line in lines)]

    def test_both_have_the_basic_configuration(self):
        self.assertEqual(len(self.images), 2)
        for lines in self.images:
            (copied,) = (line.split() for line in lines if line.startswith("COPY") and CONFIG in line)
            self.assertEqual(copied[-2:], ["deploy/voxlocd.basic.yaml", CONFIG])
            (command,) = (json.loads(line[4:]) for line in lines if line.startswith("CMD "))
            self.assertEqual(command, [f"--config={CONFIG}"])

    def test_they_run_as_a_user_who_owns_the_volume_alone(self):
        for lines in self.images:
            instructions = [line.split()[0] for line in lines[1:] if line and line[0].isupper()]
            users = [line.split()[1] for line in lines if line.startswith("USER ")]
            self.assertEqual(users, ["10001:10001"])
            self.assertNotIn("RUN", instructions[instructions.index("USER"):])
            self.assertIn("VOLUME /var/lib/voxloc", lines)
            self.assertTrue(any("install -d -o voxloc -g voxloc /var/lib/voxloc" in line
                                for line in lines))


try:
    import yaml
except ImportError:
    yaml = None


class Configurations(unittest.TestCase):
    def test_the_basic_one_is_valid_and_keeps_maps_in_the_volume(self):
        config = basic_configuration()
        for key, value in (("data_dir", "/var/lib/voxloc"), ("listen", "0.0.0.0:50051"),
                           ("metrics_listen", "0.0.0.0:9464")):
            self.assertRegex(config, rf'(?m)^{key}: "?{re.escape(value)}"? *(#.*)?$')


class ComposeTest(unittest.TestCase):
    def check_mounts(self, services):
        for name, service in services.items():
            for mount in service.get("volumes", []):
                if mount.startswith("./"):
                    self.assertTrue((DEPLOY / mount.split(":")[0]).exists(), f"{name}: {mount}")
                    self.assertTrue(mount.endswith(":ro"), f"{name}: {mount}")

    def check_privileges(self, name, service):
        self.assertEqual(service["cap_drop"], ["ALL"], name)
        self.assertEqual(service["security_opt"], ["no-new-privileges:true"], name)


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class Compose(ComposeTest):
    def setUp(self):
        self.services = load("compose.yaml")["services"]

    def test_it_mounts_the_basic_configuration_and_a_volume(self):
        service = self.services["voxlocd"]
        self.assertEqual(service["command"], [f"--config={CONFIG}"])
        self.assertEqual(mounts_of(service)["./voxlocd.basic.yaml"], CONFIG)
        self.assertEqual(mounts_of(service)["voxloc-data"], "/var/lib/voxloc")

    def test_it_runs_without_privileges_and_is_published_to_this_machine_alone(self):
        for name, service in self.services.items():
            self.check_privileges(name, service)
            self.assertNotIn("user", service)  # that of the image
            for port in service["ports"]:
                self.assertTrue(port.startswith("127.0.0.1:"), port)
        service = self.services["voxlocd"]
        self.assertTrue(service["read_only"])
        self.assertEqual({port.rpartition(":")[2] for port in service["ports"]}, {"50051", "9464"})

    def test_prometheus_and_grafana_are_provisioned_and_find_one_another(self):
        self.assertEqual(set(self.services), {"voxlocd", "prometheus", "alertmanager", "grafana"})
        self.check_mounts(self.services)
        for service in self.services.values():
            if "image" in service:
                self.assertRegex(service["image"], r"^docker\.io/.*:v?\d+\.\d+\.\d+$")
        grafana = mounts_of(self.services["grafana"])
        self.assertEqual(mounts_of(self.services["prometheus"])["./prometheus"], "/etc/prometheus")
        self.assertEqual(grafana["./grafana/provisioning"], "/etc/grafana/provisioning")
        self.assertEqual(scrape_job()["static_configs"][0]["targets"], ["voxlocd:9464"])
        alerting = load("prometheus/prometheus.yml")["alerting"]["alertmanagers"]
        self.assertEqual(alerting[0]["static_configs"][0]["targets"], ["alertmanager:9093"])
        self.assertIn("127.0.0.1:9093:9093", self.services["alertmanager"]["ports"])
        sources = load("grafana/provisioning/datasources/prometheus.yaml")
        self.assertEqual(sources["datasources"][0]["url"], "http://prometheus:9090")
        providers = load("grafana/provisioning/dashboards/voxloc.yaml")
        self.assertEqual(providers["providers"][0]["options"]["path"], grafana["./grafana/dashboards"])
        home = self.services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        self.assertTrue((DEPLOY / "grafana/dashboards" / pathlib.PurePath(home).name).is_file())

    def test_alertmanager_has_a_receiver_for_every_route_and_knows_the_severities(self):
        self.assertEqual(mounts_of(self.services["alertmanager"])["./alertmanager"], "/etc/alertmanager")
        config = load("alertmanager/alertmanager.yml")
        routes = [config["route"], *config["route"]["routes"]]
        self.assertLessEqual({route["receiver"] for route in routes},
                             {receiver["name"] for receiver in config["receivers"]})
        rules = [rule for group in load("prometheus/rules/alerts.yml")["groups"] for rule in group["rules"]]
        severities = {rule["labels"]["severity"] for rule in rules}
        matchers = [matcher for route in routes for matcher in route.get("matchers", [])]
        matchers += [matcher for rule in config["inhibit_rules"] for matcher in rule["target_matchers"]]
        for matcher in matchers:
            name, values = re.fullmatch(r'(\w+)=~?"(.*)"', matcher).groups()
            self.assertEqual(name, "severity")
            self.assertLessEqual(set(values.split("|")), severities)
        names = {rule["alert"] for rule in rules}
        for rule in config["inhibit_rules"]:
            for matcher in rule["source_matchers"]:
                self.assertLessEqual(set(re.fullmatch(r'alertname=~"(.*)"', matcher).group(1).split("|")), names)

    def test_what_the_gpu_file_overrides_are_variables_that_the_server_knows(self):
        service = load("compose.gpu.yaml")["services"]["voxlocd"]
        self.assertNotIn("command", service)
        self.assertTrue(service["environment"])
        self.assertIn("VOXLOCD_DEVICES", basic_configuration(**service["environment"]))


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class ComposeReplicas(ComposeTest):
    """The file of several servers on one database, as an override for the first file."""

    @classmethod
    def setUpClass(cls):
        cls.base = load("compose.yaml")["services"]
        cls.file = load("compose.replicas.yaml")
        cls.services = cls.file["services"]
        cls.servers = {"voxlocd": {**cls.base["voxlocd"], **cls.services["voxlocd"]},
                       **{name: service for name, service in cls.services.items()
                          if name.startswith("voxloc-")}}

    def test_all_servers_run_as_the_first_one_does_but_for_its_ports(self):
        self.assertEqual(len(self.servers), 3)
        first = self.base["voxlocd"]
        for name, service in self.servers.items():
            for key in set(first) - {"ports", "volumes"}:
                self.assertEqual(service[key], first[key], f"{name}: {key}")
            self.assertEqual(mounts_of(service)["./voxlocd.basic.yaml"], CONFIG)
        self.assertNotIn("ports", self.services["voxlocd"])

    def test_no_two_of_them_share_a_volume(self):
        volumes = [mount.split(":")[0] for service in self.servers.values()
                   for mount in service["volumes"] if mount.endswith(":/var/lib/voxloc")]
        self.assertEqual(len(volumes), 3)
        self.assertEqual(len(set(volumes)), 3)
        self.assertEqual(set(self.file["volumes"]) - {"postgres-data"}, set(volumes) - {"voxloc-data"})

    def test_all_have_the_maps_in_the_database_that_is_started(self):
        database = self.services["postgres"]["environment"]
        for service in self.servers.values():
            environment = service["environment"]
            config = basic_configuration(VOXLOCD_STORE_URL=environment["VOXLOCD_STORE_URL"])
            self.assertIn(environment["VOXLOCD_STORE_URL"], config)
            url = urllib.parse.urlsplit(environment["VOXLOCD_STORE_URL"])
            self.assertEqual((url.username, url.hostname, url.port, url.path[1:]),
                             (database["POSTGRES_USER"], "postgres", 5432, database["POSTGRES_DB"]))
            self.assertEqual(service["depends_on"], {"postgres": {"condition": "service_healthy"}})
            # From the caller's environment alone, which must have it.
            self.assertEqual(environment["PGPASSWORD"], database["POSTGRES_PASSWORD"])
        self.assertRegex(database["POSTGRES_PASSWORD"], r"^\$\{VOXLOC_STORE_PASSWORD:\?.+\}$")

    def test_what_is_new_runs_without_privileges_and_is_published_to_this_machine_alone(self):
        for name in ("postgres", "nginx"):
            service = self.services[name]
            self.assertRegex(service["image"], r"^docker\.io/library/.*:\d+(\.\d+){1,2}$")
            self.assertTrue(service["read_only"], name)
            self.check_privileges(name, service)
        self.assertEqual(self.services["postgres"]["user"], "postgres")
        self.assertNotIn("cap_add", self.services["postgres"])
        self.assertNotIn("ports", self.services["postgres"])
        ports = [port for service in self.services.values() for port in service.get("ports", [])]
        self.assertEqual(ports, ["127.0.0.1:50061:50051"])
        taken = {port.rsplit(":", 1)[0] for service in self.base.values() for port in service["ports"]}
        self.assertFalse(taken & {port.rsplit(":", 1)[0] for port in ports})

    def test_nginx_and_prometheus_know_all_servers(self):
        # nginx has the addresses of the names, also of containers that do not run.
        hosts = dict(host.split(":") for host in self.services["nginx"]["extra_hosts"])
        nginx = (DEPLOY / "nginx/servers.conf").read_text(encoding="utf-8")
        self.assertEqual(sorted(re.findall(r"^server ([^:]+):50051 ", nginx, re.M)), sorted(hosts))
        addresses = [service["networks"]["default"]["ipv4_address"] for service in self.servers.values()]
        self.assertEqual(sorted(hosts.values()), sorted(addresses))
        (network,) = self.file["networks"]["default"]["ipam"]["config"]
        for address in map(ipaddress.ip_address, addresses):
            self.assertIn(address, ipaddress.ip_network(network["subnet"]))
            self.assertNotIn(address, ipaddress.ip_network(network["ip_range"]))
        self.assertEqual(set(self.services["nginx"]["depends_on"]), set(self.servers))
        job = scrape_job()
        (folder,) = self.services["prometheus"]["volumes"]
        source, target = folder.split(":")[:2]
        self.assertEqual([f"{target}/*.yml"], job["file_sd_configs"][0]["files"])
        scraped = list(job["static_configs"][0]["targets"])
        for path in (DEPLOY / source).glob("*.yml"):
            scraped += [address for group in yaml.safe_load(path.read_text(encoding="utf-8"))
                        for address in group["targets"]]
        self.assertEqual(sorted(scraped), sorted(f"{name}:9464" for name in self.servers))

    def test_what_is_mounted_is_there(self):
        self.check_mounts(self.services)
        # A key that lies beside nginx's configuration gets into no image and no commit.
        for name in (".dockerignore", ".gitignore"):
            self.assertIn("deploy/nginx/tls.*", (SOURCE / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
