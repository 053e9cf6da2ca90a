"""The wheel: what it holds, and that it works in an empty environment.

Building takes seconds. Installing it with all its dependencies takes minutes and a package index,
so `make wheel-test` does that.
"""

import email
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from koala.errors import DISTRIBUTION

pytest.importorskip("hatchling", reason="needs hatchling, which builds the wheel")

ROOT = Path(__file__).parents[1]
LARGEST = 80_000_000  # bytes


def run(*words, folder, **options):
    # The checkout must not be found by accident.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, capture_output=True, check=False,
        **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_is_small_and_holds_the_models(wheel):
    assert wheel.stat().st_size < LARGEST
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        facts = email.message_from_bytes(archive.read(metadata))
    for model in ("small", "base", "recipes"):
        assert f"koala/bundled/models/{model}/network.onnx" in names
    assert "koala/py.typed" in names
    assert all(name.startswith(("koala/", "koala_tracker-")) for name in names)
    assert facts["Name"] == DISTRIBUTION
    assert {"web", "train", "frames", "mcp", "parquet", "ray"} <= set(
        facts.get_all("Provides-Extra")
    )


def test_the_install_page_lists_every_extra(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        extras = email.message_from_bytes(archive.read(metadata)).get_all("Provides-Extra")
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert listed == set(extras)


@pytest.mark.skipif("KOALA_WHEEL" not in os.environ, reason="takes minutes: make wheel-test")
def test_the_wheel_works_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    binaries = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    run(
        binaries / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        wheel,
        folder=tmp_path,
    )
    text = b"Roots absorb water from the soil. The water flows to the leaf."
    table = run(binaries / "koala", "track", "-", "--entity", "water", folder=tmp_path, input=text)
    assert "leaf" in table
    code = "import koala, sys; print(koala.__file__); print('torch' in sys.modules)"
    where = run(binaries / "python", "-c", code, folder=tmp_path)
    assert str(tmp_path) in where
    done = subprocess.run(
        [str(binaries / "koala"), "mcp"], cwd=tmp_path, capture_output=True, check=False
    )
    # Without the extra, the error repeats the way in which koala was installed.
    assert done.returncode == 2
    assert f"{wheel}[mcp]" in done.stderr.decode()
