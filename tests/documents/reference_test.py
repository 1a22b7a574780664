#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the reference of the API with the contract: reference_test.py SOURCE_DIR.

scripts/api-reference writes the pages from protoc's descriptors; this test reads the files of the
contract line by line. Skipped where the protobuf of Python is missing.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest


class Reference(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.source).resolve()
        sys.path.insert(0, str(cls.root / "scripts"))
        import markdown_links
        cls.markdown = markdown_links
        if subprocess.run(["/usr/bin/python3", "-c", "import google.protobuf"], capture_output=True,
                          check=False).returncode != 0:
            raise unittest.SkipTest("python3-protobuf is missing")
        cls.scratch = tempfile.TemporaryDirectory(prefix="voxloc_reference_")
        subprocess.run([cls.root / "scripts" / "api-reference", "--output", cls.scratch.name], check=True)
        cls.pages = {path.stem: path.read_text(encoding="utf-8")
                     for path in pathlib.Path(cls.scratch.name).glob("*.md")}
        cls.protos = {path.stem: path.read_text(encoding="utf-8")
                      for path in (cls.root / "proto" / "voxloc" / "v1").glob("*.proto")}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_each_file_has_a_page_and_its_types_and_calls_have_headings(self):
        self.assertEqual(self.pages.keys(), self.protos.keys() | {"index"})
        found = 0
        for stem, proto in self.protos.items():
            headings = re.findall(r"^##+ (?:\w+\.)?(\w+)$", self.pages[stem], re.M)
            names = re.findall(r"^ *(?:message|enum|service|rpc) (\w+)", proto, re.M)
            self.assertEqual(sorted(headings), sorted(names), stem)
            found += len(names)
        self.assertGreater(found, 150)

    def test_each_field_and_value_has_a_row_with_its_number_and_meaning(self):
        found = 0
        for stem, proto in self.protos.items():
            rows = re.findall(r"^\| `(\w+)` \| (\d+) \|(?:[^|]*\|)? (.+) \|$", self.pages[stem], re.M)
            declared = re.findall(r"^ +(?:[\w.<>, ]+ )?(\w+) = (\d+)(?: \[.*\])?;$", proto, re.M)
            self.assertEqual(sorted((name, number) for name, number, _ in rows), sorted(declared), stem)
            for name, _, meaning in rows:
                self.assertGreater(len(meaning), 2, f"{stem}: {name}")
            found += len(rows)
        self.assertGreater(found, 600)

    def test_each_link_leads_to_a_heading(self):
        found = 0
        for stem, page in self.pages.items():
            for _, target in self.markdown.links(page):
                file, _, anchor = target.partition("#")
                if file.startswith("../"):
                    self.assertTrue((self.root / "docs" / file[3:]).is_file(), target)
                    continue
                other = self.pages[pathlib.PurePath(file).stem if file else stem]
                if anchor:
                    self.assertIn(anchor, set(self.markdown.anchors(other)), f"{stem}: {target}")
                found += 1
        self.assertGreater(found, 400)

    def test_comments_are_on_the_pages_word_for_word(self):
        page = self.pages["session"]
        self.assertIn("A vehicle's session: the messages of AlignScans.", page)
        comment = re.search(r"^// (.+)\nmessage OpenSession ", self.protos["session"], re.M).group(1)
        self.assertIn(comment.split(". ")[0], page)


if __name__ == "__main__":
    Reference.source = sys.argv.pop()
    unittest.main(verbosity=2)
