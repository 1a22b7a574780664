#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/operations.md with the server's code: operations_test.py SOURCE_DIR.

The page must list every metric, every log event and every limit of the server, and no other.
"""

import pathlib
import re
import sys
import unittest


class Operations(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        server = pathlib.Path(cls.source, "server")
        cls.code = {path: path.read_text(encoding="utf-8") for path in server.rglob("*.cc")}
        cls.page = pathlib.Path(cls.source, "docs", "operations.md").read_text(encoding="utf-8")

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

    def test_every_metric_is_listed(self):
        metrics = self.in_code(r'"((?:voxloc|process)_[a-z0-9_]+)"', "/metrics/")
        self.assertGreater(len(metrics), 40)
        self.assertEqual(self.first_cells("Metrics"), metrics)

    def test_every_log_event_is_listed(self):
        # All names before the list of fields: a call can choose between two events.
        calls = self.in_code(r"\bLog\(([^{;]*)\{")
        events = {name for call in calls for name in re.findall(r'"([a-z_]+)"', call)}
        self.assertGreater(len(events), 15)
        self.assertEqual(self.first_cells("Log events"), events)

    def test_every_limit_is_listed(self):
        limits = self.in_code(r'"limits\.([a-z_]+)"', "/settings.cc")
        self.assertGreater(len(limits), 15)
        self.assertEqual(self.first_cells("Limits"), limits)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: operations_test.py SOURCE_DIR")
    Operations.source = sys.argv.pop()
    unittest.main(verbosity=2)
