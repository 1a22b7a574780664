#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds an image of the Dockerfile by scripts/build-image and runs voxlocd in it.

    image_test.py SOURCE_DIR [--target cpu|gpu] [--programs BUILD_DIR] [--storage DIR] [UNITTEST...]

With --programs the image has the programs of this build folder, and its voxloc is the client; else
they are compiled in the image, and the client is the image's own. Exits with 77 where there is no
root, buildah or debootstrap, or nothing can be mounted; skips where Debian cannot be fetched.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/python"))
from waiting import free_port  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
TIMEOUT_S = 100
USER = 10001
DATA = "/var/lib/voxloc"


def descendants(pid):
    """Processes below `pid`."""
    children = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text(encoding="utf-8").rpartition(") ")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, open_ones = [], [pid]
    while open_ones:
        below = children.get(open_ones.pop(), [])
        found += below
        open_ones += below
    return found


class Image(unittest.TestCase):
    options = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cleanup = contextlib.ExitStack()
        cls.addClassCleanup(cls.cleanup.close)
        cls.folder = pathlib.Path(cls.cleanup.enter_context(tempfile.TemporaryDirectory()))
        storage = cls.options.storage or cls.folder / "storage"
        programs = ["--programs", cls.options.programs] if cls.options.programs else []
        built = subprocess.run(
            [cls.options.source / "scripts/build-image", "--target", cls.options.target,
             "--storage", storage, *programs],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        if "build-image: debootstrap failed" in built.stdout:
            raise unittest.SkipTest(f"Debian's base cannot be made here:\n{built.stdout[-1000:]}")
        if built.returncode != 0:
            raise AssertionError(f"scripts/build-image failed:\n{built.stdout[-4000:]}")
        print("\n".join(line for line in built.stdout.splitlines() if line.startswith("build-image: ")))
        cls.buildah = ["buildah", "--storage-driver", "vfs", "--root", f"{storage}/root",
                       "--runroot", f"{storage}/run"]
        name = f"localhost/voxloc:{cls.options.target}"
        cls.docker = json.loads(cls.call(*cls.buildah, "inspect", "--type", "image", name))["Docker"]
        cls.config = cls.docker["config"]
        cls.container = cls.call(*cls.buildah, "from", "--pull-never", name).strip()
        cls.cleanup.callback(subprocess.run, [*cls.buildah, "rm", cls.container], check=False,
                             stdout=subprocess.DEVNULL)
        cls.root = pathlib.Path(cls.call(*cls.buildah, "mount", cls.container).strip())
        cls.grpc = f"127.0.0.1:{free_port()}"
        cls.http = f"127.0.0.1:{free_port()}"
        cls.data = cls.folder / "data"
        cls.data.mkdir()
        os.chown(cls.data, USER, USER)

    @staticmethod
    def call(*command):
        run = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=TIMEOUT_S, check=False)
        if run.returncode != 0:
            raise AssertionError(f"{command} failed:\n{run.stdout}{run.stderr}")
        return run.stdout

    def inside(self, *command, mounts=()):
        """The command line that runs `command` in the container, as its user."""
        volumes = [part for mount in (f"{self.data}:{DATA}", *mounts) for part in ("--volume", mount)]
        return [*self.buildah, "run", "--isolation", "chroot", *volumes,
                "--env", f"VOXLOCD_LISTEN={self.grpc}", "--env", f"VOXLOCD_METRICS_LISTEN={self.http}",
                self.container, "--", *map(str, command)]

    def voxloc(self, *arguments):
        """The client, which finds the folder of the test at its own path."""
        if self.options.programs:
            return self.call(self.options.programs / "bin/voxloc", *arguments)
        return self.call(*self.inside("voxloc", *arguments, mounts=(f"{self.folder}:{self.folder}",)))

    def health(self, path):
        return subprocess.run(self.inside(*self.config["Healthcheck"]["Test"][1:], path), check=False,
                              timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def start(self):
        """voxlocd as an engine starts the image: the process of `buildah run`, and its own id."""
        log = self.cleanup.enter_context(open(self.folder / "voxlocd.log", "wb"))
        process = subprocess.Popen(self.inside(*self.config["Entrypoint"], *self.config["Cmd"]),
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def end():
            for pid in descendants(process.pid) if process.poll() is None else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()

        self.cleanup.callback(end)
        limit = time.monotonic() + TIMEOUT_S
        while self.health("readyz") != 0:
            if process.poll() is not None or time.monotonic() > limit:
                raise AssertionError("voxlocd was not ready:\n" + self.log())
            time.sleep(0.2)
        (server,) = (pid for pid in descendants(process.pid)
                     if pathlib.Path(f"/proc/{pid}/exe").resolve().name == "voxlocd")
        return process, server

    def log(self):
        return (self.folder / "voxlocd.log").read_text(encoding="utf-8", errors="replace")

    def test_it_says_what_it_is_and_how_to_run_it(self):
        self.assertEqual(self.config["User"], f"{USER}:{USER}")
        self.assertEqual(self.config["Entrypoint"], ["voxlocd"])
        self.assertEqual(set(self.config["ExposedPorts"]), {"50051/tcp", "9464/tcp"})
        self.assertEqual(set(self.config["Volumes"]), {DATA})
        self.assertEqual(self.config["Healthcheck"]["Test"], ["CMD", "voxloc-healthcheck"])
        labels = {name.rpartition(".")[2]: value for name, value in self.config["Labels"].items()
                  if name.startswith("org.opencontainers.image.")}
        self.assertEqual(labels["title"], "voxloc")
        self.assertEqual(labels["licenses"], "Apache-2.0")
        self.assertRegex(labels["version"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(labels["revision"], r"^([0-9a-f]{40}|unknown)$")

    def test_it_holds_what_runs_and_no_tools_to_build(self):
        for name in ("voxlocd", "voxloc", "voxloc-healthcheck"):
            self.assertTrue(os.path.lexists(self.root / "usr/local/bin" / name), name)
        for name in ("gcc", "c++", "cmake", "ninja", "git", "python3", "curl", "wget", "sudo"):
            self.assertFalse((self.root / "usr/bin" / name).exists(), name)
        self.assertFalse((self.root / "src").exists())
        self.assertFalse(any((self.root / "var/lib/apt/lists").glob("*_Packages*")))

    def test_its_user_can_write_nothing_but_the_volume_and_temporary_folders(self):
        open_to_all = {"/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/dev/mqueue"}
        found = set()
        for folder, folders, _ in os.walk(self.root):
            for name in folders:
                path = pathlib.Path(folder, name)
                status = path.lstat()
                if stat.S_ISDIR(status.st_mode) and (status.st_mode & stat.S_IWOTH or status.st_uid == USER):
                    found.add("/" + str(path.relative_to(self.root)))
        self.assertEqual(found - open_to_all, {DATA})

    def test_voxlocd_answers_a_client_and_writes_only_its_volume(self):
        before = {path: path.lstat().st_mtime_ns for path in self.files()}
        process, server = self.start()
        status = dict(line.split(":\t", 1) for line in
                      pathlib.Path(f"/proc/{server}/status").read_text(encoding="utf-8").splitlines())
        self.assertEqual(status["Uid"].split(), [str(USER)] * 4)
        self.assertEqual(status["Gid"].split(), [str(USER)] * 4)
        self.assertEqual(self.health("livez"), 0)
        self.assertEqual(self.health("readyz/maps/town"), 1)

        town = self.folder / "town"
        os.chmod(self.folder, 0o777)
        self.voxloc("simulate", "--size", "100", "--scans", "10", "--map-spacing", "0.2", town)
        self.voxloc("map", "load", "--server", self.grpc, "--map", "town", town / "map")
        self.assertEqual(self.health("readyz/maps/town"), 0)
        replayed = self.folder / "replay.json"
        self.voxloc("replay", "--server", self.grpc, "--map", "town", "--scans", town / "scans", "--poses",
                    town / "poses.txt", "--json", replayed)
        result = json.loads(replayed.read_text(encoding="utf-8"))
        self.assertEqual((result["scans"], result["answered"], result["accepted"]), (10, 10, 10))
        self.assertLess(result["translation_error_m"]["max"], 0.1)

        os.kill(server, signal.SIGTERM)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0, self.log())
        self.assertEqual(self.health("livez"), 1)
        self.assertTrue((self.data / "maps.db").is_file())
        self.assertEqual({path for path in self.files() if before.get(path) != path.lstat().st_mtime_ns}, set())

    def files(self):
        """The files of the container, but for those that buildah puts there."""
        theirs = {"etc/hosts", "etc/resolv.conf", "run/.containerenv"}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = pathlib.Path(folder, name)
                if str(path.relative_to(self.root)) not in theirs:
                    yield path


def why_not_here():
    """What is missing to build an image; empty: nothing."""
    if os.geteuid() != 0:
        return "root is needed to build an image"
    for tool in ("buildah", "debootstrap"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    # As buildah and debootstrap do it; a container may forbid it also to root.
    with tempfile.TemporaryDirectory() as folder:
        mounts = subprocess.run(["unshare", "--mount", "mount", "--bind", "/tmp", folder], check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return "nothing can be mounted here" if mounts.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--target", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--storage", type=pathlib.Path)
    Image.options, rest = parser.parse_known_args()
    missing = why_not_here()
    if missing:
        print(missing)
        return SKIPPED
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
