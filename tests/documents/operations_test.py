#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/operations.md, metrics.md and profiles.md with the server's code: operations_test.py SOURCE_DIR.

The pages must list every metric, every log event and every limit of the server, and no other.
"""

import pathlib
import re
import sys
import unittest

LIMIT = r'"limits\.([a-z_]+)"'
METRIC = r'"((?:voxloc|process)_[a-z0-9_]+)"'


class Operations(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        server = pathlib.Path(cls.source, "server")
        cls.code = {path: path.read_text(encoding="utf-8") for ending in ("cc", "h")
                    for path in server.rglob(f"*.{ending}")}
        docs = pathlib.Path(cls.source, "docs")
        cls.page = (docs / "operations.md").read_text(encoding="utf-8")
        cls.metrics_page = (docs / "metrics.md").read_text(encoding="utf-8")

    def section(self, heading):
        found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", self.page, re.M | re.S)
        self.assertIsNotNone(found, f"no section {heading}")
        return found.group(1)

    def first_cells(self, heading):
        """The names in the first column of the section's tables."""
        rows = re.findall(r"^\|([^|]*)\|", self.section(heading), re.M)
        return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}

    def in_code(self, pattern, folder=""):
        return {name for path, text in self.code.items() if folder in path.as_posix()
                for name in re.findall(pattern, text)}

    def test_every_metric_is_listed_and_those_to_look_at_exist(self):
        metrics = self.in_code(METRIC, "/metrics/")
        self.assertGreater(len(metrics), 40)
        self.assertEqual(set(re.findall(r"^\| `([a-z0-9_]+)` \| (?:counter|gauge|histogram) ",
                                        self.metrics_page, re.M)), metrics)
        named = set(re.findall(r"`(voxloc_[a-z0-9_]+)[`{]", self.page))
        self.assertGreater(len(named), 10)
        self.assertEqual(named - metrics, set())

    def test_every_key_of_a_profile_is_listed(self):
        fields = pathlib.Path(self.source, "core", "engine", "profile_fields.h").read_text(encoding="utf-8")
        keys = set(re.findall(r'visit\("([a-z_]+)"', fields))
        self.assertGreater(len(keys), 25)
        page = pathlib.Path(self.source, "docs", "profiles.md").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"^\| `([a-z_]+)` \|", page, re.M)), keys | {"name", "stages", "cells"})

    def test_every_log_event_is_listed(self):
        # All names before the list of fields: a call can choose between two events.
        calls = self.in_code(r"\b(?:Log(?:Always|RateLimited|OncePerSecond|IfFailed)?|FormatLogLine)\(([^{;]*)[{)]")
        events = {name for call in calls for name in re.findall(r'"([a-z_]+)"', call)}
        self.assertGreater(len(events), 15)
        self.assertEqual(self.first_cells("Log events"), events)

    def test_every_limit_and_what_happens_at_it_are_listed(self):
        limits = self.in_code(LIMIT, "/settings.cc")
        self.assertEqual(self.first_cells("Limits"), limits)
        code = next(text for path, text in self.code.items() if path.name == "settings.cc")
        # A row of the table of settings ends with kReloadable where SIGHUP changes it.
        rows = re.split(r"\n      (?=[A-Z]\w*\()", code)
        reloadable = {name for row in rows if "kReloadable)" in row for name in re.findall(LIMIT, row)}
        self.assertGreater(len(reloadable), 15)
        metrics = self.in_code(METRIC, "/metrics/")
        section = self.section("Limits").split("### At a limit")[1]
        rows = re.findall(r"^\| `([a-z_]+)` \| (.+?) \| (.+?) \| (.+?) \|$", section, re.M)
        self.assertEqual({row[0] for row in rows}, limits)
        for limit, happens, metric, change in rows:
            self.assertGreater(len(happens), 10, limit)
            named = set(re.findall(r"`((?:voxloc|process)_[a-z_]+)`", metric))
            self.assertTrue(named or metric.startswith("none: "), f"{limit} has no metric")
            self.assertLessEqual(named, metrics, limit)
            self.assertEqual(change, "SIGHUP" if limit in reloadable else "restart", limit)

    def test_requests_read_the_limits_that_a_reload_changes(self):
        # Runtime::config is as at the start; Runtime::live is in effect.
        for path in pathlib.Path(self.source, "server").rglob("*.[ch]*"):
            found = re.search(r"runtime_?(?:\.|->)config\.limits", path.read_text(encoding="utf-8"))
            self.assertIsNone(found, f"{path} reads the limits of the start")


if __name__ == "__main__":
    Operations.source = sys.argv.pop()
    unittest.main(verbosity=2)
