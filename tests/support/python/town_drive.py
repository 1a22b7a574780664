# SPDX-License-Identifier: Apache-2.0
"""Test cases with a simulated drive through a town, whose map a voxlocd has."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import bags
import voxlocd


class TownDrive(unittest.TestCase):
    """The drive is in `folder`/town and its points in `clouds`; `programs` must be set before."""

    SCANS = 12

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="voxloc_town_")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.server = voxlocd.Voxlocd([os.path.join(cls.programs, "voxlocd")], cls.scratch.name)
        cls.addClassCleanup(cls.server.stop)
        cls.run_voxloc("simulate", "--size", "100", "--scans", str(cls.SCANS), "town")
        cls.run_voxloc("map", "load", "--server", cls.server.address, "--map", "town", "town/map")
        cls.clouds = [bags.read_pcd_points(path)
                      for path in sorted((cls.folder / "town/scans").iterdir())]

    @classmethod
    def run_voxloc(cls, *words, expect=0):
        done = subprocess.run([os.path.join(cls.programs, "voxloc"), *words], cwd=cls.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100,
                              check=False)
        assert done.returncode == expect, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done
