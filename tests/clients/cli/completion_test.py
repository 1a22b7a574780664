#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells: completion_test.py VOXLOC.

Shells that are not installed are skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

VOXLOC = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None

BASH = """
source <(voxloc completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_voxloc
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Completion outside of a line editor: what the function hands over is printed.
ZSH = """
compdef() { :; }
_describe() { print -l -- "${(@)${(P)2}%%:*}"; }
_files() { print -l -- ${words[CURRENT]}*(N); }
source <(voxloc completion zsh)
words=("$@")
CURRENT=$#
_voxloc
"""
FISH = "voxloc completion fish | source; complete -C (string join ' ' -- $argv)"


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        config = pathlib.Path(self.folder.name) / "voxloc"
        config.mkdir()
        (config / "contexts.yaml").write_text("contexts:\n  depot: {server: 'a:1'}\n  yard: {server: 'b:1'}\n")
        for name in ("town.pcd", "town two.pcd"):
            (pathlib.Path(self.folder.name) / name).touch()
        self.environment = dict(os.environ, XDG_CONFIG_HOME=self.folder.name, HOME=self.folder.name,
                                PATH=f"{VOXLOC.parent}:{os.environ['PATH']}")

    def run_shell(self, command):
        done = subprocess.run(command, env=self.environment, cwd=self.folder.name, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.stderr, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines() if line]

    def check(self, complete):
        """`complete` returns the words that can follow the words of a line."""
        self.assertEqual(complete("voxloc", "comp"), ["compare", "completion"])
        self.assertEqual(complete("voxloc", "map", "und"), ["undrop"])
        self.assertEqual(complete("voxloc", "map", "load", "--tile"), ["--tile-size"])
        self.assertIn("--map", complete("voxloc", "map", "load", "--"))
        self.assertEqual(complete("voxloc", "align", "--covariance", "la"), ["laplace"])
        self.assertEqual(sorted(complete("voxloc", "completion", "")), ["bash", "fish", "zsh"])
        self.assertEqual(sorted(complete("voxloc", "admin", "log-level", "")),
                         sorted(["trace", "debug", "info", "warn", "error"]))
        self.assertEqual(complete("voxloc", "--context", "de"), ["depot"])
        self.assertEqual(complete("voxloc", "info", "--context", "y"), ["yard"])
        self.assertEqual(complete("voxloc", "context", "use", ""), ["depot", "yard"])
        self.assertEqual(complete("voxloc", "nothing", "--x", "y"), [])
        self.assertEqual(sorted(complete("voxloc", "map", "load", "--json", "x.json", "tow")),
                         ["town two.pcd", "town.pcd"])

    def shell(self, name):
        path = shutil.which(name)
        if path is None:
            self.skipTest(f"{name} is not installed")
        return path

    def test_bash(self):
        bash = self.shell("bash")

        def complete(*words):
            return self.run_shell([bash, "--norc", "-c", BASH, "bash", *words])

        self.check(complete)
        # bash breaks lines at = and : too.
        self.assertEqual(complete("voxloc", "align", "--covariance", "=", "mul"), ["multi-ndt", "multi-ndt-score"])
        self.assertEqual(complete("voxloc", "align", "--covariance", "="),
                         complete("voxloc", "align", "--covariance", ""))
        self.assertEqual(complete("voxloc", "--server", "a", ":", "1", "map", "und"), ["undrop"])

    def test_zsh(self):
        zsh = self.shell("zsh")
        self.check(lambda *words: self.run_shell([zsh, "-f", "-c", ZSH, "zsh", *words]))

    def test_fish(self):
        fish = self.shell("fish")

        def complete(*words):
            return [word.replace("\\ ", " ") for word in
                    self.run_shell([fish, "--no-config", "-c", FISH, *words])]

        self.check(complete)

    def test_words_with_their_value(self):
        done = self.run_shell([str(VOXLOC), "__complete", "align", "--covariance=la"])
        self.assertEqual(done, ["--covariance=laplace"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
