#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the documents: commands_test.py SOURCE_DIR PROGRAMS_DIR.

Every line of every fenced block of README.md, docs/quickstart.md and docs/cli.md, and of every block
of shell commands of docs/upgrades.md, docs/security.md, docs/operations.md, docs/maps.md and docs/ros.md, is run as it stands, in
the order of the document, against a server of its own, or is named below with the reason why not. The
documents use one folder, and the town of README's quick start. A command that fails fails the test. In
the other documents, flags of the programs must exist.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python"))
import bags  # noqa: E402
import postgres  # noqa: E402
import voxlocd  # noqa: E402

PROGRAMS = ("voxloc", "voxlocd", "voxloc_bench", "voxloc_chaos")
TIMEOUT_S = 100

# Lines that are not run, and why. A line that is in no document any more is an error.
NOT_RUN = {
    "scripts/demo": "demo_test runs it",
    "scripts/test": "runs this test",
    "voxloc info --server voxloc.example:50051 --tls-ca ca.pem --token-file vehicle.token":
        "the server here has no certificate; client_channel_security_test has one",
    "voxloc admin captures --map town --max 20": "the server here captures nothing; command_line_e2e_test has one that does",
    "voxloc admin captures get c18f2a4-17 --output bad.capture": "the same",
    "voxloc replay --capture bad.capture --server localhost:50051": "the same",
    "voxloc admin drain --grace 60 --reason maintenance": "no command after it could open a session",
    "voxloc context set depot --server depot.example:50051 --tls-ca ca.pem --token-file depot.token":
        "cli_commands_test has contexts; the reader's own stay as they are",
    "voxloc context use depot": "the same",
    "voxloc context list": "the same",
    "voxloc context show depot": "the same",
    "source <(voxloc completion bash)": "cli_completion_test runs it",
    "voxloc map load --map town --crs auto --projector map_projector_info.yaml survey/":
        "cli_commands_test has a survey",
    "voxloc map load --map town --crs EPSG:25832+7837 --wgs84-origin 48.13743,11.57549,565 survey.xyz": "the same",
    "voxloc map propose town drives.json proposal": "map_update_test has drives through a town that has changed",
    "voxloc map propose --canary bus-7 town drives.json proposal": "the same",
    "voxloc map propose --stage town server proposal": "the same",
    "voxloc map propose --extend --stage town drives.json extension": "the same",
    "voxloc map diff town proposal --output changed.ply": "there is no proposal here",
    "voxloc map activate --map town --revision 5": "the same",
    "voxloc admin undrain": "the server here does not drain",
    "cmake --preset release && cmake --build --preset release && "
    "export PATH=$PWD/build/release/bin:$PATH": "the programs are built",
}
# Blocks that are no commands, by how their first line begins.
NOT_COMMANDS = {"README.md": ("proto/",)}
# Servers that end at once where there are not that many GPUs, but not for their flags.
NEEDS_GPUS = {"voxlocd --engine=cuda --devices=0,1 --gpu-memory-limit=8G"}
# What stands for a file of the reader's.
PLACEHOLDERS = {"/etc/voxloc.yaml": "gpu_memory_limit: 8G\n"}
# Folders of the reader's, for which folders of the test stand.
FOLDERS = {"/var/lib/voxloc": "store", "/backup": "backup"}
# Commands of a shell that are run as they are, the lines of a block in one shell.
SHELL = ("openssl", "printf", "token=")
# Where there is no ROS: ros2_package_test checks them.
ROS = "ros2 "
# The reader's database; a real one stands for it. Where there is none, blocks with one of these are not run.
STORE_URL = "postgresql://voxloc@localhost/voxloc"
NEEDS_STORE = (STORE_URL, "localhost:5006")


def blocks(text, kind=r"\w*"):
    """The fenced blocks of a document, each a list of lines."""
    return [found.group(1).splitlines() for found in re.finditer(rf"^```{kind}\n(.*?)^```", text,
                                                                 re.M | re.S)]


def commands(lines):
    """Lines without comments, those that end in a backslash joined with the next."""
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    stripped = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in joined.split("\n"))
    return [line for line in stripped if line]


class Documents(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="voxloc_documents_")
        cls.folder = cls.scratch.name
        cls.servers = []
        cls.addresses = {}  # of servers that a document starts at a port of its own
        cls.used = set()
        cls.database = postgres.Postgres() if postgres.is_installed() else None

    @classmethod
    def tearDownClass(cls):
        if cls.database is not None:
            cls.database.stop()
        cls.scratch.cleanup()

    def tearDown(self):
        self.stop_servers()

    def stop_servers(self):
        while self.servers:
            self.assertEqual(self.servers.pop().stop(), 0, "a server did not end well")

    def read(self, name):
        return pathlib.Path(self.source, name).read_text(encoding="utf-8")

    def here(self, command):
        """The command with the test's folders in place of the reader's."""
        for name, stands in FOLDERS.items():
            folder = pathlib.Path(self.folder, stands)
            folder.mkdir(exist_ok=True)
            command = command.replace(name, str(folder))
        return command

    def start(self, command):
        """Starts a command line of voxlocd, with a port and a folder of its own added."""
        words = shlex.split(self.here(command))
        words[0] = os.path.join(self.programs, words[0])
        for i, word in enumerate(words):
            for name, text in PLACEHOLDERS.items():
                if name in word:
                    path = pathlib.Path(self.folder, "placeholder.yaml")
                    path.write_text(text, encoding="utf-8")
                    words[i] = word.replace(name, str(path))
            if STORE_URL in word:
                words[i] = words[i].replace(STORE_URL, self.database.url)
        listens = [word.split("=")[1] for word in words if word.startswith("--listen=")]
        words = [word for word in words if not re.match("--(metrics-)?listen=", word)]
        folder = tempfile.mkdtemp(dir=self.folder)
        server = voxlocd.Voxlocd(words, folder, cwd=self.folder)
        self.servers.append(server)
        self.addresses.update((listen, server) for listen in listens)
        return server

    def address_of(self, named, server):
        """What stands for the addresses in a command: those of the document's servers, or of the last one."""
        if not all(name in self.addresses for name in named.split(",")):
            return server.address
        servers = [self.addresses[name] for name in named.split(",")]
        for one in servers:
            one.wait_until_ready()
        return ",".join(one.address for one in servers)

    def maintain(self, command):
        """Runs `voxlocd backup` or `restore`, which end by themselves."""
        words = shlex.split(self.here(command))
        done = subprocess.run([os.path.join(self.programs, words[0]), *words[1:]], cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")

    def shell(self, lines):
        """Runs lines of a shell, which stops at the first that fails."""
        done = subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{lines}\n{done.stderr}")

    def python(self, lines):
        """Runs an example of the library for Python, where that is built."""
        package = pathlib.Path(self.programs).parent / "python"
        if not list(package.glob("voxloc/_native*")):
            print(f"not run without the library for Python: {lines}")
            return
        done = subprocess.run(["/usr/bin/python3", "-c", "\n".join([*lines, "print(found)"])], cwd=self.folder,
                              env={**os.environ, "PYTHONPATH": str(package)}, timeout=TIMEOUT_S,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("<Alignment OK ", done.stdout)

    def voxloc(self, command, server):
        words = shlex.split(command)
        variables = dict(os.environ)
        while "=" in words[0]:
            name, value = words.pop(0).split("=", 1)
            variables[name] = value
        self.assertEqual(words[0], "voxloc", f"neither run nor named as not run: {command}")
        words[0] = os.path.join(self.programs, "voxloc")
        if "--server" in words:
            at = words.index("--server") + 1
            words[at] = self.address_of(words[at], server)
        elif words[1] not in ("simulate", "bag"):
            words += ["--server", server.address]
        done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
                              env=variables, capture_output=True, text=True, check=False)
        print(f"$ {command}\n{done.stdout[:2000]}")
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
        self.assertTrue(done.stdout, f"{command} printed nothing")
        if re.search(r"--json -( |$)", command):
            json.loads(done.stdout)
        for flag in ("--json", "--report"):
            if flag in words and words[words.index(flag) + 1] != "-":
                written = pathlib.Path(self.folder, words[words.index(flag) + 1])
                self.assertTrue(written.stat().st_size > 0, f"{command} wrote no {written.name}")

    def await_map(self, name, server):
        """Waits for a map that a server which has started loads."""
        info = [os.path.join(self.programs, "voxloc"), "map", "info", "--map", name, "--server",
                server.address]
        voxlocd.eventually(f"map {name} is loaded", lambda: subprocess.run(
            info, capture_output=True, timeout=TIMEOUT_S, check=False).returncode == 0)

    def record_town(self):
        """The drive through the town as bags, as docs/cli.md has them."""
        town = pathlib.Path(self.folder, "town")
        clouds = [bags.read_pcd_points(path) for path in sorted((town / "scans").iterdir())]
        recording = bags.drive_recording(clouds, bags.read_kitti_poses(town / "poses.txt"), 10**18)
        bags.write_mcap(town / "drive.mcap", recording)
        server = self.start("voxlocd")
        bags.write_mcap(town / "autoware.mcap", self.localizer_rows(clouds, "--points 1500", server))
        self.stop_servers()

    def localizer_rows(self, clouds, flags, server):
        """The rows of a bag of Autoware's node, for which a replay with these flags stands."""
        self.voxloc("voxloc map load --map recorded --profiles autoware town/map", server)
        self.voxloc("voxloc replay --map recorded --profile autoware --scans town/scans --poses town/poses.txt "
                    f"{flags} --perturb 0.2,0.2,0.1,0.5,0.5,1 --json results.json", server)
        results = json.loads(pathlib.Path(self.folder, "results.json").read_text(encoding="utf-8"))
        return bags.localizer_recording(clouds, results["results"])

    def run_block(self, document, lines, server=None):
        """Runs the lines of a block, and returns the server that runs after it."""
        if any(lines[0].startswith(start) for start in NOT_COMMANDS.get(document, ())):
            return server
        if lines[0] == "import voxloc":
            self.python(lines)
            return server
        if self.database is None and any(name in line for line in lines for name in NEEDS_STORE):
            print(f"not run without PostgreSQL: {lines}")
            return server
        if server is not None:
            server.wait_until_ready()
        shell = [command for command in commands(lines) if command.startswith(SHELL)]
        if shell:
            self.shell(shell)
        for command in commands(lines):
            if command in shell:
                continue
            if command.startswith(ROS):
                continue
            if command in NOT_RUN:
                self.used.add(command)
            elif command in NEEDS_GPUS:
                self.used.add(command)
                self.start_or_lack_gpus(command)
            elif command.startswith("voxlocd") and command.endswith("&"):
                started = self.start(command.rstrip("& "))
                # Commands that name no server go to the default address.
                server = server if "--listen=" in command else started
            elif command == "kill %1":
                self.assertEqual(self.servers.pop().stop(), 0, "the server did not end well")
                server = None
            elif command.startswith("voxlocd backup "):
                self.maintain(command)
            elif command.startswith("voxlocd restore "):  # while no server runs
                self.stop_servers()
                server = None
                self.maintain(command)
            elif command.split()[0] == "voxlocd":
                self.start(command).wait_until_ready()
            else:
                self.voxloc(command, server)
        return server

    def start_or_lack_gpus(self, command):
        try:
            self.start(command).wait_until_ready()
        except RuntimeError as error:
            self.assertRegex(str(error), r"(?i)gpu|cuda")
            self.assertNotIn("--help", str(error), "the flags are wrong")
            self.servers.pop().stop()

    def test_1_the_quick_start_works_as_pasted(self):
        for lines in blocks(self.read("README.md")):
            self.run_block("README.md", lines)

    def test_2_the_examples_of_the_command_line_work(self):
        self.assertTrue(pathlib.Path(self.folder, "town").is_dir(), "the quick start wrote no town")
        self.record_town()
        server = self.start("voxlocd")
        server.wait_until_ready()
        for lines in blocks(self.read("docs/cli.md")):
            self.run_block("docs/cli.md", lines, server)

    def test_3_the_quickstarts_work_as_pasted(self):
        server = None
        for lines in blocks(self.read("docs/quickstart.md")):
            server = self.run_block("docs/quickstart.md", lines, server)

    def test_4_upgrades_work_as_pasted(self):
        server = None
        for lines in blocks(self.read("docs/upgrades.md"), "sh"):
            server = self.run_block("docs/upgrades.md", lines, server)

    def test_5_servers_are_secured_as_pasted(self):
        for lines in blocks(self.read("docs/security.md"), "sh"):
            server = self.run_block("docs/security.md", lines)
            if server is None and self.servers:
                self.voxloc("voxloc info --tls-ca ca.pem", self.servers[-1])

    def test_6_maps_are_backed_up_as_pasted(self):
        serve = "voxlocd --data-dir /var/lib/voxloc"
        server = self.start(serve)
        self.voxloc("voxloc map load --map town town/map", server)
        for document in ("docs/operations.md", "docs/maps.md"):
            for lines in blocks(self.read(document), "sh"):
                server = self.run_block(document, lines, server)
                if server is None:
                    server = self.start(serve)
                    self.await_map("town", server)

    def test_7_a_drive_of_autoware_is_compared_as_pasted(self):
        lines_of = blocks(self.read("docs/ros.md"), "sh")
        record = next(command for lines in lines_of for command in commands(lines)
                      if command.startswith("ros2 bag record "))
        topics = [word for word in record.split() if word.startswith("/")]
        clouds = [bags.read_pcd_points(path)
                  for path in sorted(pathlib.Path(self.folder, "town", "scans").iterdir())]
        server = self.start("voxlocd")
        server.wait_until_ready()
        # Of the topics that the page records, and no others.
        bags.write_mcap(pathlib.Path(self.folder, "town", "recorded.mcap"),
                        [row for row in self.localizer_rows(clouds, "", server) if row[0] in topics])
        for lines in lines_of:
            self.run_block("docs/ros.md", [line.replace("DRIVE", "town/recorded.mcap")
                                           .replace("MAP_DIRECTORY", "town/map") for line in lines], server)

    def test_8_every_line_that_is_not_run_is_in_a_document(self):
        self.assertEqual(self.used, NOT_RUN.keys() | NEEDS_GPUS)

    def test_flags_in_other_documents_exist(self):
        helps = {}

        def flags_of(words):
            program = os.path.join(self.programs, words[0])
            level = [program]
            for word in words[1:3]:
                if not re.fullmatch(r"[a-z][a-z-]*", word):
                    break
                level.append(word)
            key = " ".join(level)
            if key not in helps:
                # An argument that is no subcommand ends with an error; its parent has the flags.
                while True:
                    done = subprocess.run([*level, "--help"], capture_output=True, text=True,
                                          timeout=TIMEOUT_S, check=False)
                    if done.returncode == 0 or len(level) == 1:
                        break
                    level.pop()
                helps[key] = set(re.findall(r"--[a-z][a-z0-9-]*", done.stdout))
            return helps[key]

        checked = 0
        documents = [path for path in pathlib.Path(self.source).rglob("*.md")
                     if "build" not in path.relative_to(self.source).parts]
        self.assertGreater(len(documents), 5)
        for path in documents:
            text = path.read_text(encoding="utf-8")
            inline = re.findall(r"`((?:" + "|".join(PROGRAMS) + r") [^`]+)`",
                                re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
            for lines in [*blocks(text), [re.sub(r"\s+", " ", one) for one in inline]]:
                for command in commands(lines):
                    words = command.split()
                    if not words or words[0] not in PROGRAMS:
                        continue
                    # What is quoted is an argument, which may have flags of its own.
                    unquoted = re.sub(r'"[^"]*"', '""', command)
                    flags = re.findall(r"(?<=\s)--[a-z][a-z0-9-]*", unquoted)
                    with self.subTest(document=path.name, command=command):
                        self.assertEqual(sorted(set(flags) - flags_of(words)), [])
                    checked += len(flags)
        self.assertGreater(checked, 50)


if __name__ == "__main__":
    Documents.programs = os.path.abspath(sys.argv.pop())
    Documents.source = sys.argv.pop()
    unittest.main(verbosity=2)
