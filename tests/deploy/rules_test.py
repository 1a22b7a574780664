#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs promtool over deploy/prometheus, and compares its alerts with docs/alerts.md: rules_test.py SOURCE_DIR.

Exits with 77 where promtool is not installed (Debian's package prometheus).
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SKIPPED = 77


class Rules(unittest.TestCase):
    maxDiff = None

    def promtool(self, *arguments):
        run = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True,
                             timeout=100, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_the_configuration_and_the_rules_are_valid(self):
        self.promtool("check", "config", self.folder / "prometheus.yml")

    def test_alerts_fire_where_they_have_to_and_nowhere_else(self):
        self.promtool("test", "rules", self.folder / "tests/alerts_test.yml")

    def test_each_alert_is_tried_and_links_to_its_explanation(self):
        text = (self.folder / "rules/alerts.yml").read_text(encoding="utf-8")
        alerts = set(re.findall(r"^ *- alert: (\w+)$", text, re.M))
        self.assertGreater(len(alerts), 20)
        tests = (self.folder / "tests/alerts_test.yml").read_text(encoding="utf-8")
        fired = re.findall(r"alertname: (\w+)\n +exp_alerts:\n", tests)
        self.assertEqual(alerts - set(fired), set())
        page = (self.source / "docs/alerts.md").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"^### (\w+)$", page, re.M)), alerts)
        for name, runbook in re.findall(r"- alert: (\w+)\n.*?runbook: (\S+)", text, re.S):
            self.assertEqual(runbook, f"docs/alerts.md#{name.lower()}")


if __name__ == "__main__":
    if not shutil.which("promtool"):
        print("promtool is not installed")
        sys.exit(SKIPPED)
    Rules.source = pathlib.Path(sys.argv.pop())
    Rules.folder = Rules.source / "deploy/prometheus"
    unittest.main()
