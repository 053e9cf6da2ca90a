import stat

import pytest

from koala.errors import FileError
from koala.files import read_int, read_jsonl, read_text, read_tsv, write_text


@pytest.mark.parametrize(
    "raw", [b"a\tb\n", "\ufeffa\tb\r\n".encode(), b"\n\na\tb", b"a\tb\textra\n\n"]
)
def test_line_ends_marks_and_blank_lines_do_not_matter(tmp_path, raw):
    path = tmp_path / "f.tsv"
    path.write_bytes(raw)
    assert [row[:2] for _, row in read_tsv(path, ("x", "y"))] == [["a", "b"]]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00", "line 3: holds a NUL byte"),
        (b"a\tb\nb\xff\tc", "line 2: byte 0xff is not UTF-8"),
        (b"a\tb\nc\n", r"line 2: 1 tab-separated column\(s\) came, 2 were expected \(x, y\)"),
    ],
)
def test_bad_files_say_where_and_why(tmp_path, raw, problem):
    path = tmp_path / "f.tsv"
    path.write_bytes(raw)
    with pytest.raises(FileError, match=problem):
        list(read_tsv(path, ("x", "y")))


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read_text(tmp_path / "nothing")
    with pytest.raises(FileError, match="folder"):
        read_text(tmp_path)


@pytest.mark.parametrize("line", ["{", "[1]", "3", "null"])
def test_lines_that_are_no_objects(tmp_path, line):
    (tmp_path / "f").write_text('{"a": 1}\n' + line)
    with pytest.raises(FileError, match="line 2: "):
        list(read_jsonl(tmp_path / "f"))


@pytest.mark.parametrize("cell", ["0", "-1", "1.5", "x", "", "1_0", "²"])
def test_numbers_that_are_none(cell):
    with pytest.raises(FileError, match="whole number from 1"):
        read_int(cell, "the step", path="f", line=1)


def test_writing_replaces_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    write_text(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_a_failed_write_keeps_what_was_there(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_into_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        write_text(tmp_path / "no" / "out.txt", "x")
