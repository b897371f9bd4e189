"""Download the paper's datasets to a cache folder, each archive once."""

import hashlib
import os
from pathlib import Path

from oddshot.data.sources.archives import ArchiveError, unpack_files
from oddshot.data.sources.cards import CARDS, Card, find_card
from oddshot.data.sources.download import download
from oddshot.errors import InputError, OddshotError, file_error

CACHE_VARIABLE = "ODDSHOT_DATA"
MANUAL_FOLDER = "nbaiot"  # in the cache folder: N-BaIoT's files, if a person has unpacked them


def fetch_dataset(
    name: str | Card, cache_dir: str | Path | None = None, progress: bool = True, base_url: str | None = None
) -> Path:
    """Download the archive of a dataset unless it is in the cache, and return the file to read the dataset from.

    base_url: a folder on another server that has the archives under the same names as the cache folder. A download
    whose checksum is wrong is deleted, and nothing else.
    """
    card = find_card(name) if isinstance(name, str) else name
    cache = cache_folder(cache_dir)
    if not (cache / card.cache_file).is_file():
        url = card.source.url if base_url is None else f"{base_url.rstrip('/')}/{card.source.file_name}"
        _download_checked(card, url, cache, progress)
    return unpack_dataset(card, cache)


def cache_folder(cache_dir: str | Path | None = None) -> Path:
    """Return the folder for archives: the given one, that of $ODDSHOT_DATA, or the system's cache folder."""
    if cache_dir is None:
        cache_dir = os.environ.get(CACHE_VARIABLE) or None
    if cache_dir is not None:
        return Path(cache_dir).expanduser().resolve()
    try:
        import pooch
    except ImportError:  # needed for downloads only
        return Path.home() / ".cache" / "oddshot"
    return Path(pooch.os_cache("oddshot"))


def find_in_cache(card: Card, cache: Path) -> Path | None:
    """Return the file, the archive or, for N-BaIoT, the folder to read a dataset from; None if there is none."""
    paths = [cache / card.cache_file, cache / card.source.file_name]
    if card.format == "csv":
        paths.append(cache / MANUAL_FOLDER)
    return next((path for path in paths if path.exists()), None)


def unpack_dataset(card: Card, cache: Path) -> Path:
    """Return the dataset's file, unpacked first if necessary; for N-BaIoT, which is too large, the archive itself."""
    archive, path = cache / card.source.file_name, cache / card.file
    if card.format == "csv":
        return archive
    if path.is_file():
        _check_sha256(card, path)
        return path
    # One pass over the archive unpacks every dataset in it.
    siblings = {other.file for other in CARDS.values() if other.source.file_name == archive.name}
    try:
        unpack_files(archive, cache, siblings | {card.file})
        if not path.is_file():
            raise ArchiveError(f"{archive}: holds no {path.name}, which {card.title} needs")
        _check_sha256(card, path)
    except ArchiveError:
        if card.source.sha256 is None:  # the archive may be wrong: let the next fetch replace it
            path.unlink(missing_ok=True)
            archive.unlink(missing_ok=True)
        raise
    return path


def _check_sha256(card: Card, path: Path) -> None:
    """Refuse the file of a dataset whose checksum is not that of the card."""
    if card.sha256 is None:
        return
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != card.sha256:
        raise ArchiveError(f"{path}: SHA-256 {digest} instead of {card.sha256}; remove it and fetch {card.name} again")


def _download_checked(card: Card, url: str, cache: Path, progress: bool) -> None:
    """Download the archive of a card to the cache folder and verify its checksum."""
    import pooch

    def downloader(url: str, output_file: str, _: object) -> None:
        download(url, Path(output_file), cache / f"{card.source.file_name}.part", progress)

    pooch.get_logger().setLevel("WARNING")
    known = None if card.source.sha256 is None else f"sha256:{card.source.sha256}"
    try:
        pooch.retrieve(url, known, fname=card.source.file_name, path=cache, downloader=downloader)
    except OddshotError:
        raise
    except ValueError as error:
        raise InputError(
            f"{url}: SHA-256 is not the expected {card.source.sha256}; the download was removed, fetch it again"
        ) from error
    except OSError as error:
        raise file_error("write", f"to the cache folder {cache}", error) from error
