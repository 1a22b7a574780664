#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes by scripts/check-kubernetes, and what that check finds wrong:

    kubernetes_test.py SOURCE_DIR PROGRAMS_DIR

Exits with 77 where python3-yaml or python3-jsonschema is not installed. Where there is no kubectl or
kustomize of today, the files are checked one by one and nothing is rendered.
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

try:
    import jsonschema  # noqa: F401  pylint: disable=unused-import
    import yaml
except ImportError as missing:
    print(f"{missing.name} is not installed")
    sys.exit(77)

SOURCE, PROGRAMS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
FOLDER = SOURCE / "deploy/kubernetes"
IMAGES = {"cpu": "voxloc", "gpu": "voxloc:gpu", "gpus": "voxloc:gpu", "fleet": "voxloc:gpu"}  # by overlay


def load_check():
    loader = importlib.machinery.SourceFileLoader("check_kubernetes", str(SOURCE / "scripts/check-kubernetes"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_kubernetes", loader))
    loader.exec_module(module)
    return module


check = load_check()
RENDERER = check.find_renderer()
SCHEMAS = check.Schemas(SOURCE / "tests/deploy/kubernetes/schemas.json")

# A wrong value: overlay, file, what stands there, what an operator writes, and the error.
WRONG = [
    # What the schemas find.
    ("cpu", "base/stateful-set.yaml", "replicas: 1", "replicas: two", "spec.replicas: 'two' is not of type 'integer'"),
    ("cpu", "base/stateful-set.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true",
     "'readOnlyRootFileSystem' was unexpected"),
    ("cpu", "base/stateful-set.yaml", "memory: 4Gi\n            limits", "memory: 4GB\n            limits",
     "resources.requests.memory: '4GB' does not match"),
    ("cpu", "base/pod-disruption-budget.yaml", "policy/v1", "policy/v1beta1", "is no kind that this check knows"),
    ("fleet", "components/autoscaling/horizontal-pod-autoscaler.yaml", "  maxReplicas: 6\n", "",
     "'maxReplicas' is a required property"),
    # What kustomize finds.
    ("gpu", "components/gpu/gpu.yaml", "  name: voxloc\nspec", "  name: voxlocd\nspec", "kustomize does not render it"),
    ("cpu", "base/kustomization.yaml", "  - services.yaml\n", "  - service.yaml\n", "kustomize does not render it"),
    # What does not fit together.
    ("cpu", "base/services.yaml", "targetPort: grpc\n---", "targetPort: rpc\n---",
     "targetPort of Service voxloc must be one of grpc, http (got rpc)"),
    ("cpu", "base/services.yaml", "clusterIP: None\n  selector:\n    app.kubernetes.io/name: voxloc",
     "clusterIP: None\n  selector:\n    app.kubernetes.io/name: voxlocd",
     "spec.selector of Service voxloc-headless must match"),
    ("cpu", "base/services.yaml", "  clusterIP: None\n", "", "serviceName must be a Service whose clusterIP is None"),
    ("cpu", "base/pod-disruption-budget.yaml", "maxUnavailable: 1", "minAvailable: 1", "must let one of 1 servers go"),
    ("fleet", "base/pod-disruption-budget.yaml", "maxUnavailable: 1", "maxUnavailable: 0", "must let one of 3 servers go"),
    ("cpu", "base/pod-disruption-budget.yaml", "  selector:\n    matchLabels:\n      app.kubernetes.io/name: voxloc\n",
     "  selector: {}\n", "spec.selector of PodDisruptionBudget voxloc must match"),
    ("cpu", "base/network-policy.yaml", "- port: grpc", "- port: 443", "lets in port 443"),
    ("fleet", "components/autoscaling/horizontal-pod-autoscaler.yaml", "minReplicas: 3", "minReplicas: 7",
     "minReplicas must be from 1 to maxReplicas, 6 (got 7)"),
    ("fleet", "components/autoscaling/horizontal-pod-autoscaler.yaml", "name: voxloc\n  minReplicas",
     "name: voxlocd\n  minReplicas", "scaleTargetRef must be StatefulSet voxloc (got StatefulSet voxlocd)"),
    ("fleet", "overlays/fleet/fleet.yaml", "- op: remove\n  path: /spec/replicas\n", "",
     "replicas must be left to the autoscaler (got 1)"),
    # What voxlocd needs.
    ("gpu", "components/gpu/gpu.yaml", "nvidia.com/gpu: 1", "nvidia.com/gpu: 500m", "must be a whole number (got 500m)"),
    ("gpu", "components/gpu/gpu.yaml", "nvidia.com/gpu: 1", "nvidia.com/gpu: 2", "VOXLOCD_DEVICES must name the 2 GPUs"),
    ("gpu", "components/gpu/gpu.yaml", "nvidia.com/gpu: 1\n", "cpu: 4\n", "VOXLOCD_ENGINE cuda needs nvidia.com/gpu"),
    ("gpus", "overlays/gpus/two-gpus.yaml", '"0,1"', '"0,2"', "VOXLOCD_DEVICES must name the 2 GPUs"),
    ("cpu", "base/stateful-set.yaml", "terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 30",
     "terminationGracePeriodSeconds must be at least 38"),
    ("cpu", "base/voxlocd.yaml", "drain_spread_s: 15", "drain_spread_s: 60", "must be at least 83"),
    ("cpu", "base/stateful-set.yaml", "periodSeconds: 2\n            failureThreshold: 1",
     "periodSeconds: 10\n            failureThreshold: 3", "drain_delay_s must be above 30"),
    ("cpu", "base/stateful-set.yaml", "httpGet: {path: /livez, port: http}\n            periodSeconds: 10",
     "httpGet: {path: /readyz, port: http}\n            periodSeconds: 10", "livenessProbe must ask /livez (got /readyz)"),
    ("cpu", "base/stateful-set.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot must be true"),
    ("cpu", "base/stateful-set.yaml", "drop: [ALL]", "drop: [NET_RAW]", "capabilities.drop must be [ALL]"),
    ("cpu", "base/voxlocd.yaml", "drain_timeout_s: 12", "drain_timout_s: 12", "drain_timout_s"),
    ("cpu", "base/voxlocd.yaml", "data_dir: /var/lib/voxloc", "data_dir: /var/lib/maps", "data_dir must be a volume"),
    ("cpu", "base/voxlocd.yaml", "0.0.0.0:50051", "127.0.0.1:50051", "listen must be 0.0.0.0 with the port grpc"),
    ("cpu", "base/voxlocd.yaml", "/etc/voxloc/tls/tls.key", "/etc/voxloc/tls.key", "must be a file of a Secret"),
    ("gpu", "components/gpu/gpu.yaml", "VOXLOCD_DEVICES", "VOXLOCD_DEVICE", "VOXLOCD_DEVICE"),
    ("fleet", "components/shared-store/shared-store.yaml", "postgresql://voxloc@", "postgresql://voxloc:secret@",
     "VOXLOCD_STORE_URL"),
    ("gpu", "components/gpu/gpu.yaml", "value: restart", "value: reboot", "on_engine_failure"),
]


class Files(unittest.TestCase):
    """What can be said of the files as they are."""

    def kustomizations(self):
        return {path.parent: yaml.safe_load(path.read_text(encoding="utf-8"))
                for path in FOLDER.rglob("kustomization.yaml")}

    def test_objects_fit_the_schemas_of_kubernetes(self):
        objects = [(path, thing) for path in FOLDER.rglob("*.yaml")
                   if path.name not in ("kustomization.yaml", "voxlocd.yaml", "prometheus-adapter.yaml")
                   for thing in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
        kinds = set()
        for path, thing in objects:
            if isinstance(thing, list):  # operations on an object
                continue
            kinds.add(thing["kind"])
            # A patch has a part of an object.
            errors = [error for error in SCHEMAS.errors(thing) if "is a required property" not in error or
                      "patches" not in self.kustomizations()[path.parent]]
            self.assertEqual(errors, [], path)
        self.assertEqual(kinds, {"Namespace", "ServiceAccount", "Service", "StatefulSet", "PodDisruptionBudget",
                                 "NetworkPolicy", "HorizontalPodAutoscaler", "PrometheusRule", "ServiceMonitor"})

    def test_kustomizations_have_no_deprecated_fields_and_name_all_files_which_exist(self):
        named = set()
        for folder, content in self.kustomizations().items():
            deprecated = {"bases", "commonLabels", "imageTags", "patchesJson6902", "patchesStrategicMerge", "vars"}
            self.assertEqual(set(content) & deprecated, set(), folder)
            self.assertRegex(content["apiVersion"], r"^kustomize\.config\.k8s\.io/v1(alpha1|beta1)$")
            paths = [*content.get("resources", []), *content.get("components", []),
                     *(patch["path"] for patch in content.get("patches", [])),
                     *(file for one in content.get("configMapGenerator", []) for file in one["files"])]
            for path in paths:
                self.assertTrue((folder / path).exists(), f"{folder}: {path}")
                named.add((folder / path).resolve())
        for path in FOLDER.rglob("*.yaml"):
            if path.name not in ("kustomization.yaml", "prometheus-adapter.yaml"):
                self.assertIn(path, named)

    def test_the_autoscaler_asks_for_the_metric_that_the_adapter_offers(self):
        folder = FOLDER / "components/autoscaling"
        scaler = yaml.safe_load((folder / "horizontal-pod-autoscaler.yaml").read_text(encoding="utf-8"))
        adapter = yaml.safe_load((folder / "prometheus-adapter.yaml").read_text(encoding="utf-8"))
        offered = {rule["name"]["as"] for rule in adapter["rules"]["custom"]}
        self.assertEqual({metric["pods"]["metric"]["name"] for metric in scaler["spec"]["metrics"]}, offered)
        documented = (SOURCE / "docs/metrics.md").read_text(encoding="utf-8")
        for rule in adapter["rules"]["custom"]:
            series = re.match(r"\w+", rule["seriesQuery"]).group()
            self.assertRegex(series, rule["name"]["matches"])
            self.assertIn(f"| `{series.removesuffix('_bucket')}` | histogram |", documented)

    def test_the_operator_gets_the_rules_of_prometheus_and_scrapes_the_port_of_the_metrics(self):
        folder = FOLDER / "components/monitoring"
        rule, monitor = (yaml.safe_load((folder / name).read_text(encoding="utf-8"))
                         for name in ("prometheus-rule.yaml", "service-monitor.yaml"))
        rules = [yaml.safe_load((SOURCE / "deploy/prometheus/rules" / name).read_text(encoding="utf-8"))
                 for name in ("recording.yml", "alerts.yml")]
        self.assertEqual(rule["spec"]["groups"], [group for file in rules for group in file["groups"]],
                         "run deploy/kubernetes/components/monitoring/update-rules")
        (endpoint,) = monitor["spec"]["endpoints"]
        services = yaml.safe_load_all((FOLDER / "base/services.yaml").read_text(encoding="utf-8"))
        named = [service["metadata"]["name"] for service in services
                 if endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]]
        self.assertEqual(named, ["voxloc-headless"], "each server is scraped once")
        scrape = yaml.safe_load((SOURCE / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))
        self.assertEqual(endpoint["interval"], scrape["global"]["scrape_interval"])
        self.assertEqual(endpoint["relabelings"], [{"targetLabel": "job", "replacement": "voxloc"}])

    def test_the_schemas_are_strict(self):
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
                   "spec": {"ports": [{"port": 1, "targetPort": "http"}, {"port": 2, "targetPort": 2}]}}
        self.assertEqual(SCHEMAS.errors(service), [])
        service["spec"]["ports"][0]["targetport"] = 3
        self.assertEqual(len(SCHEMAS.errors(service)), 1)


@unittest.skipIf(RENDERER is None, "there is no kubectl or kustomize with kustomize 5 or newer")
class Rendered(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.copy = pathlib.Path(folder.name, "kubernetes")

    def errors(self, overlay, folder):
        return check.check_folder(folder / "overlays" / overlay, RENDERER, str(PROGRAMS / "voxlocd"), SCHEMAS)

    def test_the_overlays_are_right_and_run_the_image_of_their_engine(self):
        self.assertEqual({path.name for path in (FOLDER / "overlays").iterdir()}, set(IMAGES))
        for overlay, image in IMAGES.items():
            self.assertEqual(self.errors(overlay, FOLDER), [], overlay)
            deployment = check.Deployment(check.render(RENDERER, FOLDER / "overlays" / overlay))
            self.assertEqual(deployment.container["image"], image)

    def test_wrong_values_are_found(self):
        for overlay, file, right, wrong, expected in WRONG:
            with self.subTest(file=file, wrong=wrong):
                shutil.rmtree(self.copy, ignore_errors=True)
                shutil.copytree(FOLDER, self.copy)
                path = self.copy / file
                text = path.read_text(encoding="utf-8")
                self.assertIn(right, text)
                path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
                errors = self.errors(overlay, self.copy)
                self.assertTrue(any(expected in error for error in errors), errors)

    def test_any_overlay_can_have_the_component_for_the_operator(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(FOLDER, self.copy)
        for overlay in IMAGES:
            file = self.copy / "overlays" / overlay / "kustomization.yaml"
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
            content.setdefault("components", []).append("../../components/monitoring")
            file.write_text(yaml.safe_dump(content), encoding="utf-8")
            self.assertEqual(self.errors(overlay, self.copy), [], overlay)
            (monitor,) = (thing for thing in check.render(RENDERER, file.parent) if thing["kind"] == "ServiceMonitor")
            self.assertEqual(monitor["metadata"]["namespace"], "voxloc")

    def test_a_change_of_the_configuration_restarts_the_servers(self):
        def config_of(folder):
            deployment = check.Deployment(check.render(RENDERER, folder / "overlays/cpu"))
            (name,) = {volume["configMap"]["name"] for volume in deployment.spec["volumes"] if "configMap" in volume}
            return name

        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(FOLDER, self.copy)
        with open(self.copy / "base/voxlocd.yaml", "a", encoding="utf-8") as file:
            file.write("log_level: debug\n")
        self.assertNotEqual(config_of(self.copy), config_of(FOLDER))


if __name__ == "__main__":
    unittest.main(verbosity=2)
