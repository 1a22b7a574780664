#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a real Prometheus scrape a fleet of three voxlocd with faults:

    prometheus_test.py SOURCE_DIR BUILD_DIR [PICTURES_DIR]

Every expression of the rules and dashboards in deploy/ must have been a number at some time, and every
alert must fire by its own fault, where the fault can be had in seconds. Each minute of the rules is made a
second, in windows and in `for`; nothing else of them is changed. With PICTURES_DIR the beginnings of the
dashboards are drawn there, from before the last fault. Exits with 77 where Prometheus,
Alertmanager or PostgreSQL is not installed.
"""

import contextlib
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest

import dashboards
import draw
import fleet
from waiting import eventually

SKIPPED = 77
# Rows of a dashboard that are drawn.
PICTURED_ROWS = 3
VARIABLES = {"$job": ".+", "$instance": ".+", "$map": ".+", "$__rate_interval": "10s"}

# The faults, in this order, and the alerts that each must raise: none may have fired before. The second
# list is awaited at the end, since it needs longer.
FAULTS = [
    ("overload", ["VoxlocScansSlow 1h", "VoxlocQueueWaits", "VoxlocPosesOld", "VoxlocScansDropped"],
     ["VoxlocScansSlow 6h", "VoxlocScansSlow 3d"]),
    ("gpu_error", ["VoxlocGpuErrors"], []),
    ("traces_without_collector", [], ["VoxlocSpansLost"]),
    ("bad_credentials", ["VoxlocAccessDenied"], []),
    ("broken_access_file", ["VoxlocReloadFails"], []),
    ("short_certificate", ["VoxlocCertificateEndsSoon"], ["VoxlocCertificateEnds"]),
    ("wrong_guesses", ["VoxlocPosesUnsure"], []),
    ("tunnel", ["VoxlocDegenerate"], []),
    ("search_elsewhere", [], ["VoxlocSearchesFail"]),
    ("worse_canary", ["VoxlocCanaryWorse", "VoxlocAuditFails"], []),
    ("activate_canary_on_one_store", ["VoxlocRevisionsDiffer"], []),
    ("map_that_one_server_refuses", [], ["VoxlocStoreNotFollowed"]),
    ("too_many_sessions", ["VoxlocRejects"], []),
    ("failing_calls", ["VoxlocEngineFailures", "VoxlocScansRefused 1h"],
     ["VoxlocScansRefused 6h", "VoxlocScansRefused 3d"]),
    ("dead_gpu", ["VoxlocEngineFallback", "VoxlocDeviceLost"], []),
    ("killed", ["VoxlocDown"], []),
    ("dead_gpu_without_standby", ["VoxlocEngineLost", "VoxlocNotReady"], []),
    ("lost_connections", ["VoxlocStoreFlaps", "VoxlocStoreUnreachable"], []),
    ("drained", ["VoxlocDrainedStays"], []),
    ("damaged_tile_and_restarts", ["VoxlocRestarts", "VoxlocTilesDamaged", "VoxlocTilesMissing"], []),
    ("no_targets", ["VoxlocNoServer"], []),
]

# What promtool alone tries (deploy/prometheus/tests): their faults take clients that do not read, a full
# disk, a GPU that is nearly full, or scans whose times are wrong.
NOT_PROVOKED = {"VoxlocClientsSlow", "VoxlocStoreFull", "VoxlocGpuMemoryLow", "VoxlocSweepsSuspect"}


def without_comparison(expression):
    """An alert's expression as its operands: it has a value also where the alert does not fire."""
    expression = re.sub(r"\babsent\(", "count(", expression)
    expression = expression.replace(" unless on ", " or on ")
    return re.sub(r" (==|!=|>=|<=|>|<) (?!bool)", r" \1 bool ", expression)


def chosen(expression):
    """A query of a dashboard that shows all servers and maps, in the hastened time."""
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    return fleet.hasten(expression)


def metrics_of(expression):
    """The names of the metrics in an expression."""
    bare = re.sub(r"\{[^}]*\}", "", re.sub(r'"[^"]*"', "", expression))
    bare = re.sub(r"\b(by|on|without|group_left|group_right|ignoring)\s*\([^)]*\)", "", bare)
    return set(re.findall(r"\b(?:[a-z_]+:)?(?:voxloc|process|DCGM)_[A-Za-z0-9_:]*|\bup\b|\bALERTS\b", bare))


class Scraped(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cleanup = contextlib.ExitStack()
        cls.addClassCleanup(cls.cleanup.close)
        folder = pathlib.Path(cls.cleanup.enter_context(tempfile.TemporaryDirectory()))
        cls.fleet = fleet.Fleet(cls.source, cls.build, folder, cls.cleanup)
        eventually("the recording rules have values", lambda: cls.fleet.values(
            "instance:voxloc_scans_received:rate5m > 0"))
        # As long as the alerts wait that ask for ten minutes.
        eventually("the fleet has been watched for a while", lambda: cls.fleet.values(
            f'count_over_time(up{{instance="{cls.fleet.a.instance}"}}[1m]) > 15'))
        cls.healthy = cls.fleet.fired()
        cls.problems, cls.inhibited = [], []
        for fault, soon, _ in FAULTS:
            if fault == FAULTS[-1][0] and cls.pictures:
                cls.draw(time.time())
            cls.provoke(fault, soon)
        later = {alert for _, _, alerts in FAULTS for alert in alerts}
        with contextlib.suppress(AssertionError):
            eventually("all have fired", lambda: later <= cls.fleet.fired())
        cls.problems += sorted(f"{alert} has not fired" for alert in later - cls.fleet.fired())

    @classmethod
    def draw(cls, end_s):
        for name, dashboard in dashboards.load_dashboards(cls.source).items():
            picture = draw.draw_dashboard(dashboard, lambda expression: cls.fleet.history(chosen(expression), end_s),
                                          (cls.fleet.began_s, end_s), PICTURED_ROWS)
            (cls.pictures / name.replace("voxloc-", "dashboard_")).with_suffix(".svg").write_text(picture, encoding="utf-8")

    @classmethod
    def provoke(cls, fault, alerts):
        before = cls.fleet.fired()
        cls.problems += [f"{alert} has fired before {fault}" for alert in alerts if alert in before]
        getattr(cls.fleet, fault)()
        with contextlib.suppress(AssertionError):
            eventually(f"{alerts} fire", lambda: set(alerts) <= cls.fleet.fired(), timeout_s=60)
        cls.inhibited += cls.fleet.inhibited()
        cls.problems += [f"{alert} has not fired by {fault}" for alert in set(alerts) - cls.fleet.fired()]

    def expressions(self):
        """Every expression of rules and dashboards, ready to be evaluated, and where it stands."""
        for rule in self.fleet.rules():
            yield f"rule {rule['name']}", without_comparison(rule["query"])
        for dashboard in dashboards.load_dashboards(self.source).values():
            for place, expression in dashboards.queries_of(dashboard):
                if "annotation" in place:
                    expression = without_comparison(expression)
                yield place, chosen(expression)
        # What prometheus-adapter asks for the autoscaler of Kubernetes, for one pod.
        adapter = (self.source / "deploy/kubernetes/components/autoscaling/prometheus-adapter.yaml")
        query = re.search(r"metricsQuery: >-\n((?: {8}.*\n)+)", adapter.read_text(encoding="utf-8")).group(1)
        for placeholder, value in (("Series", "voxloc_queue_wait_seconds_bucket"), ("GroupBy", "instance"),
                                   ("LabelMatchers", 'job="voxloc"')):
            self.assertIn(f"<<.{placeholder}>>", query)
            query = query.replace(f"<<.{placeholder}>>", value)
        yield "prometheus-adapter.yaml", query

    def test_a_healthy_fleet_raises_no_alert(self):
        self.assertEqual(self.healthy, set())

    def test_each_alert_fires_by_its_own_fault(self):
        self.assertEqual(self.problems, [])

    def test_pages_reach_the_one_on_call(self):
        pages = {rule["name"] for rule in self.fleet.rules() if rule.get("labels", {}).get("severity") == "page"}
        lasting = {"VoxlocDown", "VoxlocCertificateEndsSoon", "VoxlocNotReady", "VoxlocNoServer"}
        eventually("the lasting ones have come", lambda: lasting <= self.fleet.on_call.paged)
        self.assertLessEqual(self.fleet.on_call.paged, pages)

    def test_what_a_server_that_is_away_makes_redundant_is_inhibited(self):
        self.assertTrue(self.inhibited)
        self.assertEqual({labels["instance"] for labels in self.inhibited}, {self.fleet.c.instance})
        self.assertLessEqual({labels["severity"] for labels in self.inhibited}, {"ticket", "info"})

    def test_no_alert_is_forgotten(self):
        provoked = {alert for _, soon, later in FAULTS for alert in (*soon, *later)}
        windows = {" ".join(filter(None, (rule["name"], rule["labels"].get("window"))))
                   for rule in self.fleet.rules() if rule["type"] == "alerting"}
        self.assertEqual(provoked | NOT_PROVOKED, windows)
        self.assertEqual(provoked & NOT_PROVOKED, set())
        # The documents say the same.
        page = (self.source / "docs/alerts.md").read_text(encoding="utf-8")
        (tried,) = re.findall(r"by `promtool` alone: (.*?)\.", page, re.S)
        self.assertEqual(set(re.findall(r"\w+", tried)) - {"and"}, NOT_PROVOKED)

    def test_each_expression_has_been_a_number(self):
        expressions = list(self.expressions())
        self.assertGreater(len(expressions), 200)
        self.assertEqual([(place, expression) for place, expression in expressions
                          if not self.fleet.has_had_a_value(expression)], [])

    def test_no_expression_names_an_unknown_metric(self):
        known = set(self.fleet.get("label/__name__/values"))
        for place, expression in self.expressions():
            named = metrics_of(expression)
            self.assertTrue(named or "vector(" in expression, f"{place}: {expression}")
            self.assertEqual(named - known, set(), place)

    def test_rules_are_evaluated_without_errors(self):
        rules = self.fleet.rules()
        self.assertGreater(len(rules), 70)
        for rule in rules:
            self.assertEqual(rule["health"], "ok", rule["name"])


if __name__ == "__main__":
    missing = [program for program in ("prometheus", "prometheus-alertmanager") if not shutil.which(program)]
    if missing or not fleet.postgres.is_installed():
        print(f"{', '.join(missing) or 'PostgreSQL'} is not installed")
        sys.exit(SKIPPED)
    Scraped.source, Scraped.build = map(pathlib.Path, sys.argv[1:3])
    Scraped.pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    del sys.argv[1:]
    unittest.main()
