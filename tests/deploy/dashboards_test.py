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

    def test_there_is_one_for_each_subject(self):
        self.assertEqual(set(self.dashboards),
                         {"voxloc-service.json", "voxloc-engine.json", "voxloc-maps.json"})

    def test_names_are_fixed_and_unique(self):
        uids = [dashboard["uid"] for dashboard in self.dashboards.values()]
        self.assertEqual(len(set(uids)), len(uids))
        for name, dashboard in self.dashboards.items():
            self.assertEqual(f"{dashboard['uid']}.json", name)
            self.assertIsNone(dashboard["id"], "an id belongs to one Grafana")
            self.assertIn("voxloc", dashboard["tags"])

    def test_dashboards_link_to_one_another(self):
        for dashboard in self.dashboards.values():
            tags = [tag for link in dashboard["links"] for tag in link["tags"]]
            self.assertIn("voxloc", tags)

    def test_the_data_source_is_a_variable(self):
        for dashboard in self.dashboards.values():
            for panel in dashboards.panels_of(dashboard):
                for part in (panel, *panel["targets"]):
                    self.assertEqual(part["datasource"]["uid"], "${datasource}", panel["title"])

    def test_only_variables_that_exist_are_used(self):
        for dashboard in self.dashboards.values():
            variables = {variable["name"] for variable in dashboard["templating"]["list"]}
            for place, expression in dashboards.queries_of(dashboard):
                used = set(re.findall(r"\$\{?(\w+)", expression)) - {"__rate_interval"}
                self.assertEqual(used - variables, set(), place)

    def test_rates_follow_the_scrape_interval(self):
        for dashboard in self.dashboards.values():
            for place, expression in dashboards.queries_of(dashboard):
                for window in re.findall(r"(?:rate|increase)\([^[]*\[([^]]+)\]", expression):
                    self.assertEqual(window, "$__rate_interval", place)

    def test_panels_say_what_they_show(self):
        for dashboard in self.dashboards.values():
            titles = [panel["title"] for panel in dashboards.panels_of(dashboard)]
            self.assertEqual(len(set(titles)), len(titles), dashboard["title"])
            for panel in dashboards.panels_of(dashboard):
                self.assertTrue(panel["description"], panel["title"])
                unit = panel["fieldConfig"]["defaults"].get("unit")
                if panel["type"] in ("timeseries", "stat"):
                    self.assertIn(unit, UNITS, panel["title"])

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
