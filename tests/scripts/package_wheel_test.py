#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel of scripts/package, installed by pip: package_wheel_test.py SOURCE_DIR BUILD_DIR."""

import base64
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SKIPPED = 77
BUILD = pathlib.Path(sys.argv.pop()).resolve()
SOURCE = pathlib.Path(sys.argv.pop()).resolve()
PYTHON = "/usr/bin/python3"  # whose headers the native part was compiled with
EPOCH = "1700000000"
# What a wheel may take from the system: glibc, and what all C++ in the process shares.
OF_THE_SYSTEM = re.compile(r"(ld-linux-x86-64|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nsl|stdc\+\+|gcc_s))\.so[.\d]+$")

# Aligns a scan in the folder given, and prints what it found and the files that came into the process, beside
# those of Python's own modules, of which ssl brings OpenSSL.
USE = """
import json, pathlib, ssl, subprocess, sys, tempfile, urllib.request
import numpy
def mapped():
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if ".so" in line}
before = mapped()
import voxloc
town = pathlib.Path(sys.argv[1])
localizer = voxloc.Localizer(voxloc.Map.from_file(town / "map"), threads=1)
truth = voxloc.io.read_poses(town / "poses_tum.txt")[0][1]
guess = voxloc.Pose(truth.position + [0.3, -0.2, 0.0], truth.orientation)
found = localizer.align(voxloc.io.read_cloud(voxloc.io.list_clouds(town / "scans")[0])[::20], guess)
with voxloc.serve() as server:
    address = server.address
print(json.dumps({"package": voxloc.__file__, "loaded": sorted(mapped() - before), "address": address,
                  "accepted": found.accepted, "error_m": found.map_T_base.distance_to(truth)}))
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          timeout=200, **options)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def plain(*command):
    """Runs a command with nothing of this process's environment."""
    return run(*command, env={"PATH": "/usr/bin:/bin"}, cwd="/")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="voxloc_wheel_")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.said = run(SOURCE / "scripts/package", "--build", BUILD, "--wheel", "--level", "1", "--output",
                       cls.folder, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
        cls.wheel, = cls.folder.glob("*.whl")
        cls.site = cls.folder / "site"
        if subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
            run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", cls.site, cls.wheel)
        else:
            run(PYTHON, "-m", "zipfile", "-e", cls.wheel, cls.site)
            for program in (cls.site / "voxloc/bin").iterdir():
                program.chmod(0o755)

    def test_has_the_name_that_pip_understands(self):
        self.assertRegex(self.wheel.name, r"^voxloc-\d+\.\d+\.\d+-cp3\d+-cp3\d+-manylinux_2_\d+_\w+\.whl$")
        self.assertIn(str(self.wheel), self.said)

    def test_runs_with_its_own_libraries_alone(self):
        plain(self.site / "voxloc/bin/voxloc", "simulate", "--size", "100", "--scans", "1", self.folder / "town")
        found = json.loads(run(PYTHON, "-c", USE, self.folder / "town", cwd="/",
                               env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.site)}))
        self.assertEqual(found["package"], str(self.site / "voxloc/__init__.py"))
        self.assertTrue(found["accepted"])
        self.assertLess(found["error_m"], 0.05)
        self.assertRegex(found["address"], r"^127\.0\.0\.1:\d+$")
        own = [path for path in found["loaded"] if path.startswith(f"{self.site}/voxloc/")]
        self.assertGreater(len(own), 5)
        for path in set(found["loaded"]) - set(own):
            self.assertTrue(path.startswith("/usr/lib/python3") or OF_THE_SYSTEM.search(path), path)

    def test_programs_and_module_find_every_library_in_the_package(self):
        module, = self.site.glob("voxloc/_native.*.so")
        lib = self.site / "voxloc/lib"
        used = set()
        for binary in (module, self.site / "voxloc/bin/voxlocd", self.site / "voxloc/bin/voxloc"):
            for name, path in re.findall(r"^\s*(\S+) => (\S+)", plain("ldd", binary), re.MULTILINE):
                if not OF_THE_SYSTEM.search(name):
                    self.assertEqual(os.path.realpath(path), str(lib / name))
                    used.add(name)
        self.assertEqual(used, {path.name for path in lib.iterdir()})

    def test_the_record_has_the_digest_of_every_file(self):
        info, = importlib.metadata.distributions(path=[str(self.site)])
        self.assertEqual(info.metadata["Name"], "voxloc")
        self.assertEqual([needed for needed in info.requires if "extra" not in needed], ["numpy"])
        client = [needed for needed in info.requires if 'extra == "client"' in needed]
        self.assertEqual(len(client), 2, client)
        self.assertIn("grpcio", client[0])
        self.assertIn("protobuf", client[1])
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            self.assertEqual(len(names), len(set(names)))
            record, = (name for name in names if name.endswith(".dist-info/RECORD"))
            rows = [row.rsplit(",", 2) for row in archive.read(record).decode().splitlines()]
            self.assertEqual(sorted(row[0] for row in rows), sorted(names))
            for name, digest, size in rows:
                if name != record:
                    data = archive.read(name)
                    expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                    self.assertEqual((digest, size), (f"sha256={expected}", str(len(data))), name)
            self.assertEqual(archive.getinfo("voxloc/bin/voxlocd").external_attr >> 16, 0o100755)
            self.assertFalse([name for name in names if "__pycache__" in name])
            licences = [name for name in names if "/licenses/" in name]
            self.assertGreater(len(licences), 20)
            for name in ("voxloc/py.typed", "voxloc/_native.pyi", "voxloc/messages.pyi", "voxloc/voxloc.v1.binpb"):
                self.assertIn(name, names)

    def test_the_same_input_gives_the_same_bytes(self):
        tarball, = self.folder.glob("*.tar.gz")
        with tarfile.open(tarball) as archive:
            archive.extractall(self.folder / "packed")
        packed, = (self.folder / "packed").iterdir()
        version = self.wheel.name.split("-")[1]
        run(SOURCE / "scripts/package-wheel", "--build", BUILD, "--packed", packed, "--output", self.folder / "again",
            "--version", version, "--epoch", EPOCH)
        self.assertEqual((self.folder / "again" / self.wheel.name).read_bytes(), self.wheel.read_bytes())


if __name__ == "__main__":
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    binaries = [*BUILD.glob("bin/voxlocd"), *BUILD.glob("bin/voxloc"), *BUILD.glob("python/voxloc/_native.*.so")]
    if re.search("^VOXLOC_SANITIZE:STRING=.", cache, re.MULTILINE) or len(binaries) != 3:
        print(f"skipped: {BUILD} is not a build with the programs and the native module")
        sys.exit(SKIPPED)
    unittest.main()
