#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/errors.md with the server's code and the contract: errors_test.py SOURCE_DIR.

The page must list every reason of an error with its codes and values, every verdict and every
rejection, and no other.
"""

import pathlib
import re
import sys
import unittest

STRING = r'"(?:[^"\\]|\\.)*"'


class Errors(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.source)
        cls.page = (cls.root / "docs" / "errors.md").read_text(encoding="utf-8")
        cls.calls = []
        for path in sorted((cls.root / "server").rglob("*.[ch]*")):
            text = path.read_text(encoding="utf-8")
            # Each call of WithReason, or of what passes its arguments on to it, with all that is in its
            # parentheses, and its strings joined.
            for found in re.finditer(r"\b(?:WithReason|deny)\(", text):
                call = cls.parentheses(text, found.end())
                if "absl::" in call and "absl::string_view" not in call:
                    cls.calls.append((path.name, re.sub(r'"\s*"', "", call)))
            # These make the same error for several limits, each with its own reason.
            for found in re.finditer(r"\b(?:LimitReached|RetainPass)\(", text):
                limit = cls.parentheses(text, found.end())
                if "absl::string_view" in limit or limit.endswith("what, reason"):
                    continue  # the declarations, and the one that passes its arguments on
                cls.calls.append((path.name, f'absl::ResourceExhaustedError({limit}) {{"limit", ""}}'))

    @staticmethod
    def parentheses(text, begin):
        depth, at = 1, begin
        while depth:
            string = re.compile(STRING).match(text, at)
            if string:
                at = string.end()
                continue
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        return text[begin:at - 1]

    def section(self, heading):
        found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", self.page, re.M | re.S)
        self.assertIsNotNone(found, f"no section {heading}")
        return found.group(1)

    def rows(self, text):
        """The cells of the tables' rows that begin with a name."""
        return [[cell.strip() for cell in row.strip("|").split("|")]
                for row in re.findall(r"^\| `[^\n]*\|$", text, re.M)]

    def test_every_reason_is_listed_with_its_code_and_values(self):
        code, limited = {}, {}
        for name, call in self.calls:
            reasons = re.findall(r'"([A-Z]+(?:_[A-Z]+)*)"', call)
            if not reasons:
                if name == "call_scope.h" and "its limit" in call:
                    continue  # LimitReached itself
                self.assertIn("StatusCodeToString", call, f"{name}: an error without a reason of its own")
                continue
            kinds = re.findall(r"absl::(\w+)Error\(", call)
            self.assertEqual(len(kinds), 1, f"{name}: {call}")
            values = set(re.findall(r'\{"(\w+)",', call))
            for reason in reasons:
                kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kinds[0]).upper()
                known = code.setdefault(reason, (kind, set()))
                self.assertEqual(known[0], kind, f"{reason} has two codes")
                # An error at a limit names it, wherever it comes from.
                has_limit = limited.setdefault(reason, "limit" in values)
                self.assertEqual(has_limit, "limit" in values, f"{name}: {reason}")
                known[1].update(values)
        self.assertGreater(len(code), 30)
        page = {}
        for cells in self.rows(self.section("Reasons of errors").split("### Errors without")[0]):
            self.assertEqual(len(cells), 5, cells)
            self.assertGreater(min(len(cells[3]), len(cells[4])), 6, f"{cells[0]}: cause and remedy")
            page[cells[0].strip("`")] = (cells[1], set(re.findall(r"`(\w+)`", cells[2])))
        self.assertEqual(page, code)

    def test_every_code_is_listed(self):
        header = (self.root / "server/observe/metrics/rpc_metrics.cc").read_text(encoding="utf-8")
        codes = set(re.findall(r'"([A-Z_]{5,})"', re.search(r"\{\s*\"OK\".*?\}", header, re.S).group()))
        self.assertGreater(len(codes), 14)
        named = {cells[0].strip("`")
                 for cells in self.rows(self.section("Reasons of errors").split("### Errors without")[1])}
        # Both have reasons in every case; the server never sends the third.
        self.assertEqual(named | {"UNAUTHENTICATED", "PERMISSION_DENIED", "OUT_OF_RANGE"}, codes)
        for path in sorted((self.root / "server").rglob("*.cc")):
            if {"rpc", "session", "scan"} & set(path.parts):
                self.assertNotIn("OutOfRangeError", path.read_text(encoding="utf-8"), path)

    def test_every_verdict_and_rejection_is_listed_once(self):
        for section, proto, enum, at_least in (("Verdicts on a scan", "alignment.proto", "AlignmentStatus", 15),
                                               ("Rejections in a session", "session.proto", "RejectionReason", 1)):
            text = (self.root / "proto/voxloc/v1" / proto).read_text(encoding="utf-8")
            body = re.search(rf"^enum {enum} \{{(.*?)^\}}", text, re.M | re.S).group(1)
            prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum).upper()
            names = set(re.findall(rf"^  {prefix}_(\w+) = \d+;", body, re.M)) - {"UNSPECIFIED"}
            self.assertGreater(len(names), at_least)
            rows = [cells[0].strip("`") for cells in self.rows(self.section(section))]
            self.assertEqual(sorted(rows), sorted(names))


if __name__ == "__main__":
    Errors.source = sys.argv.pop()
    unittest.main(verbosity=2)
