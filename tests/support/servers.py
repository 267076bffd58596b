"""HTTP servers on loopback that write down what they were asked: files with ranges or without, and S3 by moto."""

from __future__ import annotations

import re
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

METADATA = {"zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"}


@dataclass(frozen=True)
class Asked:
    """One request: its method, the path below the server's root, and the header Range ("" for none)."""

    method: str
    path: str
    range: str

    @property
    def kind(self):
        """ "size", "suffix", "range" or "whole"."""
        if self.method == "HEAD":
            return "size"
        if not self.range:
            return "whole"
        return "suffix" if self.range.startswith("bytes=-") else "range"


@dataclass
class Log:
    """What a server was asked."""

    asked: list = field(default_factory=list)

    def clear(self):
        self.asked.clear()

    def data(self):
        """The requests for chunks and shards, whatever their method."""
        return [one for one in self.asked if Path(one.path).name not in METADATA]

    def kinds(self):
        """How many of them there were of each kind."""
        return Counter(one.kind for one in self.data())


def cut(content, asked):
    """What a Range header asks of a body: (start, stop), or None for something that is not a single range."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked)
    if not match or match.group(0) == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        return max(0, len(content) - int(last)), len(content)
    return int(first), min(int(last) + 1, len(content)) if last else len(content)


def files_handler(root, log, ranges):
    """A handler for the files below a folder, which answers ranges or ignores that they were asked for."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self):
            # A client whose read failed leaves without its other answers.
            with suppress(ConnectionError):
                super().handle()

        def do_HEAD(self):
            self.answer(with_body=False)

        def do_GET(self):
            self.answer(with_body=True)

        def answer(self, with_body):
            asked = self.headers.get("Range", "")
            log.asked.append(Asked(self.command, self.path, asked))
            path = Path(root, self.path.lstrip("/"))
            if not path.is_file():
                self.send(404, b"", with_body)
                return
            content = path.read_bytes()
            wanted = cut(content, asked) if ranges else None
            if wanted is None:
                self.send(200, content, with_body)
            elif wanted[0] >= min(wanted[1], len(content)):
                self.send(416, b"", with_body, {"Content-Range": f"bytes */{len(content)}"})
            else:
                start, stop = wanted
                place = {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}"}
                self.send(206, content[start:stop], with_body, place)

        def send(self, status, body, with_body, headers=None):
            self.send_response(status)
            accept = {"Accept-Ranges": "bytes"} if ranges else {}
            for name, value in {"Content-Length": str(len(body)), **accept, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_):
            """Nothing on standard error."""

    return Handler


@contextmanager
def serving(server):
    """A server that runs in a thread of its own until the block is left."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextmanager
def file_server(root, *, ranges=True):
    """(URL, Log) of a server of the files below a folder, on a free port of loopback."""
    log = Log()
    server = ThreadingHTTPServer(("127.0.0.1", 0), files_handler(root, log, ranges))
    server.daemon_threads = True
    with serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}", log


@contextmanager
def s3_server():
    """(endpoint, Log) of moto's S3, on a free port of loopback. Its state belongs to this process."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    log = Log()
    application = DomainDispatcherApplication(create_backend_app)

    def logged(environ, start_response):
        asked = environ.get("HTTP_RANGE", "")
        log.asked.append(Asked(environ["REQUEST_METHOD"], environ["PATH_INFO"], asked))
        return application(environ, start_response)

    server = make_server("127.0.0.1", 0, logged, threaded=True)
    server.daemon_threads = True
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}", log


KEYS = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing", "region_name": "us-east-1"}


@contextmanager
def bucket_of(folder):
    """(endpoint, Log) of S3 with the files below a folder in a bucket named "bucket"."""
    import boto3

    with s3_server() as (endpoint, log):
        client = boto3.client("s3", endpoint_url=endpoint, **KEYS)
        client.create_bucket(Bucket="bucket")
        for path in folder.rglob("*"):
            if path.is_file():
                client.put_object(Bucket="bucket", Key=path.relative_to(folder).as_posix(), Body=path.read_bytes())
        client.close()
        yield endpoint, log
