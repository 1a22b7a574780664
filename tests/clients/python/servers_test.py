#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client with TLS, tokens and several servers: servers_test.py SOURCE_DIR.

The servers are this test's own; certificates are made with the openssl program.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import python_client  # noqa: E402
from certificates import Certificates  # noqa: E402

if len(sys.argv) != 2:
    sys.exit("usage: servers_test.py SOURCE_DIR")
SOURCE = pathlib.Path(sys.argv.pop())
python_client.make_importable(SOURCE)

import grpc  # noqa: E402
import numpy as np  # noqa: E402
import voxloc  # noqa: E402
from voxloc import _contract, _route, messages  # noqa: E402

WAIT_S = 60
NEVER_S = 3600  # longer than any test: who waits for it fails the test
QUICK = voxloc.ReconnectOptions(max_attempts=1000, initial_wait_s=0.01, max_wait_s=0.02)
POINTS = np.zeros((4, 3), dtype=np.float32)
DETAILS = _contract.CONTRACT.messages


def unavailable(retry_s=0):
    """The metadata of an error that asks for a time to wait."""
    status = DETAILS["google.rpc.Status"]()
    retry = DETAILS["google.rpc.RetryInfo"]()
    retry.retry_delay.seconds = retry_s
    detail = status.details.add()
    detail.type_url = "type.googleapis.com/google.rpc.RetryInfo"
    detail.value = retry.SerializeToString()
    return (("grpc-status-details-bin", status.SerializeToString()),)


class Server:
    """Answers as `behaviour` (functions by the name of the call) says; can be stopped and started
    again at the same port. `calls` are (name, authorization) of what came, `traces` the traceparents,
    `maps` (name, x-voxloc-map)."""

    def __init__(self, behaviour, credentials=None):
        self._behaviour, self._credentials = behaviour, credentials
        self._port = 0
        self.calls = []
        self.traces = []
        self.maps = []
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self._port}"

    def start(self):
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(8),
                                   options=[("grpc.so_reuseport", 0)])
        services = {}
        for name, function in self._behaviour.items():
            method = _contract.CONTRACT.methods[name]
            make = {(False, False): grpc.unary_unary_rpc_method_handler,
                    (False, True): grpc.unary_stream_rpc_method_handler,
                    (True, True): grpc.stream_stream_rpc_method_handler}[
                        method.client_streaming, method.server_streaming]
            handler = make(self._recorded(name, function), method.request.FromString,
                           method.response.SerializeToString)
            services.setdefault(method.path.split("/")[1], {})[name] = handler
        for service, handlers in services.items():
            self._server.add_generic_rpc_handlers(
                [grpc.method_handlers_generic_handler(service, handlers)])
        address = f"127.0.0.1:{self._port}"
        self._port = (self._server.add_insecure_port(address) if self._credentials is None
                      else self._server.add_secure_port(address, self._credentials))
        self._server.start()

    def stop(self):
        self._server.stop(0).wait()

    def _recorded(self, name, function):
        def answer(request, context):
            sent = dict(context.invocation_metadata())
            self.calls.append((name, sent.get("authorization")))
            self.traces.append(sent.get("traceparent"))
            self.maps.append((name, sent.get("x-voxloc-map")))
            return function(request, context)

        return answer


def info(_, context):
    identity = context.auth_context().get("x509_common_name", [b""])
    return messages.GetServerInfoResponse(caller=identity[0].decode())


def tracks(name, drain_after=0):
    """Serves AlignScans, and drains once that many scans have come."""

    def align_scans(requests, _):
        seen = 0
        for request in requests:
            if request.HasField("open"):
                yield messages.AlignScansResponse(opened=messages.SessionOpened(session=name))
            if request.HasField("scan"):
                seen += 1
                if seen == drain_after:
                    yield messages.AlignScansResponse(
                        draining=messages.SessionDraining(reconnect_after_s=NEVER_S))
                yield messages.AlignScansResponse(result=messages.AlignmentResult(
                    sequence=request.scan.sequence, status=messages.ALIGNMENT_STATUS_OK))

    return {"AlignScans": align_scans}


def refuses(code, retry_s=0):
    def align_scans(_, context):
        context.set_trailing_metadata(unavailable(retry_s))
        context.abort(code, "not here")

    return {"AlignScans": align_scans}


@contextlib.contextmanager
def serving(*behaviours, credentials=None):
    servers = [Server(behaviour, credentials) for behaviour in behaviours]
    try:
        yield servers
    finally:
        for server in servers:
            server.stop()


def over(*servers):
    return ", ".join(server.address for server in servers)


def in_both(function):
    """Runs a test with the client for threads and, in a thread with a loop, with the other. The
    test is given a function that makes clients, and one that waits for what they return."""

    def run(self):
        with self.subTest(client="threads"):
            function(self, voxloc.Client, lambda result: result)
        with self.subTest(client="asyncio"):
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever)
            thread.start()

            def wait(awaited):
                async def run_it():
                    return await awaited

                return asyncio.run_coroutine_threadsafe(run_it(), loop).result(WAIT_S)

            def make(*arguments, **options):
                async def make_it():
                    return voxloc.aio.Client(*arguments, **options)

                return wait(make_it())

            try:
                function(self, make, wait)
            finally:
                loop.call_soon_threadsafe(loop.stop)
                thread.join()
                loop.close()

    return run


def server_credentials(own, clients_authority=None):
    certificate, key = (pathlib.Path(path).read_bytes() for path in own)
    root = pathlib.Path(clients_authority).read_bytes() if clients_authority else None
    return grpc.ssl_server_credentials([(key, certificate)], root, root is not None)


class Traces(unittest.TestCase):
    FIRST = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    SECOND = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

    @in_both
    def test_calls_and_sessions_bring_the_context_of_the_client(self, make, wait):
        with serving({"GetServerInfo": info, **tracks("one")}) as (server,):
            client = make(server.address, options=voxloc.ChannelOptions(traceparent=self.FIRST))
            wait(client.server_info(WAIT_S))
            session = wait(opened(client))
            wait(session.close(WAIT_S))
            wait(client.close())
            self.assertEqual(server.traces, [self.FIRST, self.FIRST])

    @in_both
    def test_the_context_is_asked_for_as_each_call_begins(self, make, wait):
        contexts = [self.FIRST, self.SECOND, "", "malformed\n"]
        with serving({"GetServerInfo": info}) as (server,):
            client = make(server.address, options=voxloc.ChannelOptions(
                current_traceparent=lambda: contexts[len(server.traces)]))
            for _ in contexts:
                wait(client.server_info(WAIT_S))
            wait(client.close())
            self.assertEqual(server.traces, [self.FIRST, self.SECOND, None, None])

    def test_a_malformed_context_is_refused_at_the_beginning(self):
        later = "cc" + self.FIRST[2:]
        for good in (self.SECOND, later, later + "-more"):
            voxloc.Client("localhost:1", options=voxloc.ChannelOptions(traceparent=good)).close()
        for bad in ("x", self.FIRST + "-", self.FIRST.upper(), "ff" + self.FIRST[2:],
                    self.FIRST + "\n", later + "more", later + "-a b",
                    "00-" + "0" * 32 + self.FIRST[35:], self.FIRST[:36] + "0" * 16 + "-01"):
            with self.assertRaisesRegex(ValueError, "traceparent must be a W3C trace context"):
                voxloc.Client("localhost:1", options=voxloc.ChannelOptions(traceparent=bad))
        with self.assertRaisesRegex(ValueError, "not both"):
            voxloc.Client("localhost:1", options=voxloc.ChannelOptions(
                traceparent=self.FIRST, current_traceparent=lambda: self.FIRST))


class MapMetadata(unittest.TestCase):
    @in_both
    def test_calls_name_their_map_for_proxies(self, make, wait):
        def refused(_, context):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such map")

        def to_list(tiles):
            async def listed():
                return [tile async for tile in tiles]

            return list(tiles) if hasattr(tiles, "__next__") else wait(listed())

        calls = ("ListMaps", "GetMap", "GetCells", "GetTiles", "AlignScan", "EstimateInitialPose",
                 "ScorePoses", "AlignScans")
        scan = voxloc.Scan(POINTS)
        with serving({name: refused for name in calls}) as (server,):
            client = make(server.address)
            town = voxloc.Setup(map="town")
            for call in (client.list_maps, lambda: client.get_map("town"),
                         lambda: client.get_map("a town"), lambda: client.get_cells("town"),
                         lambda: client.align(town, scan), lambda: client.search("town", scan),
                         lambda: client.score(town, scan, np.zeros((1, 7))),
                         lambda: client.session("town")):
                with self.assertRaises(voxloc.Error):
                    wait(call())
            with self.assertRaises(voxloc.Error):
                to_list(client.get_tiles("town"))
            wait(client.close())
            self.assertEqual(server.maps, [
                ("ListMaps", None), ("GetMap", "town"), ("GetMap", None), ("GetCells", "town"),
                ("AlignScan", "town"), ("EstimateInitialPose", "town"), ("ScorePoses", "town"),
                ("AlignScans", "town"), ("GetTiles", "town")])


@unittest.skipIf(shutil.which("openssl") is None, "the openssl program is not installed")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="voxloc_tls_")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        for name in ("own", "other"):
            (cls.folder / name).mkdir()
        cls.own = Certificates(cls.folder / "own")
        cls.other = Certificates(cls.folder / "other")
        cls.ca = cls.own.authority[0]

    def info_of(self, make, wait, server, **options):
        client = make(server.address, options=voxloc.ChannelOptions(tls=True, **options))
        try:
            return wait(client.server_info(WAIT_S))
        finally:
            wait(client.close())

    @in_both
    def test_the_authority_and_the_name_have_to_be_right(self, make, wait):
        own = self.own.sign("server", "DNS:voxloc.test")
        with serving({"GetServerInfo": info}, credentials=server_credentials(own)) as [server]:
            self.info_of(make, wait, server, tls_ca_file=self.ca, tls_server_name="voxloc.test",
                         token="s3cret")
            self.assertEqual(server.calls, [("GetServerInfo", "Bearer s3cret")])
            for options in ({"tls_ca_file": self.ca},
                            {"tls_ca_file": self.ca, "tls_server_name": "another.test"},
                            {"tls_ca_file": self.other.authority[0],
                             "tls_server_name": "voxloc.test"},
                            {"tls_server_name": "voxloc.test"}):
                with self.assertRaisesRegex(voxloc.Error, f"UNAVAILABLE.*{server.address}"):
                    self.info_of(make, wait, server, **options)
            self.assertEqual(len(server.calls), 1)

    @in_both
    def test_a_server_can_ask_for_a_certificate(self, make, wait):
        credentials = server_credentials(self.own.sign("server", "IP:127.0.0.1"), self.ca)
        with serving({"GetServerInfo": info}, credentials=credentials) as [server]:
            certificate, key = self.own.sign("bus-7")
            server_info = self.info_of(make, wait, server, tls_ca_file=self.ca,
                                tls_certificate_file=certificate, tls_key_file=key)
            self.assertEqual(server_info.caller, "bus-7")
            with self.assertRaisesRegex(voxloc.Error, "UNAVAILABLE"):
                self.info_of(make, wait, server, tls_ca_file=self.ca)
            foreign, foreign_key = self.other.sign("bus-7")
            with self.assertRaisesRegex(voxloc.Error, "UNAVAILABLE"):
                self.info_of(make, wait, server, tls_ca_file=self.ca,
                             tls_certificate_file=foreign, tls_key_file=foreign_key)

    def test_what_is_wrong_with_a_file_is_said_with_its_name(self):
        certificate, key = self.own.sign("one")
        _, other_key = self.own.sign("two")
        for options, raised, words in (
                ({"tls_ca_file": "/nowhere/ca.pem"}, FileNotFoundError, "/nowhere/ca.pem"),
                ({"tls_ca_file": key}, ValueError, key),
                ({"tls_certificate_file": certificate}, ValueError, "together"),
                ({"tls_certificate_file": certificate, "tls_key_file": other_key}, ValueError,
                 other_key),
                ({"tls": False, "tls_ca_file": self.ca}, ValueError, "tls_ca_file must come")):
            with self.assertRaisesRegex(raised, words):
                voxloc.Client("localhost:1",
                              options=voxloc.ChannelOptions(**{"tls": True, **options}))


class Tokens(unittest.TestCase):
    @in_both
    def test_a_token_of_a_file_is_read_for_every_call(self, make, wait):
        with tempfile.TemporaryDirectory() as folder, serving({"GetServerInfo": info}) as [server]:
            path = pathlib.Path(folder, "token")
            path.write_text("first\n", encoding="ascii")
            client = make(server.address, options=voxloc.ChannelOptions(token_file=str(path)))
            wait(client.server_info(WAIT_S))
            path.write_text("again\n", encoding="ascii")
            wait(client.server_info(WAIT_S))
            path.write_text("", encoding="ascii")  # while it is being replaced
            wait(client.server_info(WAIT_S))
            os.remove(path)
            wait(client.server_info(WAIT_S))
            wait(client.close())
            self.assertEqual([token for _, token in server.calls],
                             ["Bearer first"] + 3 * ["Bearer again"])

    def test_a_token_in_plain_text_stays_on_this_machine(self):
        options = voxloc.ChannelOptions(token="s3cret")
        self.assertNotIn("s3cret", repr(options))
        for local in ("localhost:1", "127.3.2.1:1", "[::1]:1", "unix:/tmp/s", "dns:///localhost:1",
                      "ipv6:[::1]:1"):
            voxloc.Client(local, options=options).close()
        for remote in ("10.0.0.1:1", "localhost.example:1", "[::2]:1", "localhost:1,b.example:1",
                       "dns://127.0.0.1/b.example:1"):
            with self.assertRaisesRegex(ValueError, "TLS") as raised:
                voxloc.Client(remote, options=options)
            self.assertNotIn("s3cret", str(raised.exception))
            voxloc.Client(remote, options=voxloc.ChannelOptions(
                token="s3cret", allow_insecure_token=True)).close()

    def test_what_is_no_token_is_refused_without_being_shown(self):
        for token in ("s3 cret", "s3cret\nx-other: 1", "s3cr\u00e9t", 4097 * "s"):
            with self.assertRaises(ValueError) as raised:
                voxloc.Client(options=voxloc.ChannelOptions(token=token))
            self.assertNotIn("s3", str(raised.exception))
        with self.assertRaises(FileNotFoundError):
            voxloc.Client(options=voxloc.ChannelOptions(token_file="/nowhere/token"))
        with self.assertRaisesRegex(ValueError, "both"):
            voxloc.Client(options=voxloc.ChannelOptions(token="a", token_file="b"))

    @in_both
    def test_who_is_not_let_in_learns_it_at_once(self, make, wait):
        for code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            with serving(refuses(code), tracks("second")) as servers:
                client = make(over(*servers))
                with self.assertRaisesRegex(voxloc.Error, f"{code.name}.*not here"):
                    wait(opened(client, reconnect=QUICK))
                wait(client.close())
                self.assertEqual([len(server.calls) for server in servers], [1, 0])


def opened(client, **options):
    """A session of either client, once awaited."""
    return client.session("m", **options)


class SeveralServers(unittest.TestCase):
    @in_both
    def test_the_first_that_can_be_reached_is_used(self, make, wait):
        with serving({"GetServerInfo": info}, {"GetServerInfo": info}) as [gone, there]:
            gone.stop()
            client = make(over(gone, there))
            self.assertEqual(client.server, gone.address)
            for _ in range(2):
                wait(client.server_info(WAIT_S))
            self.assertEqual(client.server, there.address)
            self.assertEqual(len(there.calls), 2)
            there.stop()
            with self.assertRaisesRegex(voxloc.Error, "UNAVAILABLE") as raised:
                wait(client.server_info(WAIT_S))
            for server in (gone, there):
                self.assertIn(server.address, raised.exception.message)
            wait(client.close())
        with self.assertRaisesRegex(ValueError, "HOST:PORT"):
            make("a:1,,b:2")

    @in_both
    def test_a_call_that_changes_something_is_sent_once(self, make, wait):
        def broken(_, context):
            context.abort(grpc.StatusCode.UNAVAILABLE, "broke off")

        def deleted(*_):
            return messages.DeleteMapResponse(revision=3)

        with serving({"DeleteMap": broken, "GetServerInfo": info},
                     {"DeleteMap": deleted, "GetServerInfo": info}) as servers:
            client = make(over(*servers))
            with self.assertRaisesRegex(voxloc.Error, "broke off"):
                wait(client.drop_map("m", timeout_s=WAIT_S))
            deletions = [[name for name, _ in server.calls].count("DeleteMap")
                         for server in servers]
            self.assertEqual(deletions, [1, 0])
            self.assertEqual(wait(client.drop_map("m", timeout_s=WAIT_S)), 3)
            wait(client.close())

    @in_both
    def test_the_calls_of_operators(self, make, wait):
        asked = []

        def recorded(response):
            def answer(request, _):
                asked.append(request)
                return response
            return answer

        def cells(request, _):
            asked.append(request)
            yield messages.GetCellsResponse(map_revision=4, cell_size_m=2.0, index=[1, -2, 3], points=[7],
                                            mean=[2.5, -3.0, 6.5], covariance=[1, 2, 3, 4, 5, 6])
            yield messages.GetCellsResponse(map_revision=4, cell_size_m=2.0, index=[0, 0, 0], points=[9],
                                            mean=[0, 0, 0], covariance=[1, 0, 0, 1, 0, 1])

        behaviour = {
            "GetConfig": recorded(messages.GetConfigResponse(
                entries=[messages.ConfigEntry(key="threads", value="3")])),
            "SetLogLevel": recorded(messages.SetLogLevelResponse(
                previous_level=messages.LOG_LEVEL_INFO)),
            "Drain": recorded(messages.DrainResponse(open_sessions=2, remaining_s=30.0)),
            "Undrain": recorded(messages.UndrainResponse(open_sessions=1)),
            "UndeleteMap": recorded(messages.UndeleteMapResponse(
                map=messages.MapInfo(name="town", revision=3))),
            "DeleteMap": recorded(messages.DeleteMapResponse(revision=3)),
            "GetCells": cells}
        with serving(behaviour) as servers:
            client = make(over(*servers))
            self.assertIn(servers[0].address, repr(client))
            self.assertEqual(wait(client.get_config(WAIT_S))[0].value, "3")
            self.assertEqual(wait(client.set_log_level("debug", WAIT_S)), "info")
            self.assertEqual(asked[-1].level, messages.LOG_LEVEL_DEBUG)
            with self.assertRaisesRegex(ValueError, "one of trace, debug"):
                wait(client.set_log_level("loud", WAIT_S))
            self.assertEqual(wait(client.drain(30.0, "new version", WAIT_S)).open_sessions, 2)
            self.assertEqual((asked[-1].grace_s, asked[-1].reason), (30.0, "new version"))
            self.assertEqual(wait(client.undrain(WAIT_S)), 1)
            self.assertEqual(wait(client.undrop_map("town", WAIT_S)).revision, 3)
            wait(client.drop_map("town", timeout_s=WAIT_S, unless_in_use=True))
            self.assertTrue(asked[-1].unless_in_use)
            found = wait(client.get_cells("town", profile="precise", stage=1, timeout_s=WAIT_S))
            self.assertEqual((asked[-1].profile, asked[-1].stage), ("precise", 1))
            self.assertEqual((len(found), found.map_revision, found.cell_size_m), (2, 4, 2.0))
            self.assertEqual(found.index.tolist(), [[1, -2, 3], [0, 0, 0]])
            self.assertEqual(found.mean[0].tolist(), [2.5, -3.0, 6.5])
            self.assertEqual(found.covariance[0].tolist(), [[1, 2, 3], [2, 4, 5], [3, 5, 6]])
            self.assertEqual(repr(found), "<Cells 2 of 2.0 m, revision 4>")
            wait(client.close())

    @in_both
    def test_a_session_goes_to_the_next_at_once_where_it_is_refused(self, make, wait):
        for code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED):
            with serving(refuses(code, NEVER_S), tracks("second")) as servers:
                client = make(over(*servers))
                session = wait(opened(client, reconnect=QUICK))
                self.assertEqual(session.opened.session, "second")
                wait(session.close(WAIT_S))
                wait(client.close())

    @in_both
    def test_a_session_follows_drains_and_losses(self, make, wait):
        with serving(tracks("first", drain_after=3), tracks("second")) as [first, second]:
            client = make(over(first, second))
            session = wait(opened(client, reconnect=QUICK))
            scan = voxloc.Scan(POINTS)
            sequences = []

            def align(count):
                for _ in range(count):
                    result = wait(session.align(scan, WAIT_S))
                    self.assertEqual(result.status, voxloc.Status.OK)
                    sequences.append(result.sequence)

            align(5)
            self.assertEqual(session.opened.session, "second")
            second.stop()
            align(5)
            self.assertEqual(session.opened.session, "first")
            second.start()
            first.stop()
            align(2)
            self.assertEqual(session.opened.session, "second")
            self.assertEqual(sequences, list(range(1, 13)))
            self.assertEqual((session.given_up, session.unexpected_results, session.unanswered),
                             (0, 0, []))
            wait(session.close(WAIT_S))
            wait(client.close())

    @in_both
    def test_a_session_follows_where_servers_cancel_its_stream(self, make, wait):
        """As gRPC tells of streams that reach a server while it stops."""
        def cancels(requests, context):
            if next(requests).HasField("open"):
                yield messages.AlignScansResponse(opened=messages.SessionOpened(session="first"))
            next(requests)
            context.abort(grpc.StatusCode.CANCELLED, "CANCELLED")

        with serving({"AlignScans": cancels}, refuses(grpc.StatusCode.CANCELLED),
                     tracks("third")) as servers:
            client = make(over(*servers))
            session = wait(opened(client, reconnect=QUICK))
            self.assertEqual(session.opened.session, "first")
            result = wait(session.align(voxloc.Scan(POINTS), WAIT_S))
            self.assertEqual(result.status, voxloc.Status.OK)
            self.assertEqual(session.opened.session, "third")
            wait(session.close(WAIT_S))
            wait(client.close())

    @in_both
    def test_a_watch_begins_anew_at_the_next(self, make, wait):
        def watch_map(revision, code=None):
            def events(_, context):
                yield messages.WatchMapResponse(map=messages.MapInfo(revision=revision))
                if code is not None:
                    context.set_trailing_metadata(unavailable(NEVER_S))
                    context.abort(code, "drains")
                done = threading.Event()
                context.add_callback(done.set)
                done.wait(WAIT_S)

            return {"WatchMap": events}

        with serving(watch_map(1, grpc.StatusCode.UNAVAILABLE),
                     watch_map(2, grpc.StatusCode.CANCELLED), watch_map(3)) as servers:
            client = make(over(*servers))
            watch = client.watch("m", QUICK)
            if hasattr(watch, "__anext__"):
                revisions = [wait(watch.__anext__()).map.revision for _ in range(3)]
                wait(watch.aclose())
            else:
                self.assertIn("<MapWatch of m at ", repr(watch))
                revisions = [next(watch).map.revision for _ in range(3)]
                watch.cancel()
            self.assertEqual(revisions, [1, 2, 3])
            wait(client.close())


class Routes(unittest.TestCase):
    """The rules alone."""

    GONE = voxloc.Error(grpc.StatusCode.UNAVAILABLE, "gone")

    def test_with_one_address_a_server_that_drained_gets_the_time_that_it_asked_for(self):
        route = _route.SessionReconnectPolicy(_route.Addresses("a:1"), voxloc.ReconnectOptions())
        self.assertEqual(route.after_stream(None, 40.0), 0.0)
        self.assertTrue(40.0 <= route.after_refusal(self.GONE) <= 56.0)
        self.assertLess(route.after_refusal(self.GONE), 1.0)

    def test_each_address_is_tried_at_once_and_then_it_waits(self):
        route = _route.SessionReconnectPolicy(_route.Addresses("a:1, b:1,c:1"), voxloc.ReconnectOptions())
        self.assertEqual(route.server, "a:1")
        waits, tried = [route.after_stream(self.GONE, None)], []
        for _ in range(3):
            tried.append(route.server)
            waits.append(route.after_refusal(self.GONE))
        self.assertEqual(tried, ["b:1", "c:1", "a:1"])
        self.assertEqual(waits[:3], [0.0, 0.0, 0.0])
        self.assertGreater(waits[3], 0.0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
