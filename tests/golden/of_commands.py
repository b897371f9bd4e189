"""Every command of `oddshot`: what it prints, how it ends and which files it writes."""

import csv
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet

from tests.golden.comparing import FILE_HASH
from tests.golden.of_service import as_columns
from tests.golden.processes import run_command
from tests.golden.samples import labelled, labels, mixed

SMALL = "--epochs=2 --support-normal=3 --query-normal=5 --query-anomaly=2 --device=cpu"
TRAIN = f"train fleet/*.csv --label fault --units 8 {SMALL}"
SCORE = "score --support support.csv --label fault"
BENCH = "bench run --protocol resampled --store runs.db --data-dir data --device cpu --workers 1"
FEW = "--datasets glass,pima --splits 2 --epochs 2 --training-tasks 6"
TABLE = "--store runs.db --where n_training=6"
HELP = """
--help
train --help
score --help
info --help
serve --help
app --help
models --help
models list --help
models show --help
demo --help
data --help
data list --help
data fetch --help
data show --help
bench --help
bench run --help
bench table --help
bench unmixed --help
bench figures --help
bench export --help
bench import --help
"""
WORK = f"""
{TRAIN} --method eigen --out eigen.safetensors --json eigen.json
{TRAIN} --method relative --seed 1 --out relative.safetensors --json relative.json
{TRAIN} --method proto --members 2 --out two.safetensors
train all.parquet --task machine --label state --anomaly-value broken --units 8 --method eigen --out t {SMALL}
train fleet/machine[0-2].csv poor.csv --label fault --method proto --units 8 --out poor.safetensors {SMALL}
info eigen.safetensors --json info.json
info relative.safetensors
info two.safetensors
{SCORE} --model eigen.safetensors new.csv --out eigen.csv --json eigen-scores.json
{SCORE} --model relative.safetensors new.parquet new.csv --false-positive-rate 0.1 --out relative.parquet
{SCORE} new.csv --out shipped.csv --json shipped.json
{SCORE} --model two.safetensors labelled.csv --out two.csv
score --support words.csv --label state --anomaly-value broken new.csv --out words-scores.csv
data list --data-dir data --json list.json
data show glass --data-dir data --rows 3 --json glass.json
data show wbc
{BENCH} {FEW} --methods lr,knn,eigen --set eigen.units=8 --json bench.json
{BENCH} {FEW} --methods lr,knn --quiet
bench table {TABLE}
bench table {TABLE} --format csv --compare paper --json table.json
bench table {TABLE} --methods lr,knn --format html
bench table {TABLE} --out table.tex
bench table ranks {TABLE}
bench export --store runs.db --methods eigen --out runs.csv
bench export --store runs.db --brief --out brief.csv
bench import runs.csv --store other.db
"""
MISTAKES = f"""

trian
train
info
info nowhere.safetensors
info new.csv
info damaged.safetensors
{TRAIN} --method magic --out x
{TRAIN} --method eigen --out x --device qpu
{TRAIN} --method eigen --out x --epochs 0
{TRAIN} --method wonn --out x
{TRAIN} --method eigen --out x --colour
{TRAIN} --method eigen --out x --support-normal 0
{TRAIN} --method eigen --out x --seed many
{TRAIN} --method eigen --out nowhere/x
{TRAIN} --method eigen --out fleet
{TRAIN} --method eigen --out fleet/machine1.csv
{TRAIN} --method eigen --out x --from universal
{TRAIN} --out x --from nowhere.safetensors
{TRAIN} --method lr --out x
train nowhere/*.csv --label fault --out x
train nowhere.csv --label fault --out x
train fleet --label fault --out x
train fleet/*.csv --label error --out x
train fleet/*.csv --label fault --task fault --out x
train fleet/*.csv --label fault --out x --query-normal 50
train words.csv --label state --out x
train words.csv --label state --anomaly-value brokn --out x
train renamed.csv fleet/*.csv --label fault --out x
{SCORE} nowhere.csv --out x.csv
{SCORE} new.csv --out x.txt
{SCORE} new.csv --out new.csv
{SCORE} new.csv --out x.csv --model nowhere.safetensors
{SCORE} new.csv --out x.csv --model new.parquet
{SCORE} new.csv --out x.csv --false-positive-rate 0.9
{SCORE} new.csv --out x.csv --engine cluster
{SCORE} new.csv --out x.csv --address here:1
{SCORE} empty.csv --out x.csv
{SCORE} header.csv --out x.csv
{SCORE} ragged.csv --out x.csv
{SCORE} binary.csv --out x.csv
{SCORE} twice.csv --out x.csv
{SCORE} infinite.csv --out x.csv
{SCORE} fast.csv --out x.csv --model eigen.safetensors
{SCORE} renamed.csv --out x.csv --model eigen.safetensors
score --support nowhere.csv --label fault new.csv --out x.csv
score --support support.csv --label error new.csv --out x.csv
score --support words.csv --label state new.csv --out x.csv
score --support anomalies.csv --label fault new.csv --out x.csv
score --support normal.csv --label fault new.csv --out x.csv --model eigen.safetensors
score new.csv --out x.csv
data show nothing
data fetch nothing
data show glass --data-dir bad
{BENCH} --datasets nothing --methods lr
{BENCH} --datasets glass --methods magic
{BENCH} --datasets glass --methods lr --set lr.colour=1
{BENCH} --datasets wbc --methods lr
bench run --protocol other --store x.db
bench table --store nowhere.db
bench table 4 --store runs.db
bench table {TABLE} --format pdf
bench table --store runs.db
bench table {TABLE} --where x=1
bench export --store runs.db --protocol published --out x.csv
bench import new.csv --store x.db
serve --host 0.0.0.0
serve --workers 0
serve nowhere.safetensors --port 0
app --host 0.0.0.0
app nowhere.safetensors --port 0 --no-browser
"""
# Columns and entries that tell the time; the version of the code has the commit in it where there is a checkout.
_UNSTEADY = dict.fromkeys(("train_seconds", "adapt_seconds", "finished_at", "seconds"), "TIME")
_UNSTEADY["code_version"] = "VERSION"
_NORMALISED = (
    (re.compile(r"about [^)]*"), "about TIME"),
    (re.compile(r"\b\d+(\.\d+)? s\b"), "TIME"),
    (re.compile(r"^.* gone, .* left\n", re.MULTILINE), ""),  # progress, which quick machines do not print
)


def record_commands(place: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Help, work and mistakes, each command in the folder that those before it left."""
    folder = place / "folder"
    _fill(folder)
    out = {name: {} for name in ("help", "work", "mistakes")}
    for name, lines in (("help", HELP), ("work", WORK), ("mistakes", MISTAKES)):
        for line in lines.strip("\n").splitlines():
            before = _stamps(folder)
            ended = run_command(line.split(), folder, env)
            after = _stamps(folder)
            changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
            entry: dict[str, Any] = {"code": ended.code} if ended.code or name != "help" else {}
            printed = {"out": _lines(ended.out, place), "err": _lines(ended.err, place)}
            entry |= {key: found for key, found in printed.items() if found}
            files = {path: _content(folder / path) for path in changed}
            out[name][line or "(nothing)"] = entry | ({"files": files} if files else {})
        if name == "work":
            _damage(folder)
    return out


def _fill(folder: Path) -> None:
    """A fleet of six machines, a new one's few labelled rows and its other rows; tables that cannot be read."""
    for name in ("fleet", "data", "bad"):
        (folder / name).mkdir(parents=True)
    for t in range(6):
        labelled(t).to_csv(folder / f"fleet/machine{t}.csv", index=False)
    words = labelled(9, 10).assign(state=np.where(labels(10) == 1, "broken", "ok")).drop(columns="fault")
    tables = {
        "support": labelled(9, 10),
        "new": mixed(7, 12),
        "labelled": labelled(6, 8),
        "words": words,
        "poor": labelled(3, 8),
        "renamed": labelled(4).rename(columns={"speed": "pace"}),
        "anomalies": labelled(9, 10)[lambda table: table["fault"] == 1],
        "normal": labelled(9, 10)[lambda table: table["fault"] == 0],
        "infinite": mixed(7, 4).assign(speed=["1", "inf", "2", "3"]),
        "fast": mixed(7, 4).assign(speed=["1", "2", "fast", "3"]),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    mixed(8, 15).to_parquet(folder / "new.parquet")
    machines = [labelled(t).assign(machine=f"m{t}", state=np.where(labels() == 1, "broken", "ok")) for t in range(6)]
    pd.concat(machines).drop(columns="fault").to_parquet(folder / "all.parquet", index=False)
    contents = {
        "empty": "",
        "header": "a,b\n",
        "ragged": "a,b\n1,2\n1\n",
        "binary": "\0\1\2\3" * 9,
        "twice": "a,a\n1,2\n",
    }
    for name, content in contents.items():
        (folder / f"{name}.csv").write_text(content)
    _write_datasets(folder)


def _write_datasets(folder: Path) -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(160) % 4 == 0).astype(int)
    X = rng.normal(size=(160, 4)) + y[:, None] * [1.5, 0, 0, 0]
    np.savez(folder / "data" / "glass.npz", X=X, y=y)
    np.savez(folder / "data" / "pima.npz", X=X[:, ::-1] ** 2, y=y)
    (folder / "bad" / "glass.npz").write_bytes(b"no archive")


def _damage(folder: Path) -> None:
    data = bytearray((folder / "eigen.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "damaged.safetensors").write_bytes(data)


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its number and time: a file that is written anew has others."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}


def _lines(text: str, place: Path) -> list[str]:
    """Without what differs from one run to the next: the folder, the time, and progress."""
    text = text.replace(str(place), "PLACE")
    for pattern, replacement in _NORMALISED:
        text = pattern.sub(replacement, text)
    return [line.rstrip() for line in text.splitlines()]


def _content(path: Path) -> Any:
    if not path.exists():
        return "deleted"
    if path.suffix == ".json":
        return _steady(json.loads(path.read_text()))
    if path.suffix == ".parquet":
        return as_columns(pyarrow.parquet.read_table(path, use_threads=False))
    if path.suffix == ".csv":
        return _csv_columns(path)
    if path.suffix == ".safetensors":
        return {FILE_HASH: hashlib.sha256(path.read_bytes()).hexdigest()}
    return path.read_text().splitlines() if path.suffix == ".tex" else "written"


def _steady(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    content = {key: _UNSTEADY.get(key, value) for key, value in content.items()}
    if "datasets" not in content:
        return content
    text = json.dumps(content, sort_keys=True)  # 33 datasets with their sources: their hash, and one of them
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "first": content["datasets"][0]}


def _csv_columns(path: Path) -> dict[str, Any]:
    """Cells as numbers where they are, by column."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    columns = {name: [_cell(row[k]) for row in rows] for k, name in enumerate(header)}
    for name in columns.keys() & _UNSTEADY.keys():
        columns[name] = [cell and _UNSTEADY[name] for cell in columns[name]]
    return columns


def _cell(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
