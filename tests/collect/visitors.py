"""People with browsers that run no script: they see forms and press their buttons."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import httpx

PATIENCE = 90.0


@dataclass
class Form:
    """A form as a browser sees it: hidden fields, buttons by value, and choices by name."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    choices: dict[str, list[str]] = field(default_factory=dict)


class Forms(HTMLParser):
    """The forms of a page, in their order, and its headings."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Form] = []
        self.heading = ""
        self.text = ""
        self._is_heading = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._is_heading = tag == "h1"
        if tag == "form":
            self.found.append(Form(given.get("action", ""), given.get("method", "get")))
        elif tag == "input" and given.get("type") == "radio":
            self.found[-1].choices.setdefault(given["name"], []).append(given["value"])
        elif tag == "input" and given.get("type") == "hidden":
            self.found[-1].fields[given["name"]] = given["value"]
        elif tag == "button" and "form" not in given and self.found:
            self.found[-1].buttons.append((given.get("name", ""), given.get("value", "")))

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._is_heading:
            self.heading += data.strip()
            self._is_heading = False


class Visitor:
    """A judge with a browser."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.response = httpx.Response(204)

    @property
    def page(self) -> Forms:
        return Forms(self.response.text)

    def form(self, action: str) -> Form:
        return next(one for one in self.page.found if one.action.endswith(action))

    def open(self, path: str) -> httpx.Response:
        self.response = self.client.get(path, follow_redirects=True)
        return self.response

    def send(self, form: Form, **fields: str) -> httpx.Response:
        self.response = self.client.post(
            form.action, data={**form.fields, **fields}, follow_redirects=True
        )
        return self.response

    def press(self, action: str, **fields: str) -> httpx.Response:
        return self.send(self.form(action), **fields)


@contextmanager
def served(study: Path, *words: str) -> Iterator[str]:
    """Serve a study by the command, in a process of its own; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "comparity", "collect", "serve", str(study)]
    command += ["--port", str(port), *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
    ) as server:
        address = f"http://127.0.0.1:{port}"
        try:
            _wait_for(address, server)
            yield address
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)


def _wait_for(address: str, server: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert server.poll() is None, server.communicate()[0]
        try:
            httpx.get(f"{address}/static/icon.svg")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server did not answer")
