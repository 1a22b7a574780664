#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the structure of deploy/grafana: dashboards_test.py SOURCE_DIR.

Whether the queries find something is tested with a real Prometheus, by prometheus_test.py.
"""

import pathlib
import re
import sys
import unittest

import dashboards

# Units that Grafana knows and that these dashboards need: one of another name would be shown as text.
UNITS = {"Bps", "bytes", "celsius", "hertz", "percent", "percentunit", "reqps", "s", "short", "watt"}
COLUMNS = 24


class Dashboards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dashboards = dashboards.load_dashboards(cls.source)

    def test_names_are_fixed_and_unique(self):
        self.assertEqual(set(self.dashboards), {"voxloc-service.json", "voxloc-engine.json", "voxloc-maps.json"})
        for name, dashboard in self.dashboards.items():
            self.assertEqual(f"{dashboard['uid']}.json", name)
            self.assertIsNone(dashboard["id"], "an id belongs to one Grafana")
            self.assertIn("voxloc", dashboard["tags"])
            self.assertIn("voxloc", [tag for link in dashboard["links"] for tag in link["tags"]])

    def test_queries_use_variables_that_exist_and_rates_follow_the_scrape_interval(self):
        for dashboard in self.dashboards.values():
            variables = {variable["name"] for variable in dashboard["templating"]["list"]}
            for place, expression in dashboards.queries_of(dashboard):
                used = set(re.findall(r"\$\{?(\w+)", expression)) - {"__rate_interval"}
                self.assertEqual(used - variables, set(), place)
                # The windows of the objectives are those of their alerts.
                windows = {"5m", "1h", "6h", "3d"} if "Error budget" in place else {"$__rate_interval"}
                for window in re.findall(r"(?:rate|increase)\([^[]*\[([^]]+)\]", expression):
                    self.assertIn(window, windows, place)

    def test_panels_keep_to_the_job_and_the_server_that_are_chosen(self):
        for dashboard in self.dashboards.values():
            for panel in dashboards.panels_of(dashboard):
                for target in panel["targets"]:
                    # Of the servers' metrics and of what is recorded of them, not of the GPUs' exporter.
                    selectors = re.findall(r"(?<![\w:])(?:\w+:|voxloc_|process_|up\b)[\w:]*(\{[^}]*\}|)",
                                           target["expr"])
                    for selector in selectors:
                        self.assertIn('job=~"$job"', selector, panel["title"])
                        # The newest revision is that of all servers.
                        if panel["title"] != "Revisions behind the newest":
                            self.assertIn('instance=~"$instance"', selector, panel["title"])

    def test_one_of_three_servers_is_not_green(self):
        (panel,) = (panel for panel in dashboards.panels_of(self.dashboards["voxloc-service.json"])
                    if panel["title"] == "Servers ready")
        self.assertEqual(panel["fieldConfig"]["defaults"]["unit"], "percentunit")
        self.assertIn("/ count(up{", panel["targets"][0]["expr"])
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        self.assertEqual([step["value"] for step in steps if step["color"] == "green"], [1])
        self.assertEqual(steps[-1]["color"], "green")

    def test_accepted_is_what_the_server_accepts_of_what_it_aligned(self):
        (panel,) = (panel for panel in dashboards.panels_of(self.dashboards["voxloc-service.json"])
                    if panel["title"] == "Accepted")
        part, whole = panel["targets"][0]["expr"].split(" / ")
        self.assertIn('outcome="accepted"', part)
        self.assertIn('outcome=~"accepted|rejected"', whole)
        for rate in (part, whole):
            self.assertIn("rate(voxloc_map_results_total{", rate)

    def test_panels_say_what_they_show_of_a_data_source_that_is_a_variable(self):
        for dashboard in self.dashboards.values():
            panels = dashboards.panels_of(dashboard)
            self.assertEqual(len({panel["title"] for panel in panels}), len(panels), dashboard["title"])
            for panel in panels:
                self.assertTrue(panel["description"], panel["title"])
                if panel["type"] in ("timeseries", "stat"):
                    self.assertIn(panel["fieldConfig"]["defaults"].get("unit"), UNITS, panel["title"])
                for part in (panel, *panel["targets"]):
                    self.assertEqual(part["datasource"]["uid"], "${datasource}", panel["title"])

    def test_panels_do_not_overlap(self):
        for dashboard in self.dashboards.values():
            taken = set()
            for panel in dashboard["panels"]:
                place = panel["gridPos"]
                self.assertLessEqual(place["x"] + place["w"], COLUMNS, panel["title"])
                cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                         for y in range(place["y"], place["y"] + place["h"])}
                self.assertFalse(taken & cells, panel["title"])
                taken |= cells
            ids = [panel["id"] for panel in dashboard["panels"]]
            self.assertEqual(len(set(ids)), len(ids))


if __name__ == "__main__":
    Dashboards.source = pathlib.Path(sys.argv.pop())
    unittest.main()
