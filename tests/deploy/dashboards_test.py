#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the structure of deploy/grafana: dashboards_test.py SOURCE_DIR.

Whether the queries find something is tested with a real Prometheus, by prometheus_test.py.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import dashboards

# Units that Grafana knows and that these dashboards need: one of another name would be shown as text.
UNITS = {"Bps", "bytes", "celsius", "hertz", "percent", "percentunit", "reqps", "s", "short", "watt"}
COLUMNS = 24


# What all servers of a job have in common, whatever server is chosen.
OF_THE_JOB = {"Fleet localized", "Servers ready", "Revisions behind the newest"}
# Windows of objectives, restarts and annotations; all others follow the scrape interval.
WINDOWS = {"$__rate_interval", "5m", "1h", "6h", "3d", "30d", "30m", "1d", "1m"}


class Dashboards(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.dashboards = dashboards.load_dashboards(cls.source)

    def panels(self):
        return [panel for dashboard in self.dashboards.values() for panel in dashboards.panels_of(dashboard)]

    def test_files_are_what_their_description_makes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.source / "deploy/grafana/update-dashboards", folder], check=True, timeout=60)
            made = dashboards.load_folder(pathlib.Path(folder))
        self.assertEqual(made, self.dashboards, "run deploy/grafana/update-dashboards")

    def test_names_are_fixed_and_unique(self):
        self.assertEqual(set(self.dashboards), {f"voxloc-{name}.json" for name in
                                                ("fleet", "service", "quality", "maps", "engine")})
        for name, dashboard in self.dashboards.items():
            self.assertEqual(f"{dashboard['uid']}.json", name)
            self.assertIsNone(dashboard["id"], "an id belongs to one Grafana")
            self.assertIn("voxloc", dashboard["tags"])
            self.assertIn("voxloc", [tag for link in dashboard["links"] for tag in link["tags"]])

    def test_the_first_row_answers_the_question_of_the_dashboard(self):
        for dashboard in self.dashboards.values():
            self.assertIn("?", dashboard["description"])
            row, first = dashboard["panels"][:2]
            self.assertEqual((row["type"], first["type"]), ("row", "stat"))
            (mapping,) = first["fieldConfig"]["defaults"]["mappings"]
            self.assertEqual({value: shown["text"] for value, shown in mapping["options"].items()},
                             {"0": "no", "1": "yes"})
            self.assertIn(" bool ", first["targets"][0]["expr"])

    def test_queries_use_variables_that_exist_and_rates_follow_the_scrape_interval(self):
        for dashboard in self.dashboards.values():
            variables = {variable["name"] for variable in dashboard["templating"]["list"]}
            self.assertLessEqual({"job", "version", "instance"}, variables)
            for place, expression in dashboards.queries_of(dashboard):
                used = set(re.findall(r"\$\{?(\w+)", expression)) - {"__rate_interval"}
                self.assertEqual(used - variables, set(), place)
                self.assertLessEqual(set(re.findall(r"\[([^]]+)\]", expression)), WINDOWS, place)
                for window in re.findall(r"(?:rate|increase)\([^[]*\[([^]]+)\]", expression):
                    self.assertEqual(window, "$__rate_interval", place)

    def test_panels_keep_to_the_job_and_the_server_that_are_chosen(self):
        for panel in self.panels():
            for target in panel["targets"]:
                # Of the servers' metrics and of what is recorded of them, not of the GPUs' exporter.
                selectors = re.findall(r"(?<![\w:])(?!objective:|limit:)(?:\w+:|voxloc_|process_|up\b)[\w:]*(\{[^}]*\}|)",
                                       target["expr"])
                for selector in selectors:
                    self.assertIn('job=~"$job"', selector, panel["title"])
                    if panel["title"] not in OF_THE_JOB:
                        self.assertIn('instance=~"$instance"', selector, panel["title"])

    def test_limits_are_those_of_the_recording_rules(self):
        rules = (self.source / "deploy/prometheus/rules/recording.yml").read_text(encoding="utf-8")
        recorded = set(re.findall(r"record: ((?:objective|limit):\S+)", rules))
        used = {name for dashboard in self.dashboards.values() for _, expression in dashboards.queries_of(dashboard)
                for name in re.findall(r"(?:objective|limit):[\w:]+", expression)}
        self.assertEqual(used, recorded)
        for panel in self.panels():
            steps = panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
            self.assertLessEqual({round(step["value"] or 0, 6) for step in steps}, {0, 1}, panel["title"])
            self.assertFalse(re.search(r"[<>]=? (?:bool )?0?\.\d", " ".join(t["expr"] for t in panel["targets"])),
                             f"{panel['title']} compares with a number of its own")

    def test_one_of_three_servers_is_not_green(self):
        (panel,) = (panel for panel in self.panels() if panel["title"] == "Servers ready")
        self.assertEqual(panel["fieldConfig"]["defaults"]["unit"], "percentunit")
        self.assertIn("/ count(up{", panel["targets"][0]["expr"])
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        self.assertEqual([step["value"] for step in steps if step["color"] == "green"], [1])
        self.assertEqual(steps[-1]["color"], "green")

    def test_accepted_is_what_the_server_accepts_of_what_it_aligned(self):
        (panel,) = (panel for panel in self.panels() if panel["title"] == "Accepted")
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

    def test_descriptions_name_sections_and_files_that_exist(self):
        sections = {}
        for panel in self.panels():
            for file, anchor in re.findall(r"((?:docs|deploy)/[\w./]+\.md)(?:#([\w-]+))?", panel["description"]):
                if file not in sections:
                    text = (self.source / file).read_text(encoding="utf-8")
                    sections[file] = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
                                      for heading in re.findall(r"^#+ (.*)$", text, re.M)}
                if anchor:
                    self.assertIn(anchor, sections[file], panel["title"])
        self.assertGreater(len(sections), 3)

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
