#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a release says of itself: release_test.py SOURCE_DIR PROGRAMS_DIR.

CMakeLists.txt has the version; all other places must agree with it. The changelog has the form of
Keep a Changelog.
"""

import datetime
import pathlib
import re
import subprocess
import sys
import unittest

SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


class Release(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.source)
        cls.version = re.search(r"^project\(voxloc VERSION (\S+) ", cls.read("CMakeLists.txt"), re.M).group(1)

    @classmethod
    def read(cls, name):
        return (cls.root / name).read_text(encoding="utf-8")

    def test_every_package_has_the_version_which_is_semantic(self):
        self.assertRegex(self.version, r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$")
        for name, pattern in (("clients/python/pyproject.toml", r'^version = "(.+)"$'),
                              ("clients/python/voxloc/__init__.py", r'^__version__ = "(.+)"$'),
                              ("clients/ros/ros2/CMakeLists.txt", r"^project\(voxloc_ros VERSION (\S+) "),
                              ("clients/ros/ros2/package.xml", r"^ *<version>(.+)</version>$")):
            with self.subTest(file=name):
                self.assertEqual(re.findall(pattern, self.read(name), re.M), [self.version])

    def test_the_programs_report_the_version(self):
        for program in ("voxlocd", "voxloc"):
            done = subprocess.run([pathlib.Path(self.programs, program), "--version"], capture_output=True,
                                  text=True, timeout=60, check=True)
            self.assertRegex(done.stdout, rf"^{program} {re.escape(self.version)}( |$)")

    def test_documents_name_no_other_version(self):
        for path in [*self.root.glob("*.md"), *(self.root / "docs").glob("*.md")]:
            found = re.findall(r"\bvoxloc[-_ ]v?(\d+\.\d+\.\d+)", path.read_text(encoding="utf-8"))
            self.assertLessEqual(set(found), {self.version}, path)

    def test_the_changelog_has_its_form(self):
        lines = self.read("CHANGELOG.md").split("\n")
        headings = [line for line in lines if line.startswith("## ")]
        self.assertEqual(headings[0], "## [Unreleased]")
        releases = []
        for heading in headings[1:]:
            found = re.fullmatch(r"## \[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)", heading)
            self.assertIsNotNone(found, heading)
            releases.append((tuple(map(int, found.groups()[:3])), datetime.date.fromisoformat(found.group(4))))
        self.assertEqual(releases, sorted(releases, reverse=True), "newest first")
        self.assertEqual(len({version for version, _ in releases}), len(releases))
        if releases:
            own = tuple(map(int, self.version.split(".")))
            self.assertLessEqual(releases[0][0], own, "the version is the newest release or the next one")

    def test_changes_stand_in_the_sections_of_keep_a_changelog(self):
        items = 0
        for release in re.split(r"^## ", self.read("CHANGELOG.md"), flags=re.M)[1:]:
            sections = re.findall(r"^### (.+)$", release, re.M)
            self.assertEqual(len(sections), len(set(sections)), f"a section twice: {sections}")
            self.assertLessEqual(set(sections), set(SECTIONS))
            for section in re.split(r"^### .+$", release, flags=re.M)[1:]:
                blocks = [line for line in section.split("\n") if line and not line.startswith("  ")]
                self.assertGreater(len(blocks), 0, "an empty section")
                for line in blocks:
                    self.assertTrue(line.startswith("- "), f"not an item of a list: {line}")
                items += len(blocks)
        self.assertGreater(items, 10)


if __name__ == "__main__":
    Release.programs = sys.argv.pop()
    Release.source = sys.argv.pop()
    unittest.main(verbosity=2)
