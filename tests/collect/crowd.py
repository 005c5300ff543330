"""A crowd of judges over HTTP, and a server process that can be killed at any moment.

The crowd speaks to the real pages: it answers by ``/judgment`` as the script of a page does, and
fetches the next pair by ``/ahead``. It keeps what was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlencode

from comparity.collect.safety import form_secret

ASSIGNMENT = re.compile(rb'name="assignment" value="([\w-]+)"')
LOOK = "/ahead?instead=present"
PATIENCE = 900.0
"""Seconds after which something will not happen any more, on a machine however busy."""


@dataclass
class Sent:
    """One answer, and what became of it."""

    client_id: str
    outcome: str
    status: int
    seconds: float


@dataclass
class Crowd:
    """Judges who answer as fast as they are answered.

    Attributes
    ----------
    port : int
    cookie : str
        Name of the study's cookie.
    acknowledged : list of Sent
        Answers that the server said were kept.
    looks : list of float
        Seconds that each next pair took.
    """

    port: int
    cookie: str
    acknowledged: list[Sent] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    stopped: bool = False

    async def judge(self, token: str) -> None:
        """Judge until nothing is left, or the crowd is stopped; a broken line is tried again."""
        pending: dict[str, str] | None = None
        while not self.stopped:
            try:
                line = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.02)
                continue
            try:
                while not self.stopped:
                    pending = pending or await self._next_pair(line, token)
                    if pending is None:
                        return
                    await self._answer(line, token, pending)
                    pending = None
            except (OSError, asyncio.IncompleteReadError, ValueError):
                await asyncio.sleep(0.02)
            finally:
                line[1].close()
                with suppress(OSError):
                    await line[1].wait_closed()

    async def _next_pair(self, line: Line, token: str) -> dict[str, str] | None:
        start = time.perf_counter()
        status, body = await self._ask(line, token, "GET", LOOK)
        if status != 200:
            if status not in (204, 409):
                self.faults.append(f"{status} {body[:200]!r}")
            return None
        self.looks.append(time.perf_counter() - start)
        found = ASSIGNMENT.search(body)
        assert found is not None, body[:300]
        outcome = random.choice(("left", "right", "tie", "skip"))
        # Kept until it is acknowledged, so that it is sent again with the same id.
        return {
            **{"assignment": found[1].decode(), "outcome": outcome, "milliseconds": "800"},
            "client_id": secrets.token_urlsafe(16),
        }

    async def _answer(self, line: Line, token: str, form: dict[str, str]) -> None:
        start = time.perf_counter()
        sent = {**form, "csrf": form_secret(token)}
        status, body = await self._ask(line, token, "POST", "/judgment", urlencode(sent))
        seconds = time.perf_counter() - start
        if status == 200:
            kept = Sent(form["client_id"], form["outcome"], status, seconds)
            self.acknowledged.append(kept)
        elif status not in (404, 409):
            self.faults.append(f"{status} {body[:200]!r}")

    async def _ask(
        self, line: Line, token: str, method: str, path: str, body: str = ""
    ) -> tuple[int, bytes]:
        reader, writer = line
        host = f"127.0.0.1:{self.port}"
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {host}",
            f"Cookie: {self.cookie}={token}",
            "Accept: application/json",
        ]
        if method == "POST":
            head += [
                "Content-Type: application/x-www-form-urlencoded",
                f"Content-Length: {len(body)}",
                f"Origin: http://{host}",
            ]
        writer.write(("\r\n".join(head) + "\r\n\r\n" + body).encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status = int(answer.split(" ", 2)[1])
        found = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
        content = await reader.readexactly(int(found[1])) if found else b""
        return status, content


Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(is_so: Callable[[], bool], else_: str, patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < end, else_
        time.sleep(0.005)


class Server:
    """The process that serves a study: ``comparity collect serve``, made by a fork.

    Importing takes longer than serving does between two kills, so that a process that has imported
    all makes the servers: each is a fork of it that runs the command.
    """

    def __init__(self, address: str, port: int) -> None:
        words = ["collect", "serve", address, "--port", str(port), "--rate", "1000000/second"]
        self._maker = subprocess.Popen(
            [sys.executable, "-c", MAKER, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.port = port
        self.pid = 0

    def start(self) -> None:
        """Start a server and wait until it listens."""
        assert self._maker.stdin is not None
        assert self._maker.stdout is not None
        self._maker.stdin.write("start\n")
        self._maker.stdin.flush()
        self.pid = int(self._maker.stdout.readline())
        wait_until(self._answers, "the server did not answer")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
                line.sendall(b"GET /static/icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                return line.recv(12).endswith(b"200")
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the server by the signal that nothing can catch, and wait until it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not is_running(self.pid), "the server did not die")

    def stop(self) -> None:
        """End all."""
        assert self._maker.stdin is not None
        self._maker.stdin.close()
        self._maker.wait(timeout=PATIENCE)
        assert self._maker.stdout is not None
        self._maker.stdout.close()


MAKER = """
import os, signal, sys
import uvicorn, comparity.collect.app, comparity.collect.store, comparity.collect.setup
import comparity.cli.collect, comparity.collect.migrations
from comparity.cli import commands
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.stdin.close()
        commands.main(sys.argv[1:], prog_name="comparity", standalone_mode=False)
        os._exit(0)
    print(child, flush=True)
try:
    os.kill(child, signal.SIGKILL)
except ProcessLookupError:
    pass
"""


@contextmanager
def running_server(address: str) -> Iterator[Server]:
    """Start a server, and end it."""
    server = Server(address, free_port())
    try:
        server.start()
        yield server
    finally:
        server.stop()


async def kill_often(crowd: Crowd, server: Server, kills: int, most: int) -> None:
    """Kill the server at random moments, each after up to `most` answers, and start it again."""
    for _ in range(kills):
        enough = len(crowd.acknowledged) + random.randint(1, most)
        while len(crowd.acknowledged) < enough:
            await asyncio.sleep(0.002)
        await asyncio.sleep(random.random() * 0.02)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)


async def gather_crowd(
    crowd: Crowd, tokens: Sequence[str], *, server: Server, kills: int, most: int
) -> None:
    """Let a crowd judge while the server is killed again and again."""
    people = [asyncio.create_task(crowd.judge(token)) for token in tokens]
    await kill_often(crowd, server, kills, most)
    await asyncio.sleep(0.3)
    crowd.stopped = True
    await asyncio.wait_for(asyncio.gather(*people), timeout=PATIENCE)
