"""What the tests of the language server share: its program, and a client that speaks to it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Client:
    """Speaks the protocol. Notifications of the server wait in `notes`."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number, self.notes = 0, []
        self.call("initialize", {"capabilities": {}, "processId": None, "rootUri": None})
        self.notify("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))

    def call(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.notes.append(answer)

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def open(self, uri, text):
        document = {"uri": uri, "languageId": "tir", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri, version, changes):
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def diagnostics(self, uri, version):
        """Those of this version; earlier ones are passed over."""
        while True:
            for note in self.notes:
                params = note.get("params", {})
                if params.get("uri") == uri and params.get("version") == version:
                    return params["diagnostics"]
            self.notes.append(self.read())

    def stop(self):
        self.call("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(10)


@pytest.fixture
def server():
    if not os.environ.get("TIRC_LSP"):
        pytest.skip("the language server is not built: there is no jsonrpc-glib")
    client = Client([os.environ["TIRC"], "lsp"])
    yield client
    client.process.kill()
