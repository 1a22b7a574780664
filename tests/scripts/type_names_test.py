#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two types of one name in one namespace break the one-definition rule where one program has both,
and no compiler says so: type_names_test.py SOURCE_DIR."""

import collections
import pathlib
import re
import sys
import tempfile
import unittest

SUFFIXES = {".h", ".cuh", ".cc", ".cu"}
OPENS = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{")
CLOSES = re.compile(r"^\}\s*// namespace")
DEFINES = re.compile(r"^(?:template <.*>\s*)?(?:struct|class|enum|enum class)\s+(\w+)(?: final)?\s*"
                     r"(?::[^:].*)?\{")


def types_in(text):
    """The full names of the types that are defined outside of anonymous namespaces."""
    namespaces = []
    for line in text.splitlines():
        opened = OPENS.match(line)
        if opened:
            namespaces.append(opened[1])
        elif CLOSES.match(line) and namespaces:
            namespaces.pop()
        elif "" not in namespaces:
            defined = DEFINES.match(line)
            if defined:
                yield "::".join([*namespaces, defined[1]])


def twins_in(root):
    """The full names that several files define, with the files."""
    files = collections.defaultdict(set)
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.suffix in SUFFIXES and relative.parts[0] != "build":
            for name in types_in(path.read_text(encoding="utf-8")):
                files[name].add(str(relative))
    return len(files), {name: sorted(where) for name, where in files.items() if len(where) > 1}


class TypeNames(unittest.TestCase):
    def test_each_type_has_a_name_of_its_own(self):
        types, twins = twins_in(SOURCE)
        self.assertGreater(types, 500)
        self.assertEqual(twins, {})

    def test_twins_are_found_outside_of_anonymous_namespaces(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.h").write_text("namespace n {\nstruct Plan {\n};\nstruct Later;\n}  // namespace n\n")
            (root / "b.h").write_text("namespace n {\nclass Plan final : public Base {\n};\n}  // namespace n\n")
            (root / "c.cc").write_text("namespace n {\nnamespace {\nstruct Plan {\n};\n}  // namespace\n"
                                       "struct Later {\n};\n}  // namespace n\n")
            (root / "d.h").write_text("namespace m {\nenum class Plan {\n};\n}  // namespace m\n")
            self.assertEqual(twins_in(root), (3, {"n::Plan": ["a.h", "b.h"]}))


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(1))
    unittest.main()
