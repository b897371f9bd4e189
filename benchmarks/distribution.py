"""Builds the wheel and the sdist and checks them, one line for each check: `make dist`.

The wheel is installed into a new environment, in which commands run far away from the source folder.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Callable, Iterable, Mapping
from email import message_from_bytes
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_WHEEL_BYTES, MAX_WHEEL_FILE_BYTES, MAX_SDIST_BYTES = 3_000_000, 1_000_000, 10_000_000
IN_WHEEL = (
    "oddshot/__init__.py",
    "oddshot/py.typed",
    "oddshot/app/static/index.html",
    "oddshot/bench/paper_table1.csv",
    "oddshot/universal/universal.safetensors",
    "oddshot/universal/README.md",
)
IN_DIST_INFO = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
MAX_SECONDS = 1800.0  # of a command
EXTRAS = {"app", "boost", "excel", "onnx", "ray", "serve"}
URLS = {"Homepage", "Documentation", "Repository", "Changelog", "Issues"}
_NORMAL_ROWS = "".join(f"{k % 7},{k % 5},{0 if k < 6 else ''}\n" for k in range(40))
TABLE = f"load,speed,fault\n{_NORMAL_ROWS}90,80,1\n95,85,\n"
DEMO_LINES = ("ships", "drawn: demo.png")


class CheckError(Exception):
    """A check that failed, and why."""


def wheel_problems(sizes: Mapping[str, int]) -> list[str]:
    """What is wrong with the files of a wheel. sizes: bytes by name."""
    info = next((name.partition("/")[0] for name in sizes if name.endswith(".dist-info/METADATA")), "?.dist-info")
    wanted = [*IN_WHEEL, *(f"{info}/{name}" for name in IN_DIST_INFO)]
    problems = [f"{name} is missing" for name in wanted if name not in sizes]
    for name, size in sizes.items():
        if not name.startswith(("oddshot/", f"{info}/")) or "/tests/" in name or name.endswith((".pyc", ".part")):
            problems.append(f"{name} does not belong into a wheel")
        if size > MAX_WHEEL_FILE_BYTES:
            problems.append(f"{name} has {size:,} bytes")
    return problems


def sdist_problems(names: Iterable[str], tracked: Iterable[str]) -> list[str]:
    """Files of the repository that an sdist lacks, which its tests may need, and files that it has beyond them."""
    found, expected = set(names) - {"PKG-INFO"}, set(tracked)
    missing = [f"{name} is missing" for name in sorted(expected - found)]
    return [*missing, *(f"{name} is not in the repository" for name in sorted(found - expected))]


def metadata_problems(metadata: Message, version: str) -> list[str]:
    """What a reader of the package index would miss."""
    problems = [] if metadata["Version"] == version else [f"version {metadata['Version']}, the package has {version}"]
    extras = set(metadata.get_all("Provides-Extra") or [])
    urls = {line.partition(",")[0] for line in metadata.get_all("Project-URL") or []}
    problems += [f"extra {name} is missing" for name in sorted(EXTRAS - extras)]
    problems += [f"address {name} is missing" for name in sorted(URLS - urls)]
    problems += [f"{name} is missing" for name in ("Author", "Keywords", "License-Expression") if not metadata[name]]
    links = re.findall(r"\]\(([^)\s]+)", str(metadata.get_payload()))
    return [*problems, *(f"the link {link} leads nowhere" for link in links if not re.match(r"https?:|#", link))]


def read_wheel(path: Path) -> tuple[dict[str, int], Message]:
    """The sizes of a wheel's files by name, and its metadata."""
    with zipfile.ZipFile(path) as archive:
        sizes = {one.filename: one.file_size for one in archive.infolist()}
        name = next(name for name in sizes if name.endswith(".dist-info/METADATA"))
        return sizes, message_from_bytes(archive.read(name))


def read_sdist(path: Path) -> list[str]:
    """The names of an sdist's files, below its folder."""
    with tarfile.open(path) as archive:
        return [one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()]


def build(source: Path, out: Path, kind: str) -> Path:
    """Build a wheel or an sdist, and return its path."""
    before = set(out.glob("*"))
    run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)], source)
    (built,) = set(out.glob("*")) - before
    return built


def run(command: list[str], folder: Path, **variables: str) -> str:
    """What a command prints, which must succeed; variables: of its environment, in which this source folder is not."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=folder, env=environment | variables, capture_output=True, text=True, timeout=MAX_SECONDS
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise CheckError(f"{Path(command[0]).name} {' '.join(command[1:4])}: {lines[-1] if lines else done.returncode}")
    return done.stdout


def make_environment(folder: Path, *packages: str) -> Path:
    """A virtual environment with these packages, in the versions of constraints.txt; returns its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
    run([*pip, *packages], folder)
    return programs


class Distribution:
    """The wheel and the sdist of this source folder, and the checks of them. scratch: an empty folder to work in."""

    def __init__(self, out: Path, scratch: Path) -> None:
        self.scratch = scratch
        out.mkdir(exist_ok=True)
        for old in [*out.glob("oddshot-*.whl"), *out.glob("oddshot-*.tar.gz")]:
            old.unlink()
        self.sdist, self.wheel = build(ROOT, out, "sdist"), build(ROOT, out, "wheel")
        self._programs: Path | None = None

    def check_wheel(self) -> str:
        """Its files and its size."""
        sizes, _ = read_wheel(self.wheel)
        require(wheel_problems(sizes))
        return size_of(self.wheel, MAX_WHEEL_BYTES, len(sizes))

    def check_sdist(self) -> str:
        """Its files are those of the repository."""
        tracked = run(["git", "ls-files"], ROOT).splitlines()
        names = read_sdist(self.sdist)
        require(sdist_problems(names, tracked))
        return size_of(self.sdist, MAX_SDIST_BYTES, len(names))

    def check_metadata(self) -> str:
        """Version, extras, addresses and links."""
        _, metadata = read_wheel(self.wheel)
        version = re.search(r'^__version__ = "(.*)"', (ROOT / "src/oddshot/__init__.py").read_text(), re.MULTILINE)
        require(metadata_problems(metadata, version[1] if version else "?"))
        return f"version {metadata['Version']}, {len(metadata.get_all('Classifier') or [])} classifiers"

    def check_rebuilt(self) -> str:
        """The wheel that the sdist gives is the same, byte by byte, and its tests are found."""
        with tarfile.open(self.sdist) as archive:
            archive.extractall(self.scratch / "unpacked", filter="data")
        (source,) = (self.scratch / "unpacked").iterdir()
        (self.scratch / "again").mkdir()
        digests = {sha256(path) for path in (self.wheel, build(source, self.scratch / "again", "wheel"))}
        require([] if len(digests) == 1 else ["another wheel than that of the source folder"])
        collect = ["-m", "pytest", "--collect-only", "--disable-warnings", "-p", "no:cacheprovider"]
        lines = run([sys.executable, *collect], source, PYTHONPATH=str(source / "src")).strip().splitlines()
        return f"the same wheel, SHA-256 {digests.pop()[:12]}…, and {lines[-1].split(' in ')[0]}"

    def check_twine(self) -> str:
        """What the package index would refuse."""
        programs = make_environment(self.scratch / "twine", "twine")
        command = [str(programs / "python"), "-m", "twine", "check", "--strict", str(self.wheel), str(self.sdist)]
        return f"{run(command, self.scratch).count('PASSED')} of 2 passed"

    def check_installed(self) -> str:
        """The wheel alone in a new environment, whose packages fit together."""
        self._programs = make_environment(self.scratch / "installed", str(self.wheel))
        run([str(self._programs / "python"), "-m", "pip", "check"], self.scratch)
        packages = run([str(self._programs / "python"), "-m", "pip", "list", "--format", "freeze"], self.scratch)
        return f"{self._oddshot('--version').strip()} among {len(packages.splitlines())} packages"

    def check_scores(self) -> str:
        """A table is scored, and the row that is like the labelled anomaly comes first."""
        (self.scratch / "table.csv").write_text(TABLE)
        given = ["--support", "table.csv", "--label", "fault", "table.csv", "--columns", "load,speed", "--quiet"]
        self._oddshot("score", *given, "--out", "scores.csv")
        rows = [line.split(",") for line in (self.scratch / "scores.csv").read_text().splitlines()[1:]]
        first = sorted(rows, key=lambda row: -float(row[2]))[:2]
        require([] if {row[1] for row in first} == {"41", "42"} else [f"row {first[0][1]} comes first"])
        return f"{len(rows)} rows scored"

    def check_models(self) -> str:
        """The model that ships has its card."""
        return self._oddshot("models", "show", "universal").splitlines()[-1].partition(": ")[2]

    def check_demo(self) -> str:
        """`oddshot demo`, from beginning to end."""
        started = time.perf_counter()
        said = self._oddshot("demo")
        require([f"{line!r} was not said" for line in DEMO_LINES if line not in said])
        return f"{time.perf_counter() - started:.0f} s"

    def check_service(self) -> str:
        """With the extra `serve`, the service starts and says that it is well."""
        programs = make_environment(self.scratch / "installed", f"{self.wheel}[serve]")
        command = [str(programs / "oddshot"), "serve", "--port", "0"]
        with subprocess.Popen(command, cwd=self.scratch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as service:
            try:
                url = (service.stdout.readline() if service.stdout else b"").decode().split()[-1]
                with urllib.request.urlopen(f"{url}/healthz", timeout=30) as answer:
                    return str(answer.read().decode())
            finally:
                service.terminate()

    def _oddshot(self, *arguments: str) -> str:
        if self._programs is None:
            raise CheckError("the wheel is not installed")
        return run([str(self._programs / "oddshot"), *arguments], self.scratch)


def require(problems: list[str]) -> None:
    """Raise what is wrong, if anything is."""
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise CheckError("; ".join(problems[:3]) + more)


def size_of(path: Path, most: int, n_files: int) -> str:
    """Name, files and bytes in words; raises where it is too large."""
    n_bytes = path.stat().st_size
    require([] if n_bytes <= most else [f"{n_bytes:,} bytes, more than {most:,}"])
    return f"{path.name}, {n_files} files, {n_bytes:,} bytes"


def sha256(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def report(title: str, check: Callable[[], str]) -> bool:
    """Do a check, print its line, and return whether it passed."""
    try:
        line, passed = check(), True
    except (CheckError, subprocess.TimeoutExpired, OSError) as error:
        line, passed = " ".join(str(error).split()), False
    print(f"{'ok    ' if passed else 'FAILED'} {title}: {line}", flush=True)
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheel and the sdist go")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oddshot-dist-") as scratch:
        made = Distribution(given.out.resolve(), Path(scratch))
        checks = {
            "wheel": made.check_wheel,
            "sdist": made.check_sdist,
            "metadata": made.check_metadata,
            "rebuilt from the sdist": made.check_rebuilt,
            "twine check --strict": made.check_twine,
            "installed": made.check_installed,
            "card": made.check_models,
            "score": made.check_scores,
            "service": made.check_service,
            "demo": made.check_demo,
        }
        passed = [report(title, check) for title, check in checks.items()]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
