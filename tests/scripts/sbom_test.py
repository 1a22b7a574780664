#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the bill of materials of an unpacked package: sbom_test.py PACKAGE_DIR.

It must be SPDX 2.3 by SPDX's own schema, list each program and library of the package with its
checksum, and give each linked package of the distribution a version and a licence.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import unittest

SCHEMA = pathlib.Path(__file__).resolve().parent / "spdx" / "spdx-schema-2.3.json"


class BillOfMaterials(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.package)
        text = (cls.root / "share/doc/voxloc/voxloc.spdx.json").read_text(encoding="utf-8")
        cls.bill = json.loads(text)
        cls.packages = {package["name"]: package for package in cls.bill["packages"]}
        cls.relations = {(relation["spdxElementId"], relation["relationshipType"], relation["relatedSpdxElement"])
                         for relation in cls.bill["relationships"]}

    def test_it_is_spdx_by_the_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is missing")
        jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(self.bill)

    def test_every_relation_is_between_things_that_are_there(self):
        listed = {"SPDXRef-DOCUMENT", *(thing["SPDXID"] for kind in ("packages", "files") for thing in self.bill[kind])}
        count = 1 + len(self.bill["packages"]) + len(self.bill["files"])
        self.assertEqual(len(listed), count, "an id twice")
        self.assertGreater(len(self.relations), 20)
        for subject, _, other in self.relations:
            self.assertLessEqual({subject, other}, listed)
        related = {other for _, _, other in self.relations}
        self.assertEqual(listed - related, {"SPDXRef-DOCUMENT"})

    def test_every_program_and_library_is_listed_with_its_checksum(self):
        shipped = {}
        for folder in ("bin", "lib"):
            for path in (self.root / folder).glob("*"):
                if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                    shipped[f"./{folder}/{path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
        self.assertIn("./bin/voxlocd", shipped)
        listed = {entry["fileName"]: next(one["checksumValue"] for one in entry["checksums"]
                                          if one["algorithm"] == "SHA256") for entry in self.bill["files"]}
        self.assertEqual(listed, shipped)

    def test_every_library_that_the_server_loads_is_of_a_listed_package(self):
        # An independent way: the sonames in the program, and dpkg's list of each package's libraries.
        needed = subprocess.run(["objdump", "-p", self.root / "bin" / "voxlocd"], capture_output=True, text=True,
                                check=True).stdout
        sonames = re.findall(r"^ +NEEDED +(\S+)$", needed, re.M)
        self.assertGreater(len(sonames), 10)
        known = {}
        for path in pathlib.Path("/var/lib/dpkg/info").glob("*.shlibs"):
            for line in path.read_text(encoding="utf-8").splitlines():
                words = line.split()
                if len(words) > 2 and not line.startswith("#"):
                    owner = path.name.split(":")[0].removesuffix(".shlibs")
                    known.setdefault(f"{words[0]}.so.{words[1]}", set()).add(owner)
        checked = 0
        for soname in sonames:
            if soname in known:
                # Other architectures and variants may have a library of the same name.
                self.assertTrue(known[soname] & self.packages.keys(), f"{soname} of {known[soname]}")
                checked += 1
        self.assertGreater(checked, 10)

    def test_every_package_has_a_version_and_a_licence(self):
        self.assertGreater(len(self.packages), 20)
        for name, package in self.packages.items():
            self.assertTrue(package["versionInfo"], name)
            self.assertNotIn(package["licenseConcluded"], ("NOASSERTION", "NONE", ""), name)
        for name in ("libgrpc++1.51", "libeigen3-dev"):
            if name in self.packages:
                version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True,
                                         text=True, check=True).stdout
                self.assertEqual(self.packages[name]["versionInfo"], version)


if __name__ == "__main__":
    BillOfMaterials.package = sys.argv.pop()
    unittest.main(verbosity=2)
