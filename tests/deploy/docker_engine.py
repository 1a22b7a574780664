# SPDX-License-Identifier: Apache-2.0
"""A Docker of a test, and the images of the services in deploy/compose*.yaml, made without a registry."""

import contextlib
import os
import re
import subprocess
import tempfile

import yaml

from waiting import eventually

TIMEOUT_S = 100
PROJECT = "deploy"
NOT_IN_DEBIAN = {"grafana"}


def call(*command, **options):
    run = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False, **options)
    if run.returncode != 0:
        raise AssertionError(f"{command} failed with {run.returncode}:\n{run.stdout[-4000:]}{run.stderr[-4000:]}")
    return run.stdout


@contextlib.contextmanager
def docker(storage, *options):
    """A dockerd with its data in `storage`, which `docker` and `docker-compose` find by the environment."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DOCKER_HOST"] = f"unix://{folder}/socket"
        with open(storage / "dockerd.log", "wb") as log:
            process = subprocess.Popen(
                # What it mounts is not seen outside, and it ends with this process.
                ["unshare", "--mount", "setpriv", "--pdeathsig", "TERM", "dockerd", f"--data-root={storage}/docker",
                 f"--exec-root={folder}/exec", f"--pidfile={folder}/pid", f"--host={os.environ['DOCKER_HOST']}",
                 "--exec-opt=native.cgroupdriver=cgroupfs", *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            eventually("dockerd answers or has ended", lambda: process.poll() is not None or subprocess.run(
                ["docker", "version"], check=False, capture_output=True).returncode == 0)
            if process.poll() is not None:
                raise AssertionError("dockerd ended:\n" + (storage / "dockerd.log").read_text(encoding="utf-8")[-4000:])
            yield
        finally:
            process.terminate()
            process.wait(timeout=TIMEOUT_S)


def proxy_of_apt():
    """The proxy of this machine's apt, as an argument of a build."""
    config = call("apt-config", "dump")
    found = re.search(r'^Acquire::http::Proxy "(.+)";$', config, re.M)
    return ["--build-arg", f"http_proxy={found.group(1)}"] if found else []


def make_images(source, programs, storage):
    """All images, with the machine's own network; False: Debian cannot be fetched."""
    built = subprocess.run([source / "scripts/build-image", "--programs", programs, "--storage", storage / "buildah"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False)
    if "build-image: debootstrap failed" in built.stdout:
        print(f"Debian's base cannot be made here:\n{built.stdout[-1000:]}")
        return False
    if built.returncode != 0:
        raise AssertionError(f"scripts/build-image failed:\n{built.stdout[-4000:]}")
    built_here, named = set(), {}
    for file in (source / "deploy").glob("compose*.yaml"):
        for name, service in yaml.safe_load(file.read_text(encoding="utf-8"))["services"].items():
            if "image" in service:
                named[name] = service["image"]
            elif "build" in service:
                built_here.add(name)
    # The network of the machine alone is used: nothing is added to it.
    with docker(storage, "--bridge=none", "--iptables=false", "--ip-forward=false"):
        for image, name in (("docker.io/library/debian:12-slim", "debian:12-slim"), ("localhost/voxloc:cpu", "voxloc")):
            with tempfile.TemporaryDirectory(dir=storage) as folder:
                call("buildah", "--storage-driver", "vfs", "--root", storage / "buildah/root", "--runroot",
                     storage / "buildah/run", "push", image, f"docker-archive:{folder}/image.tar:{name}")
                call("docker", "load", "--input", f"{folder}/image.tar")
        for service in sorted(built_here):
            call("docker", "tag", "voxloc", f"{PROJECT}_{service}")
        for service in sorted(set(named) - NOT_IN_DEBIAN):
            call("docker", "build", "--network=host", *proxy_of_apt(), "--target", service, "--tag",
                 named[service], source / "tests/deploy/compose")
    return True
