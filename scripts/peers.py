# SPDX-License-Identifier: Apache-2.0
"""Registrations of other projects for bench-peers and autoware-reference: their sources at known
commits, and programs of voxloc that are built with them."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = {
    "small_gicp": (
        "https://github.com/koide3/small_gicp",
        "aea131352e0d362d3e579a334c477cfafa5ee5eb",
        ["include", "src", "cmake"],
    ),
    "autoware_core": (
        "https://github.com/autowarefoundation/autoware_core",
        "2d693b8229147fc81ce4807e630b5bcb7ac625a4",
        ["localization/autoware_ndt_scan_matcher"],
    ),
}


class Unavailable(Exception):
    """Something that has to be brought or installed first is not there."""


def run(*command, **options):
    print("+", *command, file=sys.stderr, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def bring(name, folder):
    """Checks out one commit of a repository, only the folders that are built. A folder that is
    there is used as it is."""
    url, commit, paths = PEERS[name]
    if folder.exists():
        return
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        run("git", "init", "--quiet", part)
        run("git", "-C", part, "remote", "add", "origin", url)
        run("git", "-C", part, "sparse-checkout", "set", *paths)
        run("git", "-C", part, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin",
            commit)
        run("git", "-C", part, "checkout", "--quiet", "FETCH_HEAD")
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"cannot fetch {url}; check out its commit {commit} as {folder}, or give "
                          "the folder around it with --sources") from error
    part.rename(folder)


def check_pcl():
    """Raises Unavailable where Autoware's NDT cannot be built for lack of PCL."""
    if shutil.which("dpkg") and subprocess.run(["dpkg", "-s", "libpcl-dev"], check=False,
                                               stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL).returncode:
        raise Unavailable("PCL is missing, which Autoware's NDT needs: install libpcl-dev")


def add_build_flags(parser):
    parser.add_argument("--sources", metavar="DIR", type=pathlib.Path,
                        default=ROOT / "build/peers/sources",
                        help="folder of the sources; what is there is used, what is missing is "
                        "fetched (default: build/peers/sources)")
    parser.add_argument("--build", metavar="DIR", type=pathlib.Path, default=ROOT / "build/peers",
                        help="build folder, which may be one of voxloc, such as build/release "
                        "(default: build/peers)")
    parser.add_argument("--jobs", metavar="N", default="2",
                        help="compile with so many processes (default: 2)")


def build(options, *targets):
    new = [] if (options.build / "CMakeCache.txt").exists() else [
        "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DVOXLOC_CUDA=OFF"]
    run("cmake", "-S", ROOT, "-B", options.build, *new,
        f"-DVOXLOC_BENCH_PEERS={options.sources.resolve()}", stdout=subprocess.DEVNULL)
    run("cmake", "--build", options.build, "--target", *targets, "--parallel", options.jobs,
        stdout=sys.stderr)
