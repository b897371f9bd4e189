"""Runs the blocks of a page as a reader would, in a folder with the files of the tutorial."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
import warnings
from pathlib import Path

import numpy as np
import pytest

from oddshot import FewShotDetector, cli
from tests.docs.pages import COMMANDS, SHOWN, blocks_of, commands_in

TUTORIAL = "docs/tutorial.md"
TRAIN = "oddshot train fleet/*.csv --label fault --out fleet.safetensors"
SERVER = r"(http://)?(localhost|127\.0\.0\.1):8000"
SHELL_WORDS = ("|", ">", "<", "$", "&&", ";")

# Commands that a test does not run, by their beginning.
NOT_RUN = {
    "pip install": "needs a network; test_what_is_installed_exists looks for the extra",
    "make ": "installs packages or runs for minutes; test_targets_of_make_exist looks for the target",
    "oddshot app": "a server that does not end; tests/app starts it",
    "oddshot serve": "a server that does not end; requests of the page go to one that the test has started",
    "export ODDSHOT_TOKEN=": "for that server; tests/cli/test_serve_command.py starts one with a token",
    "curl -H": "a request to that server",
    "docker": "needs a Docker daemon; tests/test_deploy.py looks at the files",
    "sudo": "changes the system; tests/test_deploy.py looks at the files",
    "torchrun": "starts several processes; tests/training/test_ranks.py does",
    "ray start": "Ray is not among the packages of the tests",
    "oddshot score --engine ray": "Ray is not among the packages of the tests; tests/scoring has a stand-in",
}
# Options that a reader can give as well, so that a test takes seconds: few epochs, data that are here.
ADDED = {
    "oddshot train": "--epochs 2",
    TRAIN: "--method eigen --epochs 3",
    "oddshot data": "--data-dir data",
    "oddshot bench run": "--data-dir data --epochs 1 --splits 1 --training-tasks 4 --workers 1 --device cpu --quiet",
    "oddshot bench table": "--where n_training=4",
    "oddshot bench table --store results.db --compare": "--where n_training=4 --where training.epochs=1",
}
SHORTER = {  # the same in Python
    "meta_train(tasks, seed=0)": 'meta_train(tasks, method="eigen", training=oddshot.TrainingConfig(epochs=3))',
    "epochs=30": "epochs=2",
}


def make_files():
    """The tutorial's fleet, a model of it, a folder of models, a detector, a plugin, and tables of the bench."""
    first = next(block for block in blocks_of(TUTORIAL) if block.language == "python")
    names = {}
    exec(first.text, names)
    os.mkdir("new")
    for day in range(2):
        names["machine"](200 + day).drop(columns="fault").to_parquet(f"new/day{day}.parquet")
    run_here(TRAIN)
    os.makedirs("models/pumps")
    shutil.copy("fleet.safetensors", "models/pumps/model.safetensors")
    labelled = names["six"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FewShotDetector().fit(labelled.drop(columns="fault"), labelled["fault"]).save("detector.safetensors")
    method = next(block for block in blocks_of("docs/how-to/add-a-method.md") if block.language == "python")
    Path("centroid.py").write_text(method.text)
    os.mkdir("data")
    y = (np.arange(160) % 4 == 0).astype(int)
    for name in ("glass", "wdbc"):
        np.savez(f"data/{name}.npz", X=np.random.default_rng(0).normal(size=(160, 4)) + y[:, None], y=y)


def run_page(page, folder, given, address):
    """Run all blocks of a page in their order. Returns what its Python blocks have defined."""
    names = dict(given)
    for block in blocks_of(page):
        if block.language in COMMANDS:
            for command in commands_in(block.text):
                run_command(command, folder, address)
        elif block.language == "python":
            run_python(block, page, names, address)
        else:
            assert block.language in SHOWN, f"{page}, line {block.line}: a block of {block.language!r}"
    return names


def run_python(block, page, names, address):
    text = re.sub(SERVER, address, block.text)
    for longer, shorter in SHORTER.items():
        text = text.replace(longer, shorter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile("\n" * (block.line - 1) + text, page, "exec"), names)


def run_command(command, folder, address):
    if command.startswith(tuple(NOT_RUN)):
        return
    words = shlex.split(command, comments=True)
    if words[0] == "curl":
        send(words, address, folder)
    elif command.startswith(TRAIN) and (folder / "fleet.safetensors").exists():
        return  # it was trained once, for all pages
    elif words[0] == "oddshot" and not any(word.startswith(SHELL_WORDS) for word in words):
        run_here(command)
    else:
        run_shell(command, folder)


def lengthened(command):
    command = re.sub(r"\s#.*", "", command)
    added = max((beginning for beginning in ADDED if command.startswith(beginning)), key=len, default=None)
    return command if added is None else f"{command} {ADDED[added]}"


def run_here(command):
    """Run a command of oddshot in this process, which has torch already."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "argv", shlex.split(lengthened(command), comments=True))
        warnings.simplefilter("ignore")
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert ended.value.code == 0, command


def run_shell(command, folder):
    """Run a command with a pipe or of another program, in which `oddshot` is the one of this interpreter."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "oddshot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m oddshot "$@"\n')
    (tools / "oddshot").chmod(0o755)
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    script = f"set -o pipefail; {command}"
    ended_by_head = 128 + signal.SIGPIPE
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, ended_by_head), (command, done.stderr)


def send(words, address, folder):
    """Send what curl would; … stands for the id of the answer before."""
    url = re.sub(SERVER, address, next(word for word in words[1:] if re.match(SERVER, word)))
    body, kept = None, folder / "id.txt"
    if "-d" in words:
        body = words[words.index("-d") + 1]
        body = body.replace("…", kept.read_text()) if kept.exists() else body
    headers = dict(word.split(": ", 1) for word in words if re.match(r"[\w-]+: ", word))
    request = urllib.request.Request(url, None if body is None else body.encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        content = answer.read()
    if url.endswith("/v1/adapt"):
        kept.write_text(json.loads(content)["id"])
