"""Errors a person can act on."""

import pickle

import pytest

from koala.errors import FileError


@pytest.mark.parametrize("line", [None, 3])
def test_an_error_comes_whole_from_another_process(line):
    error = FileError("p.tsv", "this file is empty", line=line)
    found = pickle.loads(pickle.dumps(error))
    assert isinstance(found, FileError)
    assert str(found) == str(error)
    assert (found.path, found.line, found.problem) == ("p.tsv", line, "this file is empty")
