"""Tables and clients for the tests of the app."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from oddshot.app.routes import make_app
from oddshot.universal.shipped import load_universal


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


def make_client(folder: Path | None = None, max_upload_bytes: int = 1 << 24) -> TestClient:
    app = make_app(load_universal(), folder, "127.0.0.1", max_upload_bytes)
    return TestClient(app, base_url="http://127.0.0.1")


def upload(client: TestClient, data: bytes, name: str = "table.csv") -> dict:
    answer = client.put("/api/table", params={"name": name}, content=data)
    assert answer.status_code == 200, answer.text
    return answer.json()
