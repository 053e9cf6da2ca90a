"""Reading and writing files: formats, error messages, links, pipes and devices."""

import os
import stat
import threading
from pathlib import Path

import pytest

from koala.errors import FileError, KoalaError
from koala.files import (
    check_outputs,
    parse_json,
    read_csv,
    read_int,
    read_jsonl,
    read_text,
    read_tsv,
    write_text,
)


@pytest.mark.parametrize(
    "raw", [b"a\tb\n", "\ufeffa\tb\r\n".encode(), b"\n\na\tb", b"a\tb\textra\n\n"]
)
def test_line_ends_byte_order_marks_and_blank_lines_are_ignored(tmp_path, raw):
    path = tmp_path / "f.tsv"
    path.write_bytes(raw)
    assert [row[:2] for _, row in read_tsv(path, ("x", "y"))] == [["a", "b"]]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00", "line 3: contains a NUL byte"),
        (b"a\tb\nb\xff\tc", "line 2: byte 0xff is not UTF-8"),
        (b"a\tb\nc\n", r"line 2: expected 2 tab-separated columns \(x, y\), got 1: 'c'"),
    ],
)
def test_errors_of_bad_files_name_the_line_and_the_problem(tmp_path, raw, problem):
    path = tmp_path / "f.tsv"
    path.write_bytes(raw)
    with pytest.raises(FileError, match=problem):
        list(read_tsv(path, ("x", "y")))


def test_missing_files_and_folders_are_errors(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read_text(tmp_path / "nothing")
    with pytest.raises(FileError, match="folder"):
        read_text(tmp_path)


@pytest.mark.parametrize("line", ["{", "[1]", "3", "null"])
def test_json_lines_must_be_objects(tmp_path, line):
    (tmp_path / "f").write_text('{"a": 1}\n' + line)
    with pytest.raises(FileError, match="line 2: "):
        list(read_jsonl(tmp_path / "f"))


@pytest.mark.parametrize("cell", ["0", "-1", "1.5", "x", "", "1_0", "²", "9" * 5000, "99999999999"])
def test_cells_that_are_not_positive_whole_numbers_are_rejected(cell):
    with pytest.raises(FileError, match="whole number from 1"):
        read_int(cell, "the step", path="f", line=1)


def test_writing_replaces_the_file_and_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o644)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_into_a_missing_folder_is_rejected(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        write_text(tmp_path / "no" / "out.txt", "x")


def test_a_new_file_has_the_default_mode(tmp_path):
    (tmp_path / "plain").touch()
    write_text(tmp_path / "ours", "x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link_and_keeps_the_mode_of_its_target(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_pipe_is_written_to_instead_of_replaced_and_read_only_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(10)
    assert received == ["through"]
    assert pipe.is_fifo()
    writer = threading.Thread(target=pipe.write_text, args=("again",))
    writer.start()
    assert read_text(pipe) == read_text(pipe) == "again"
    writer.join(10)


def test_an_empty_name_and_a_folder_are_rejected(tmp_path):
    for name in ("", Path()):
        with pytest.raises(KoalaError, match="empty"):
            write_text(name, "x")
    with pytest.raises(FileError, match="cannot be written"):
        write_text(tmp_path, "x")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder with input files, `in.txt` and `texts/a.txt`, and links to the first."""
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("read me")
    Path("link.txt").symlink_to("in.txt")
    Path("twin.txt").hardlink_to("in.txt")
    Path("loop").symlink_to("loop")
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("read me")
    return tmp_path


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (["in.txt"], r"in.txt: would overwrite an input \(in.txt\)"),
        (["texts/../in.txt"], "would overwrite an input"),
        (["link.txt"], "would overwrite an input"),
        (["twin.txt"], "would overwrite an input"),
        (["texts/a.txt"], r"would overwrite an input \(texts\)"),
        (["new.txt", "texts/../new.txt"], "would be written twice"),
        (["none/out.txt"], "its folder is missing"),
        (["in.txt/out.txt"], "its folder is missing"),
        (["out.txt", "texts"], "this is a folder"),
        ([""], "empty"),
        (["x" * 300], "cannot be written"),
    ],
)
def test_unusable_outputs_are_rejected(here, outputs, problem):
    with pytest.raises(KoalaError, match=problem):
        check_outputs(map(Path, outputs), [None, Path("-"), Path("in.txt"), Path("texts")])
    assert sorted(path.name for path in here.iterdir()) == [
        "in.txt", "link.txt", "loop", "texts", "twin.txt"
    ]  # fmt: skip


@pytest.mark.usefixtures("here")
def test_usable_outputs_are_accepted():
    inputs = [
        Path("in.txt"),
        Path("texts"),
        Path("/dev/null"),
        Path("in.txt/none"),
        Path("x" * 300),
    ]
    check_outputs([Path("out.txt"), Path("other.txt"), None, Path("-")], inputs)
    # A new file in an input folder and a device overwrite nothing.
    check_outputs([Path("texts/new.txt"), Path("/dev/null"), Path("/dev/null")], inputs)
    # A link to itself points to no file.
    check_outputs([Path("loop")], inputs)
    write_text("loop", "new")
    assert Path("loop").read_text() == "new"


def test_a_line_end_inside_a_csv_cell_is_kept(tmp_path):
    (tmp_path / "f.csv").write_text('a,"b\nc"\n')
    assert [row for _, row in read_csv(tmp_path / "f.csv")] == [["a", "b\nc"]]


@pytest.mark.parametrize("text", ["{", "[" * 200_000, "9" * 5000, '"\\ud800"'])
def test_json_that_cannot_be_parsed_or_encoded_is_rejected(text):
    with pytest.raises(KoalaError, match="Not JSON"):
        parse_json(text)
