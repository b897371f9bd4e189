"""Dockerfile, compose.yaml and the systemd unit: parsed, and the service run as they run it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from benchmarks.distribution import build
from oddshot.cli import app

ROOT = Path(__file__).parents[1]
UNIT = ROOT / "deploy" / "oddshot.service"
TOKEN = "0123456789abcdef"
# As compose.yaml: a read-only file system but for the store, no capability, no way to get one.
WRITABLE = "/mnt"  # where the folder of the store is, in the file system that the service sees
READ_ONLY = f'mount --bind "$0" {WRITABLE} && mount -o remount,bind,ro / && exec "$@"'
CONFINED = ["unshare", "--mount", "sh", "-c", READ_ONLY]
DROPPED = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
NOBODY = ["--reuid=65534", "--regid=65534", "--clear-groups"]


def dockerfile():
    """The instructions, as pairs of a word and what follows it."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line]


def last(word):
    return [rest for name, rest in dockerfile() if name == word][-1]


def unit():
    """The settings of the unit; one that is repeated has several values."""
    settings = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            settings.setdefault(name, []).append(value)
    return settings


def docker_command():
    return [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]


def unit_command():
    return shlex.split(unit()["ExecStart"][0])


def health_command():
    return json.loads(re.search(r"CMD (\[.*\])", last("HEALTHCHECK"))[1])


@pytest.mark.parametrize("command", [docker_command(), unit_command()], ids=["Dockerfile", "unit"])
def test_every_flag_is_one_of_serve(command):
    flags = {flag for parameter in get_command(app).commands["serve"].params for flag in parameter.opts}
    used = [word for word in command if word.startswith("-")]
    assert Path(command[0]).name == "oddshot"
    assert command[1] == "serve"
    assert len(used) == 3
    assert set(used) <= flags


def test_the_image_has_two_stages_and_no_root():
    instructions = dockerfile()
    assert [name for name, _ in instructions].count("FROM") == 2
    assert last("USER") == "10001"
    assert f"--uid {last('USER')}" in " ".join(rest for name, rest in instructions if name == "RUN")
    assert not any("TOKEN" in rest for name, rest in instructions if name in ("ENV", "ARG"))
    assert last("VOLUME") == last("WORKDIR") == str(Path(docker_command()[-1]).parent)
    assert f"127.0.0.1:{last('EXPOSE')}/healthz" in health_command()[-1]


def test_the_image_is_built_from_what_is_not_ignored_and_gives_the_wheel(tmp_path):
    copied = [rest.split()[:-1] for name, rest in dockerfile() if name == "COPY" and not rest.startswith("--from")]
    wanted = {name for names in copied for name in names}
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in lines if line.startswith("!")} == wanted
    assert "*" in lines
    context = tmp_path / "context"
    context.mkdir()
    for name in wanted - {"src"}:
        shutil.copy(ROOT / name, context)
    shutil.copytree(ROOT / "src", context / "src", ignore=shutil.ignore_patterns("__pycache__"))
    wheels = []
    for source in (ROOT, context):
        (tmp_path / f"from-{source.name}").mkdir()
        wheels.append(build(source, tmp_path / f"from-{source.name}", "wheel").read_bytes())
    assert wheels[0] == wheels[1]


def test_compose_confines_the_service():
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    service = compose["services"]["oddshot"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"][0].startswith("/tmp:")
    assert service["environment"]["ODDSHOT_TOKEN"].startswith("${ODDSHOT_TOKEN:?")
    (volume,) = service["volumes"]
    assert volume.split(":") == [next(iter(compose["volumes"])), last("VOLUME")]
    assert service["ports"] == [f"127.0.0.1:{last('EXPOSE')}:{last('EXPOSE')}"]


def test_the_unit_confines_the_service():
    settings = unit()
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictNamespaces"):
        assert settings[name] == ["yes"]
    assert settings["ProtectSystem"] == ["strict"]
    assert settings["CapabilityBoundingSet"] == [""]
    assert settings["EnvironmentFile"] == ["/etc/oddshot/oddshot.env"]
    assert unit_command()[-1] == f"/var/lib/{settings['StateDirectory'][0]}/detectors.sqlite"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_understands_the_unit(tmp_path):
    """With a program and an environment file that are there."""
    text = UNIT.read_text().replace(unit_command()[0], sys.executable)
    (tmp_path / UNIT.name).write_text(text.replace("EnvironmentFile=", "EnvironmentFile=-"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / UNIT.name], capture_output=True, text=True
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", tmp_path / UNIT.name],
        capture_output=True,
        text=True,
    )
    assert rated.returncode == 0, rated.stdout[-200:]  # an exposure of at most 2.0 of 10


def confinement(folder):
    """The beginning of a command that runs in a read-only file system but for the folder, without capabilities."""
    if not (shutil.which("unshare") and shutil.which("setpriv")) or os.geteuid() != 0:
        return None
    start = [*CONFINED, str(folder), *DROPPED]
    for words in ([*start, *NOBODY], start):  # an interpreter in the home folder of root is out of reach for others
        probe = [*words, sys.executable, "-c", "import oddshot.cli"]
        if subprocess.run(probe, cwd="/", capture_output=True).returncode == 0:
            return words
    return None


def ask_health(url):
    """The exit code of the command by which Docker asks whether the service is well."""
    code = health_command()[-1].replace("http://127.0.0.1:8000", url.replace("0.0.0.0", "127.0.0.1"))
    assert url.rpartition(":")[2] in code
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30).returncode


def test_the_service_is_well_in_a_read_only_file_system(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o777)
    words = confinement(store)
    if words is None:
        pytest.skip("this machine lets nobody make a read-only file system")
    is_read_only = "import os, sys; sys.exit(0 if os.statvfs('/').f_flag & os.ST_RDONLY else 1)"
    assert subprocess.run([*words, sys.executable, "-c", is_read_only], cwd="/").returncode == 0
    replaced = {"8000": "0", docker_command()[-1]: f"{WRITABLE}/detectors.sqlite"}
    arguments = [replaced.get(word, word) for word in docker_command()[1:]]
    environment = {**os.environ, "ODDSHOT_TOKEN": TOKEN, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": "/nowhere"}
    command = [*words, sys.executable, "-m", "oddshot", *arguments]
    with subprocess.Popen(command, cwd="/", env=environment, stdout=subprocess.PIPE, text=True) as service:
        try:
            url = service.stdout.readline().split()[-1]
            assert ask_health(url) == 0
        finally:
            service.terminate()
        assert service.wait(30) == 0
    assert ask_health(url) == 1
    assert (store / "detectors.sqlite").stat().st_mode & 0o777 == 0o600


def test_without_a_token_the_image_refuses_to_start():
    environment = {name: value for name, value in os.environ.items() if name != "ODDSHOT_TOKEN"}
    command = [sys.executable, "-m", "oddshot", *docker_command()[1:]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "oddshot: 0.0.0.0 can be reached by other machines; give a --token, or listen on 127.0.0.1\n"
