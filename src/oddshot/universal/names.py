"""Models by name: the one that ships, and those of a folder in which each model has a folder with its card."""

import os
import re
from dataclasses import dataclass
from os.path import exists, isdir, isfile, realpath
from pathlib import Path

from oddshot.data.files import as_path
from oddshot.errors import FileError, InputError, file_error, printable

UNIVERSAL = "universal"  # the name of the model that ships
UNIVERSAL_MODEL_FILE = Path(__file__).with_name("universal.safetensors")
FOLDER_VARIABLE = "ODDSHOT_MODELS"
MODEL_FILE, CARD_FILE = "model.safetensors", "README.md"
MAX_CARD_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class NamedModel:
    """A model that has a name, its file, and the card that describes it, whether or not there is one."""

    name: str
    file: Path
    card: Path

    def read_card(self) -> str:
        """The text of the card; empty if there is none."""
        if not isfile(self.card):  # a pipe might never end
            return ""
        try:
            with self.card.open("rb") as file:
                data = file.read(MAX_CARD_BYTES + 1)
        except OSError as error:
            raise file_error("read", self.card, error) from None
        if len(data) > MAX_CARD_BYTES:
            raise InputError(f"{self.card}: a card has at most {MAX_CARD_BYTES:,} bytes")
        return data.decode(errors="replace")


SHIPPED = NamedModel(UNIVERSAL, UNIVERSAL_MODEL_FILE, Path(__file__).with_name(CARD_FILE))


def named_models(folder: str | Path | None = None) -> list[NamedModel]:
    """The model that ships, and those of a folder by name; by default the folder of ODDSHOT_MODELS, if it is set."""
    place = _models_folder(folder)
    if place is None:
        return [SHIPPED]
    try:
        names = sorted(path.name for path in place.iterdir() if isfile(path / MODEL_FILE))
    except OSError as error:
        raise file_error("read", place, error) from None
    return [SHIPPED, *(_in_folder(place, name) for name in names if is_name(name) and name.lower() != UNIVERSAL)]


def find_named(name: str, folder: str | Path | None = None) -> NamedModel:
    """The model of this name; a name that would lead out of the folder is refused."""
    if name == UNIVERSAL:
        return SHIPPED
    if not is_name(name):
        raise InputError(f"{printable(name)!r} is not the name of a model: letters, digits, '.', '_', '-', no folders")
    place = _models_folder(folder)
    if place is None:
        raise InputError(f"no model {name!r}; {UNIVERSAL!r} ships, and {FOLDER_VARIABLE} can name a folder of others")
    if not isfile(place / name / MODEL_FILE):
        names = ", ".join(model.name for model in named_models(place))
        raise FileError(f"no model {name!r} in {place}; there are: {names}")
    return _in_folder(place, name)


def model_file(model: str | Path) -> Path:
    """The file that a person means by a path or by the name of a model; a file of that path goes first."""
    path, text = as_path(model), str(model)
    if text == UNIVERSAL:
        return UNIVERSAL_MODEL_FILE
    if not is_name(text) or (exists(path) and not isdir(path)):
        return path
    if text.lower() == UNIVERSAL:
        raise FileError(f"{text}: no such file; did you mean {UNIVERSAL!r}, the model that ships?")
    if _models_folder() is None:
        return path
    try:
        return find_named(text).file
    except FileError as error:
        raise FileError(f"{text}: no such file, and {error}") from None


def is_name(text: str) -> bool:
    """Whether a text can be the name of a model: it is no path and does not begin with a dot."""
    return _NAME.fullmatch(text) is not None


def summarise(card: str) -> str:
    """The first sentence of a card below its front matter and its title."""
    body = re.sub(r"\A---\n.*?\n---\n", "", card.replace("\r\n", "\n"), flags=re.DOTALL)
    paragraphs = (" ".join(text.split()) for text in re.split(r"\n\s*\n|^#.*$", body, flags=re.MULTILINE))
    first = next(filter(None, paragraphs), "no card")
    return re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0]


def _models_folder(folder: str | Path | None = None) -> Path | None:
    given = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    return None if given is None else as_path(given).expanduser()


def _in_folder(place: Path, name: str) -> NamedModel:
    """The model of a folder; a link that leads out of the folder is refused."""
    model = NamedModel(name, place / name / MODEL_FILE, place / name / CARD_FILE)
    for path in (model.file, model.card):
        if not Path(realpath(path)).is_relative_to(realpath(place)):
            raise InputError(f"{path}: is a link that leads out of {place}")
    return model
