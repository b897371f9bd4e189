"""Every command and snippet of README.md runs, in a folder with nothing but the user's files that it speaks of."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
import urllib.request
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer.main

from oddshot import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SNIPPETS = [text for language, text in BLOCKS if language == "python"]
SHELL = [text for language, text in BLOCKS if language == ""]
PROSE = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)

# Options that a reader can give as well, so that a test takes seconds: few epochs, data that are here, any free port.
ADDED = {
    "oddshot train": "--epochs 1",
    "oddshot data list": "--data-dir data",
    "oddshot data fetch": "--data-dir data",
    "oddshot bench run": "--data-dir data --epochs 1 --splits 1 --training-tasks 4 --workers 1 --device cpu --quiet",
    "oddshot bench table": "--where n_training=4 --where training.epochs=1",
    "oddshot app": "--port 0 --no-browser",
    "oddshot serve": "--port 0",
}
SHORTER = {  # the same for snippets
    "oddshot.meta_train(tasks, seed=0)": "oddshot.meta_train(tasks, seed=0, training=oddshot.TrainingConfig(epochs=1))",
    "epochs=30": "epochs=3",
}
# The demo trains for about a minute; tests/bench/test_demo.py runs it in short.
MADE_ELSEWHERE = {"demo": "oddshot demo", "test": "pytest"}


def machine(seed, n=60):
    rng = np.random.default_rng(seed)
    fault = (np.arange(n) % 6 == 5) * 1
    load, speed = rng.normal(size=(2, n)) + 4 * fault
    mode = rng.choice(["idle", "run"], n)
    return pd.DataFrame({"load": load.round(3), "speed": speed.round(3), "mode": mode, "fault": fault})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that README.md speaks of as the user's."""
    monkeypatch.chdir(tmp_path)
    for name in ("fleet", "new", "data"):
        os.mkdir(name)
    for k in range(3):
        machine(k).to_csv(f"fleet/machine{k}.csv", index=False)
        machine(10 + k).drop(columns="fault").to_parquet(f"new/day{k}.parquet")
    machine(20, 12).to_csv("labelled.csv", index=False)
    machine(21).drop(columns="fault").to_csv("new.csv", index=False)
    rng = np.random.default_rng(0)
    y = (np.arange(160) % 4 == 0).astype(int)
    for name in ("glass", "wdbc"):
        np.savez(f"data/{name}.npz", X=rng.normal(size=(160, 4)) + y[:, None], y=y)
    return tmp_path


def commands(block):
    """The commands of a block, without comments; one may go over several lines."""
    found, text = [], ""
    for line in block.splitlines():
        text += line + "\n"
        try:
            words = shlex.split(text, comments=True)
        except ValueError:  # a quotation that goes on
            continue
        if words:
            found.append(" ".join(map(quoted, words)))
        text = ""
    assert text == ""
    return found


def quoted(word):
    return word if word == "|" or re.fullmatch(r"[\w./*=,:@-]+", word) else shlex.quote(word)


def lengthened(command):
    for beginning, options in ADDED.items():
        if command.startswith(beginning):
            return f"{command} {options}"
    return command


def run_here(command, monkeypatch, capsys):
    """Run a command of oddshot in this process. Returns what it prints."""
    monkeypatch.setattr(sys, "argv", shlex.split(lengthened(command)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(SystemExit) as ended:
            cli.main()
    printed = capsys.readouterr()
    assert ended.value.code == 0, (command, printed.err)
    return printed.out


def run_shell(command, folder):
    """Run a command with a pipe, in which `oddshot` is the one of this interpreter."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "oddshot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m oddshot "$@"\n')
    (tools / "oddshot").chmod(0o755)
    source = str(Path(cli.__file__).parents[2])
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": source}
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120, cwd=folder
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def block_with(text):
    (found,) = [block for block in SHELL if text in block]
    return commands(found)


def test_all_blocks_are_tested():
    """The tests below take a block by a command of it."""
    assert len(SHELL) == 5
    assert len(SNIPPETS) == 2
    assert {language for language, _ in BLOCKS} == {"", "python"}
    first_words = {command.split()[0] for block in SHELL for command in commands(block)}
    assert first_words == {"make", "pip", "oddshot", "curl"}


def test_commands_of_make():
    for command in block_with("make demo"):
        tool, target = command.split()
        assert tool == "make"
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        assert MADE_ELSEWHERE[target] in done.stdout


def test_what_is_installed_exists():
    """pip itself is not run: it needs a network."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [command for block in SHELL for command in commands(block) if command.startswith("pip")]
    assert lines
    for line in lines:
        found = re.fullmatch(r"pip install -e '\.\[(\w+)\]'", line)
        assert found is not None, line
        assert found[1] in extras


def test_your_own_tables(folder, monkeypatch, capsys):
    for command in block_with("oddshot train"):
        if "|" in command:
            assert len(run_shell(command, folder).splitlines()) == 3
        else:
            run_here(command, monkeypatch, capsys)
    scores = pd.read_parquet("scores.parquet")
    assert scores.columns.tolist() == ["file", "row", "score", "probability", "anomaly"]
    assert len(scores) == 3 * 60
    assert Path("fleet.safetensors").exists()


def test_the_papers_evaluation(folder, monkeypatch, capsys):
    printed = [run_here(command, monkeypatch, capsys) for command in block_with("oddshot bench")]
    assert "glass" in printed[0]
    assert "6 of 6 runs are done" in printed[2]
    assert re.search(r"Ours .*LR .*KNN", printed[3])


def test_the_snippet_of_a_fleet(folder):
    new = machine(20, 12)
    given = {"X_support": new.drop(columns="fault"), "y_support": new["fault"]}
    names = {**given, "X": machine(21).drop(columns="fault")}
    run_snippet(SNIPPETS[0], names)
    assert Path("fleet.safetensors").exists()
    assert set(names["detector"].predict(names["X"])) == {0, 1}


def test_the_snippet_of_a_decision(folder):
    names = {}
    run_snippet(SNIPPETS[1], names)
    new, why = names["new"], names["why"]
    assert names["detector"].predict(new.X).shape == (80,)
    np.testing.assert_allclose(why.contributions.sum(axis=1), why.score - why.baseline_score, atol=1e-4)


def run_snippet(text, names):
    for longer, shorter in SHORTER.items():
        text = text.replace(longer, shorter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "README.md", "exec"), names)


def started(command):
    """Start a server. Returns the process and its address, which it prints."""
    words = shlex.split(lengthened(command))
    process = subprocess.Popen(
        [sys.executable, "-m", "oddshot", *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    return process, re.search(r"http://[\w.]+:\d+", line)[0]


def stop(process):
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_the_app(folder):
    pytest.importorskip("uvicorn")
    process, address = started(block_with("oddshot app")[1])
    try:
        assert b"<html" in urllib.request.urlopen(address, timeout=60).read()
    finally:
        stop(process)


def test_the_service(folder):
    """What curl would send is sent; the id is the one of the first answer."""
    pytest.importorskip("uvicorn")
    _, serve, *requests = block_with("oddshot serve")
    process, address = started(serve)
    try:
        adapted = send(requests[0], address)
        scored = send(requests[1].replace("…", adapted["id"]), address)
        assert len(scored["scores"]) == 1
    finally:
        stop(process)
    assert Path("detectors.sqlite").exists()


def send(curl, address):
    words = shlex.split(curl)
    assert words[:2] == ["curl", "-s"]
    kind, value = words[words.index("-H") + 1].split(": ")
    url, body = words[2].replace("localhost:8000", address), words[words.index("-d") + 1]
    request = urllib.request.Request(url, body.encode(), {kind: value})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_commands_and_options_in_the_text_exist():
    group = typer.main.get_command(cli.app)
    known = {"oddshot": group}
    known |= {f"oddshot {name}": command for name, command in group.commands.items()}
    for name in ("data", "bench"):
        known |= {f"oddshot {name} {part}": command for part, command in group.commands[name].commands.items()}
    options = {option for command in known.values() for parameter in command.params for option in parameter.opts}
    mentioned = re.findall(r"`([^`\n]+)`", PROSE)
    for text in mentioned:
        if text.startswith("oddshot "):
            words = [word for word in text.split() if not word.startswith("-")]
            assert " ".join(words) in known, text
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", text.replace("--nproc-per-node", "")):
            assert option in options, text


def test_links_and_pictures_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 10
    assert [target for target in targets if not (ROOT / target).exists()] == []
