"""How does a program in another language use a detector?

`oddshot serve` answers over HTTP. A client sends labelled rows and gets back the id of a detector; then it sends rows
and gets back scores, as JSON or as Arrow. This script starts the service on this machine, uses it, and stops it.
"""

# %%
# The service takes any free port and prints its address. Only clients that know the token are answered.
import json
import os
import re
import secrets
import subprocess
import sys
import urllib.request

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

token = secrets.token_hex(24)
command, settings = [sys.executable, "-m", "oddshot", "serve", "--port", "0"], {**os.environ, "ODDSHOT_TOKEN": token}
pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
service = subprocess.Popen(command, env=settings, **pipes)
address = re.search(r"http://[\w.]+:\d+", service.stdout.readline())[0]
ARROW = "application/vnd.apache.arrow.stream"


def post(path, body, kind="application/json"):
    """What the service answers to a request."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind, "Accept": kind}
    with urllib.request.urlopen(urllib.request.Request(address + path, body, headers), timeout=60) as answer:
        return answer.read()


# %%
# Pressures and temperatures of a boiler. Of seventy rows, eight are labelled normal and two anomalous; the others have
# no label. 400 more rows are to be scored.
rng = np.random.default_rng(0)
temperature, is_odd = rng.normal(180, 8, 470), np.isin(np.arange(470), [68, 69, *range(450, 470)])
pressure = 10 + 0.25 * (temperature - 180) - 6 * is_odd + rng.normal(0, 0.3, 470)
rows = pa.table({"temperature": temperature.round(2), "pressure": pressure.round(2)})

# %%
# One request adapts; the answer has the id of the detector. Two more score the same rows, as JSON and as Arrow.
support = {"rows": rows[:70].to_pylist(), "labels": [0] * 8 + [None] * 60 + [1] * 2, "false_positive_rate": 0.01}
new = rows[70:]
try:
    detector = json.loads(post("/v1/adapt", json.dumps(support).encode()))
    as_json = json.dumps({"id": detector["id"], "rows": new.to_pylist()}).encode()
    from_json = json.loads(post("/v1/score", as_json))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, new.schema) as writer:
        writer.write_table(new)
    as_arrow = sink.getvalue().to_pybytes()
    from_arrow = pa.ipc.open_stream(post(f"/v1/score?id={detector['id']}", as_arrow, ARROW)).read_all()
finally:
    service.terminate()
    service.wait(timeout=60)

# %%
# Left: the rows, and which of them the service calls anomalies. Right: how large the two requests were.
flagged = np.array(from_json["anomalies"]) == 1
difference = np.abs(from_json["scores"] - from_arrow["score"].to_numpy()).max()
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=[1.6, 1])
for here, colour, marker, name in [(~flagged, "#56B4E9", "o", "normal"), (flagged, "#D55E00", "^", "an anomaly")]:
    some, label = new.filter(here), f"called {name}: {here.sum()}"
    left.scatter(some["temperature"], some["pressure"], c=colour, marker=marker, s=22, label=label)
left.set(title="400 new rows, 20 of them anomalies", xlabel="temperature in °C", ylabel="pressure in bar")
left.legend(loc="upper left")
sizes = len(as_json) / 1024, len(as_arrow) / 1024
right.bar_label(right.bar(["JSON", "Arrow"], sizes, color=["#0072B2", "#009E73"], width=0.6), fmt="%.1f")
right.set(title="The request for 400 scores", ylabel="KiB")
print(f"anomalies found: {flagged[-20:].sum()} of 20; normal rows flagged: {flagged[:-20].sum()} of 380")
print(f"largest difference between scores from JSON and from Arrow: {difference:.1e}; exit code {service.returncode}")
print(f"request in JSON: {sizes[0]:.1f} KiB, in Arrow: {sizes[1]:.1f} KiB")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
