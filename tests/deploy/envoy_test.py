#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/envoy/envoy.yaml against Envoy's own schema, and against deploy/: envoy_test.py SOURCE_DIR.

Exits with 77 where python3-yaml or python3-protobuf is not installed.
"""

import copy
import gzip
import pathlib
import sys
import unittest

try:
    import yaml
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
except ImportError as missing:
    print(f"{missing.name} is not installed")
    sys.exit(77)

SOURCE = pathlib.Path(sys.argv.pop())


def load_pool():
    files = descriptor_pb2.FileDescriptorSet()
    files.ParseFromString(gzip.decompress((SOURCE / "tests/deploy/envoy/envoy.binpb.gz").read_bytes()))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


POOL = load_pool()
FACTORY = message_factory.MessageFactory(POOL)
BOOTSTRAP = FACTORY.GetPrototype(POOL.FindMessageTypeByName("envoy.config.bootstrap.v3.Bootstrap"))


def parse(config):
    """Raises json_format.ParseError for what Envoy's schema does not have."""
    for name in ("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
                 "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                 "envoy.extensions.filters.http.router.v3.Router",
                 "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"):
        FACTORY.GetPrototype(POOL.FindMessageTypeByName(name))
    return json_format.ParseDict(config, BOOTSTRAP(), descriptor_pool=POOL)


class Envoy(unittest.TestCase):
    def setUp(self):
        self.config = yaml.safe_load((SOURCE / "deploy/envoy/envoy.yaml").read_text(encoding="utf-8"))
        self.listener = self.config["static_resources"]["listeners"][0]
        self.cluster = self.config["static_resources"]["clusters"][0]
        self.manager = self.listener["filter_chains"][0]["filters"][0]["typed_config"]

    def test_it_fits_the_schema_of_envoy(self):
        bootstrap = parse(self.config)
        self.assertEqual(bootstrap.static_resources.clusters[0].name, "voxloc")
        self.assertEqual(bootstrap.static_resources.clusters[0].lb_policy,
                         bootstrap.static_resources.clusters[0].LEAST_REQUEST)

    def test_the_schema_finds_wrong_names_values_and_types(self):
        for change in (lambda config: config["static_resources"]["clusters"][0].update(lb_polici="LEAST_REQUEST"),
                       lambda config: config["static_resources"]["clusters"][0].update(lb_policy="LEAST_REQUESTS"),
                       lambda config: config["static_resources"]["clusters"][0].update(connect_timeout="soon"),
                       lambda config: config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]
                       ["typed_config"].update(stream_timeout="1s")):
            wrong = copy.deepcopy(self.config)
            change(wrong)
            with self.assertRaises(json_format.ParseError):
                parse(wrong)

    def test_it_can_route_by_the_metadata_of_the_clients(self):
        ((policy,),) = [route["route"]["hash_policy"] for host in self.manager["route_config"]["virtual_hosts"]
                        for route in host["routes"]]
        client = (SOURCE / "clients/cpp/channel.cc").read_text(encoding="utf-8")
        self.assertIn(f'AddMetadata("{policy["header"]["header_name"]}", ', client)
        by_map = copy.deepcopy(self.config)
        by_map["static_resources"]["clusters"][0].update(
            lb_policy="RING_HASH", common_lb_config={"consistent_hashing_lb_config": {"hash_balance_factor": 150}})
        cluster = parse(by_map).static_resources.clusters[0]
        self.assertEqual(cluster.lb_policy, cluster.RING_HASH)

    def test_streams_last_and_go_to_ready_servers_of_the_kubernetes_service(self):
        (host,) = self.manager["route_config"]["virtual_hosts"]
        (route,) = host["routes"]
        self.assertEqual(route["route"]["timeout"], "0s")
        self.assertEqual(route["route"]["cluster"], self.cluster["name"])
        # voxlocd's own limit of silent streams comes first.
        full = yaml.safe_load((SOURCE / "deploy/voxlocd.full.yaml").read_text(encoding="utf-8"))
        self.assertGreater(float(self.manager["stream_idle_timeout"].rstrip("s")), full["limits"]["idle_timeout_s"])
        (check,) = self.cluster["health_checks"]
        self.assertEqual(check["grpc_health_check"]["service_name"], "voxloc.v1.LocalizationService")
        # A server that drains is noticed before it sends its sessions away.
        self.assertLess(float(check["interval"].rstrip("s")) + float(check["timeout"].rstrip("s")),
                        full["drain_delay_s"])
        services = yaml.safe_load_all((SOURCE / "deploy/kubernetes/base/services.yaml").read_text(encoding="utf-8"))
        headless = {service["metadata"]["name"]: service["spec"]["ports"] for service in services
                    if service["spec"].get("clusterIP") == "None"}
        ((endpoint,),) = (part["lb_endpoints"] for part in self.cluster["load_assignment"]["endpoints"])
        address = endpoint["endpoint"]["address"]["socket_address"]
        self.assertIn(address["port_value"], [port["port"] for port in headless[address["address"]]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
