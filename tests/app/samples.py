"""Tables and clients for the tests of the app."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from oddshot.app.labels import Labels
from oddshot.app.routes import make_app
from oddshot.app.sheet import Sheet, make_sheet
from oddshot.storage.model_file import Model
from oddshot.universal.shipped import load_universal

DIGEST = "0" * 64  # of the file of a table that has none


def two_kinds(n: int = 300, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Rows [n, 5] in two clusters; anomalies lie between them, near the median row, so that distance does not help."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(np.int8)
    side = rng.choice([-3.0, 3.0], n)
    X = rng.normal(size=(n, 5)) * 0.6
    X[:, 0] += np.where(y == 1, 0.0, side)
    X[:, 1] += np.where(y == 1, 0.0, side)
    return X, y


def as_csv(X: NDArray[np.float64], names: Sequence[str] | None = None) -> bytes:
    out = io.StringIO()
    lines = csv.writer(out)
    lines.writerow(names or [f"x{j}" for j in range(X.shape[1])])
    lines.writerows(X.tolist())
    return out.getvalue().encode()


def arrow(X: NDArray[np.float64]) -> pa.Table:
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


class AppClient(TestClient):
    """A client of the app; in its addresses /api/this stands for the table that `upload` opened last."""

    table_id = "none"

    def request(self, method, url, **settings):
        return super().request(method, str(url).replace("/api/this", f"/api/tables/{self.table_id}"), **settings)


def client_of(model: Model, folder: Path | None = None, max_upload_bytes: int = 1 << 24) -> AppClient:
    return AppClient(make_app(model, folder, "127.0.0.1", max_upload_bytes), base_url="http://127.0.0.1")


def make_client(folder: Path | None = None, max_upload_bytes: int = 1 << 24) -> AppClient:
    return client_of(load_universal(), folder, max_upload_bytes)


def upload(client: AppClient, data: bytes, name: str = "table.csv") -> dict:
    answer = client.put("/api/tables", params={"name": name}, content=data)
    assert answer.status_code == 200, answer.text
    client.table_id = answer.json()["id"]
    return answer.json()


def two_kinds_sheet(n: int = 300, seed: int = 0) -> tuple[Sheet, NDArray[np.int8]]:
    """The same rows as a sheet, and which of them are anomalies."""
    X, y = two_kinds(n, seed)
    return make_sheet(arrow(X), "rows", DIGEST, load_universal()), y


def some_labels(y: NDArray[np.int8], n_normal: int, n_anomaly: int) -> Labels:
    """The first rows of each kind, labelled as they are."""
    rows = [*np.flatnonzero(y == 0)[:n_normal].tolist(), *np.flatnonzero(y == 1)[:n_anomaly].tolist()]
    return Labels({row: int(y[row]) for row in rows})
