"""Errors that tell a user what to do."""

import json
import pickle
import sys
from importlib import metadata

import pytest

from koala.errors import DISTRIBUTION, FileError, KoalaError, install_command, needs_extra


class Installed:
    """The files that an installer leaves."""

    def __init__(self, **files):
        self.files = files

    def read_text(self, name):
        return self.files.get(name.partition(".")[0])


@pytest.mark.parametrize(
    ("files", "prefix", "command"),
    [
        ({"INSTALLER": "pip\n"}, "/env", f"pip install '{DISTRIBUTION}[web]'"),
        ({"INSTALLER": "uv"}, "/env", f"uv pip install '{DISTRIBUTION}[web]'"),
        ({}, "/home/a/pipx/venvs/x", f"pipx install --force '{DISTRIBUTION}[web]'"),
        (
            {"direct_url": json.dumps({"url": "file:///my%20code/koala", "dir_info": {}})},
            "/env",
            "pip install '/my code/koala[web]'",
        ),
        (
            {"direct_url": json.dumps({"url": "file:///k", "dir_info": {"editable": True}})},
            "/env",
            "pip install --editable '/k[web]'",
        ),
    ],
)
def test_the_command_repeats_the_installation(files, prefix, command, monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(**files))
    monkeypatch.setattr(sys, "prefix", prefix)
    assert install_command("web") == command


def test_a_missing_package_names_its_extra():
    with (
        pytest.raises(KoalaError, match=r"A plot needs no_such_package.*\[train\]"),
        needs_extra("train", "A plot"),
    ):
        import no_such_package  # noqa: F401


@pytest.mark.parametrize("line", [None, 3])
def test_a_file_error_survives_pickling(line):
    error = FileError("p.tsv", "this file is empty", line=line)
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, FileError)
    assert str(copy) == str(error)
    assert (copy.path, copy.line, copy.problem) == ("p.tsv", line, "this file is empty")
