# SPDX-License-Identifier: Apache-2.0
"""A temporary PostgreSQL of a test, with the programs of the distribution, and what the logs of
servers that share it say."""

import datetime
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import urllib.parse

from waiting import eventually


def _programs():
    """The folder of the newest version's programs, or None."""
    versions = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in versions), key=lambda path: float(path.parent.name), default=None)


def is_installed():
    return _programs() is not None


class Postgres:
    """A running server in a folder that it is given by the system; `url` is that of an empty database.
    It listens on a socket in the folder, since a free TCP port may be taken before it listens there. It ends with the process that has started it, if `stop` is not called before."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="voxloc_postgres_")
        self._process = None
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        programs = _programs()
        prefix = ["setpriv", "--pdeathsig", "KILL"]
        if os.geteuid() == 0:  # the programs refuse to run as root
            user = pwd.getpwnam("postgres")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            prefix += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        cluster = f"{self._folder}/cluster"
        subprocess.run([*prefix, programs / "initdb", "-D", cluster, "--username=voxloc", "--encoding=UTF8",
                        "--locale=C", "--auth=trust", "--no-sync"], check=True, stdout=subprocess.DEVNULL)
        with open(f"{self._folder}/postgres.log", "wb") as log:
            self._process = subprocess.Popen(
                [*prefix, programs / "postgres", "-D", cluster, "-k", self._folder, "-c", "port=5432",
                 "-c", "listen_addresses="], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.url = f"postgresql://voxloc@{urllib.parse.quote(self._folder, safe='')}:5432/postgres"
        ready = [programs / "pg_isready", "--quiet", "--dbname", self.url]
        eventually("PostgreSQL answers", lambda: subprocess.run(ready, check=False).returncode == 0)

    def stop(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _served_revisions(log):
    """Of each revision of the only map, how the server of this log began to serve it, map_committed or
    map_followed, and when: seconds, to the millisecond."""
    times = {}
    with open(log, encoding="utf-8") as file:
        for line in file:
            event = re.search(r"event=(map_committed|map_followed) .*?revision=(\d+)", line)
            if event:
                stamp = datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00"))
                times.setdefault(int(event.group(2)), (event.group(1), stamp.timestamp()))
    return times


def await_all_serve(logs, revision):
    """Waits until the servers of these logs serve a revision that was committed through one of them;
    returns the seconds from the acknowledgement of the commit until the last one did."""
    served = eventually(f"all servers serve revision {revision}",
                        lambda: _if_all(_served_revisions(log).get(revision) for log in logs))
    acknowledged = next(at for event, at in served if event == "map_committed")
    return max(at for _, at in served) - acknowledged


def _if_all(values):
    values = list(values)
    return None if None in values else values
