"""Small archives of the structure that the public sources serve, and a server on this machine that hands them out."""

import hashlib
import io
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import scipy.io

from oddshot.data.sources.cards import ATTACKS, CARDS, DEVICES, DEVICES_WITHOUT_MIRAI, Card

GLASS_FILE = CARDS["glass"].file
SHARED = Path(__file__).parents[3].parent / "shared"  # optional folder of datasets beside the repository


def arff(n_normal=4, n_anomaly=2, n_attributes=3, seed=0):
    """DAMI's layout: attributes, id, outlier; quoted names and labels. Returns text, X, y."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_normal + n_anomaly, n_attributes))
    y = np.repeat([1, 0], [n_anomaly, n_normal])
    lines = ["@RELATION 'Sample, with normalization'", ""]
    lines += [f"@ATTRIBUTE 'att{i}:%(Hz)' real" for i in range(n_attributes)]
    lines += ["@ATTRIBUTE 'id' real", "@ATTRIBUTE 'outlier' {'yes','no'}", "", "@DATA"]
    for number, (row, label) in enumerate(zip(X, y, strict=True)):
        lines.append(",".join([*map(repr, map(float, row)), f"{number}.0", "'yes'" if label else "'no'"]))
    return "\n".join(lines) + "\n", X, y


def tar_gz(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def landmine_mat(sizes=((4, 1), (3, 2))):
    rng = np.random.default_rng(0)
    feature, label = np.empty((1, len(sizes)), dtype=object), np.empty((1, len(sizes)), dtype=object)
    for field, (n_normal, n_anomaly) in enumerate(sizes):
        feature[0, field] = rng.normal(size=(n_normal + n_anomaly, 9))
        label[0, field] = np.repeat([0, 1], [n_normal, n_anomaly]).astype(np.uint8)[:, None]
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"feature": feature, "label": label})
    return buffer.getvalue(), feature, label


def nbaiot_tables(n_normal=230, n_anomaly=60):
    """Path in the dataset -> CSV text. The first column tells which file a row is from, the second which row it is."""
    files = {}
    header = ",".join(f"MI_dir_{i}" for i in range(115))
    for device_number, device in enumerate(DEVICES):
        botnets = [b for b in ATTACKS if b == "gafgyt" or device not in DEVICES_WITHOUT_MIRAI]
        paths = [(f"{device}/{b}_attacks/{a}.csv", n_anomaly) for b in botnets for a in ATTACKS[b]]
        for number, (path, n) in enumerate([(f"{device}/benign_traffic.csv", n_normal), *paths]):
            mark = 100 * device_number + number
            rows = [f"{mark},{row}" + ",0.5" * 113 for row in range(n)]
            files[path] = "\n".join([header, *rows, ""]).encode()
    return files


def with_rars(tables):
    """The same dataset as UCI packs it: the attack files of a botnet in one RAR."""
    files, rars = {}, {}
    for path, content in tables.items():
        device, *rest = path.split("/")
        if len(rest) == 1:
            files[path] = content
        else:
            rars.setdefault(f"{device}/{rest[0]}.rar", {})[rest[1]] = content
    return files | {path: rar5(members) for path, members in rars.items()}


def rar5(files):
    """A RAR 5 archive whose members are stored, not compressed."""
    out = b"Rar!\x1a\x07\x01\x00" + _block(_vint(1) + _vint(0) + _vint(0))
    for name, content in files.items():
        # type 2 (file), flags 2 (has data), data size; file flags 4 (has CRC), size, attributes, CRC, stored, Unix
        fields = _vint(2) + _vint(2) + _vint(len(content)) + _vint(4) + _vint(len(content)) + _vint(0o100644)
        fields += zlib.crc32(content).to_bytes(4, "little") + _vint(0) + _vint(1)
        out += _block(fields + _vint(len(name)) + name.encode()) + content
    return out + _block(_vint(5) + _vint(0) + _vint(0))


def _block(fields):
    sized = _vint(len(fields)) + fields
    return zlib.crc32(sized).to_bytes(4, "little") + sized


def _vint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def served(card: Card, url: str, archive: bytes, **changes) -> Card:
    """A card whose archive is this one, at this server."""
    digest = None if card.source.sha256 is None else hashlib.sha256(archive).hexdigest()
    return replace(card, source=replace(card.source, url=f"{url}/{card.source.file_name}", sha256=digest), **changes)


class Server:
    """Hands out files by name. `resumes`: answers Range requests; `cut`: the next answer ends after that many bytes."""

    def __init__(self, files):
        self.files, self.resumes, self.cut, self.requests = files, True, None, []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                owner.answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, handler):
        asked = handler.headers.get("Range")
        self.requests.append((handler.path, asked))
        content = self.files.get(handler.path.lstrip("/"))
        if content is None:
            handler.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.resumes else 0
        if start >= len(content) > 0:
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(content)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        end, self.cut = self.cut, None
        handler.wfile.write(content[start:end])


@contextmanager
def serving(files) -> Iterator[Server]:
    server = Server(files)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()
