"""Every answer of `oddshot app`: the example and a table of one's own, labelled row by row."""

import io
import re
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pyarrow.parquet

from oddshot import load_detector
from tests.golden.of_service import answer, as_columns
from tests.golden.processes import Server, client_of
from tests.golden.samples import mixed

ARGUMENTS = ("app", "--no-browser", "--port", "0")
LABELS = [(20, "normal"), (3, "normal"), (31, "normal"), (40, "anomaly"), (57, "normal"), (3, None), (3, "normal")]


def record_app(server: Server) -> dict[str, Any]:
    """A person's work, from the example to the exports."""
    greeting = server.greeting
    with client_of(greeting) as client:
        out = {
            "greeting": re.sub(r":\d+", ":PORT", greeting),
            "without a table": {path: answer(client.get(f"/api/{path}")) for path in ("tables", "tables/none/rows")},
            "example": _example(client),
            "exports": _exports(client),
            "changed": _changes(client),
            "own table": _own_table(client),
            "refused": _refusals(client),
        }
    out["exit code"] = server.stop()
    return out


def _this(client: httpx.Client, path: str) -> str:
    """The address of something that concerns the table opened last."""
    return f"/api/tables/{client.get('/api/tables').json()['tables'][-1]['id']}/{path}"


def _get(client: httpx.Client, path: str) -> dict[str, Any]:
    return answer(client.get(_this(client, path)))


def _post(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    return answer(client.post(_this(client, path), json=body))


def _example(client: httpx.Client) -> dict[str, Any]:
    out = {"opened": answer(client.post("/api/example")), "first rows": _get(client, "rows?limit=3")}
    out["reasons before labels"] = _get(client, "explain?rows=5")
    out["axis before labels"] = _get(client, "axis")
    for k, (row, label) in enumerate(LABELS):
        out[f"label {k}: {row} {label}"] = _post(client, "label", row=row, label=label)
    paths = ("rows?limit=10", "rows?by=row&offset=118&limit=10", "rows?by=labelled", "row/7", "map", "axis", "state")
    return out | {path: _get(client, path) for path in (*paths, "explain?rows=0&rows=57&rows=99")}


def _exports(client: httpx.Client) -> dict[str, Any]:
    exported = ("scores.csv", "scores.parquet", "labels.csv", "labels.json", "detector.safetensors", "report.html")
    files = {name: client.get(_this(client, f"export/{name}")) for name in exported}
    names = ("content-type", "content-disposition")
    out: dict[str, Any] = {
        "headers": {name: {key: one.headers[key] for key in names} for name, one in files.items()},
        "labels.csv": files["labels.csv"].text.splitlines(),
        "labels.json": files["labels.json"].json(),
        "report.html": _visible(files["report.html"].text),
    }
    table = pd.read_csv(io.BytesIO(files["scores.csv"].content), float_precision="round_trip")
    out["scores.csv"] = {"columns": table.columns.tolist(), "lines": files["scores.csv"].text.splitlines()[:2]}
    out["scores.csv"] |= {name: table[name].tolist() for name in ("score", "probability", "anomaly")}
    parquet = pyarrow.parquet.read_table(io.BytesIO(files["scores.parquet"].content), use_threads=False)
    out["scores.parquet"] = as_columns(parquet.slice(30, 12))
    out["detector.safetensors"] = _detector_scores(files["detector.safetensors"].content, table)
    return out


def _visible(page: str) -> list[str]:
    """The first words of a report that a reader sees, and how many plots it has."""
    text = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    words = [word.strip() for word in re.split(r"<[^>]+>", text) if word.strip()]
    return [f"{page.count('<svg')} plots", *words[:120]]


def _detector_scores(content: bytes, table: pd.DataFrame) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "detector"
        path.write_bytes(content)
        detector = load_detector(path)
    rows = table.iloc[:8, 5:]
    return {"scores": detector.score_samples(rows), "threshold": detector.threshold_}


def _changes(client: httpx.Client) -> dict[str, Any]:
    csv = b"row,label\n1,normal\n5,normal\n9,anomaly\n"
    out = {
        "undo": answer(client.post(_this(client, "undo"))),
        "undo again": answer(client.post(_this(client, "undo"))),
        "threshold": _post(client, "threshold", value=1.5),
        "its export": client.get(_this(client, "export/scores.csv")).text.count(",1,"),
        "label below it": _post(client, "label", row=44, label="normal"),
        "threshold taken back": _post(client, "threshold", value=None),
        "without columns": _post(client, "column", name="alcohol", used=False),
        "its rows": _get(client, "rows?limit=3"),
        "with all columns": _post(client, "column", name="alcohol", used=True)["status"],
        "labels from a file": answer(client.put(_this(client, "labels"), content=csv)),
        "labels as saved": _get(client, "export/labels.json"),
        "no labels": answer(client.put(_this(client, "labels"), content=b"row,label\n")),
        "example again": client.post("/api/example").json()["labels"],
    }
    return out


def _own_table(client: httpx.Client) -> dict[str, Any]:
    content = mixed(5, 60).to_csv(index=False).encode()
    out = {"opened": answer(client.put("/api/tables", params={"name": "../machines.csv"}, content=content))}
    for row, label in ((1, "normal"), (2, "normal"), (3, "normal"), (0, "anomaly")):
        out[f"label {row}"] = _post(client, "label", row=row, label=label)
    out["with one column less"] = _post(client, "column", name="seen", used=False)
    paths = ("rows?limit=5", "explain?rows=0&rows=10", "map", "axis", "export/labels.csv")
    out |= {path: _get(client, path) for path in paths}
    out["scores.csv"] = client.get(_this(client, "export/scores.csv")).text.splitlines()[:12]
    out["opened again"] = answer(client.put("/api/tables", params={"name": "other.csv"}, content=content))
    return out


def _refusals(client: httpx.Client) -> dict[str, Any]:
    """Wrong requests and tables; the open table has 60 rows."""
    bodies: dict[str, tuple[str, Any]] = {
        "a row beyond": ("label", {"row": 60, "label": "normal"}),
        "a negative row": ("label", {"row": -1, "label": "normal"}),
        "half a row": ("label", {"row": 1.5, "label": "normal"}),
        "an unknown label": ("label", {"row": 1, "label": "odd"}),
        "no label": ("label", {"row": 1}),
        "one field more": ("label", {"row": 1, "label": None, "colour": 1}),
        "a threshold in words": ("threshold", {"value": "high"}),
        "an unknown column": ("column", {"name": "no such", "used": False}),
    }
    paths = ("rows?offset=-1", "rows?limit=100000", "rows?by=name", "row/60", "row/x", "explain", "explain?rows=999")
    tables = {
        "empty": b"",
        "header only": b"a,b\n",
        "zeros": bytes(100),
        "bad parquet": b"PAR1" + bytes(100),
        "infinity": b"a,b\n1,2\ninf,3\n",
        "ragged": b"a,b\n1,2\n1,2,3\n",
        "a name twice": b"a,a\n1,2\n",
        "nothing of use": b"a,b\n,\n,\n",
    }
    out = {name: answer(client.post(_this(client, path), json=body)) for name, (path, body) in bodies.items()}
    out |= {path: _get(client, path) for path in (*paths, "nothing")}
    out |= {
        f"table: {name}": answer(client.put("/api/tables?name=t.csv", content=data)) for name, data in tables.items()
    }
    out["wrong labels"] = answer(client.put(_this(client, "labels"), content=b"row,label\n61,normal\n"))
    json_type = {"content-type": "application/json"}
    out["no JSON"] = answer(client.post(_this(client, "label"), content=b"{", headers=json_type))
    out["another host"] = answer(client.get("/api/tables", headers={"host": "evil.example"}))
    out["another origin"] = answer(client.post("/api/example", headers={"origin": "http://evil.example"}))
    return out
