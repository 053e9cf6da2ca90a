"""Errors that tell a user what to do."""

import pickle

import pytest

from koala.errors import FileError


@pytest.mark.parametrize("line", [None, 3])
def test_a_file_error_survives_pickling(line):
    error = FileError("p.tsv", "this file is empty", line=line)
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, FileError)
    assert str(copy) == str(error)
    assert (copy.path, copy.line, copy.problem) == ("p.tsv", line, "this file is empty")
