#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links of all documents: links_test.py SOURCE_DIR.

Each link to the repository leads to a file or folder of it, and each anchor to a heading. The site's
menu has every page of docs/, its search finds the documents, and it has a dark mode.
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import unittest


class Links(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.source).resolve()
        sys.path.insert(0, str(cls.root / "scripts"))
        import markdown_links
        cls.markdown = markdown_links
        cls.documents = sorted(path for path in cls.root.rglob("*.md")
                               if not {"build", "package"} & set(path.relative_to(cls.root).parts))

    def test_every_link_leads_to_a_file_and_a_heading_or_is_encrypted(self):
        checked = anchored = 0
        for path in self.documents:
            for number, target in self.markdown.links(path.read_text(encoding="utf-8")):
                with self.subTest(document=str(path.relative_to(self.root)), line=number, link=target):
                    if re.match(r"[a-z]+:", target):
                        self.assertRegex(target, "^https://[a-z]")
                        continue
                    checked += 1
                    file, _, anchor = target.partition("#")
                    leads_to = (path.parent / file).resolve() if file else path
                    self.assertTrue(leads_to.exists(), "no such file")
                    self.assertTrue(leads_to.is_relative_to(self.root), "outside of the repository")
                    if anchor and leads_to.suffix == ".md":
                        self.assertIn(anchor, set(self.markdown.anchors(leads_to.read_text(encoding="utf-8"))))
                        anchored += 1
        self.assertGreater(checked, 200)
        self.assertGreater(anchored, 100)

    def test_the_menu_of_the_site_has_every_page(self):
        menu = (self.root / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
        listed = re.findall(r"^ +- (?:.*: )?([\w/-]+\.md)$", menu, re.M)
        self.assertEqual(len(listed), len(set(listed)))
        pages = {path.name for path in (self.root / "docs").glob("*.md")}
        self.assertGreater(len(pages), 10)
        self.assertEqual(pages - set(listed), set())

    def test_the_site_has_a_light_and_a_dark_mode_by_the_reader_s_system(self):
        site = (self.root / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
        modes = re.findall(r'- media: "\(prefers-color-scheme: (\w+)\)"\n +scheme: (\w+)\n(?: +\w+: \w+\n)* +toggle:',
                           site)
        self.assertEqual(modes, [("light", "default"), ("dark", "slate")])

    def test_searches_of_the_site_find_documents_and_the_index_of_the_reference(self):
        loader = importlib.machinery.SourceFileLoader("build_docs", str(self.root / "scripts" / "build-docs"))
        build_docs = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        sys.dont_write_bytecode = True
        loader.exec_module(build_docs)
        kept = ["index.html", "api.html", "api.html#results", "reference/index.html", "reference/index.html#files"]
        left_out = ["reference/scan.html", "reference/scan.html#scan", "source/proto/voxloc/v1/scan.proto.html"]
        with tempfile.TemporaryDirectory(prefix="voxloc_links_") as folder:
            path = pathlib.Path(folder, "search", "search_index.json")
            path.parent.mkdir()
            index = {"config": {"lang": ["en"]},
                     "docs": [{"location": place, "title": "Größe", "text": ""} for place in kept + left_out]}
            path.write_text(json.dumps(index), encoding="utf-8")
            build_docs.limit_search(pathlib.Path(folder))
            limited = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(limited["config"], index["config"])
        self.assertEqual([entry["location"] for entry in limited["docs"]], kept)

    def test_links_are_found_where_they_are(self):
        text = "[a](b.md#c) `[no](x)` ![i](d.png)\n```\n[no](y)\n```\n[e](f(1).md)\n"
        self.assertEqual(list(self.markdown.links(text)), [(1, "b.md#c"), (1, "d.png"), (5, "f(1).md")])
        self.assertEqual(self.markdown.with_targets(text, str.upper).count("B.MD#C"), 1)
        self.assertIn("`[no](x)`", self.markdown.with_targets(text, str.upper))
        self.assertEqual(list(self.markdown.anchors("# A `b_c`, d\n## A\n## A\n```\n# no\n```\n")),
                         ["a-b_c-d", "a", "a-1"])


if __name__ == "__main__":
    Links.source = sys.argv.pop()
    unittest.main(verbosity=2)
