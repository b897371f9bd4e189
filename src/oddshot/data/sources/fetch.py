"""The paper's datasets from the servers that hold them, into a cache folder; each archive once."""

import hashlib
import os
from pathlib import Path

from oddshot.data.sources.archives import ArchiveError, unpack_files
from oddshot.data.sources.cards import CARDS, Card, find_card
from oddshot.data.sources.download import download
from oddshot.errors import InputError, OddshotError

CACHE_VARIABLE = "ODDSHOT_DATA"
BY_HAND = "nbaiot"  # a folder in the cache with N-BaIoT's files, for who unpacks them by hand


def fetch(
    name: str | Card, cache_dir: str | Path | None = None, progress: bool = True, base_url: str | None = None
) -> Path:
    """Downloads what a dataset needs and is not there yet; returns the file to read it from.

    base_url: a folder on another server that holds the archives under the names of the cache folder. A checksum that
    does not agree removes what was downloaded, and only that.
    """
    card = find_card(name) if isinstance(name, str) else name
    cache = cache_folder(cache_dir)
    if not (cache / card.kept_as).is_file():
        url = card.source.url if base_url is None else f"{base_url.rstrip('/')}/{card.source.file_name}"
        _download_checked(card, url, cache, progress)
    return unpacked(card, cache)


def cache_folder(cache_dir: str | Path | None = None) -> Path:
    """Where archives are kept: as given, or as the environment says, or the system's place for caches."""
    if cache_dir is None:
        cache_dir = os.environ.get(CACHE_VARIABLE) or None
    if cache_dir is not None:
        return Path(cache_dir).expanduser().resolve()
    try:
        import pooch
    except ImportError:  # reading needs no downloader
        return Path.home() / ".cache" / "oddshot"
    return Path(pooch.os_cache("oddshot"))


def cached(card: Card, cache: Path) -> Path | None:
    """What a dataset would be read from: its own file, or its archive, or (N-BaIoT) a folder unpacked by hand."""
    places = [cache / card.kept_as, cache / card.source.file_name]
    if card.format == "csv":
        places.append(cache / BY_HAND)
    return next((place for place in places if place.exists()), None)


def unpacked(card: Card, cache: Path) -> Path:
    """The dataset's own file, unpacked now if only its archive is there. N-BaIoT's is too large: the archive itself."""
    archive, path = cache / card.source.file_name, cache / card.file
    if card.format == "csv":
        return archive
    if path.is_file():
        _check_file(card, path)
        return path
    # One pass over the archive serves every dataset in it.
    siblings = {other.file for other in CARDS.values() if other.source.file_name == archive.name}
    try:
        unpack_files(archive, cache, siblings | {card.file})
        if not path.is_file():
            raise ArchiveError(f"{archive}: holds no {path.name}, which {card.title} needs")
        _check_file(card, path)
    except ArchiveError:
        if card.source.sha256 is None:  # no checksum has vouched for this archive: let the next fetch replace it
            path.unlink(missing_ok=True)
            archive.unlink(missing_ok=True)
        raise
    return path


def _check_file(card: Card, path: Path) -> None:
    if card.sha256 is None:
        return
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != card.sha256:
        raise ArchiveError(f"{path}: SHA-256 {digest} instead of {card.sha256}; remove it and fetch {card.name} again")


def _download_checked(card: Card, url: str, cache: Path, progress: bool) -> None:
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
        raise InputError(f"cannot write to the cache folder {cache}: {error.strerror or error}") from error
