import bz2
import gzip
import json
import lzma
from itertools import islice

import pytest

from koala.errors import FileError
from koala.pretraining.wikipedia import Paragraph, paragraphs, read_paragraphs

RAIN = Paragraph("Rain", "Water vapour rises and cools; drops form and fall.")
SNOW = Paragraph("Snow", "Ice crystals grow in clouds; flakes fall — é.")
TSV = "".join(f"{title}\t{text}\n" for title, text in (RAIN, SNOW)).encode()


def read(*paths, least_words=1, **options):
    return list(read_paragraphs(paths, least_words=least_words, **options))


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", ["p.tsv", "p.txt", "p"])
@pytest.mark.parametrize(
    "compress", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=lambda f: f.__module__
)
def test_title_and_text_with_every_compression(tmp_path, name, compress):
    assert read(write(tmp_path / name, compress(TSV))) == [RAIN, SNOW]


def test_windows_line_ends_byte_order_mark_and_blank_lines(tmp_path):
    content = b"\xef\xbb\xbf" + TSV.replace(b"\n", b"\r\n\r\n")
    assert read(write(tmp_path / "p.tsv", content)) == [RAIN, SNOW]


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_extracted_articles_are_split_at_line_ends(tmp_path, gap):
    article = {"id": "1", "title": "Rain", "text": f"Rain{gap}First part.{gap}Second part.\n"}
    path = write(tmp_path / "wiki_00", json.dumps(article) + "\n")
    assert read(path, least_words=2) == [("Rain", "First part."), ("Rain", "Second part.")]


def test_a_folder_of_extracted_files_is_read_in_order(tmp_path):
    for name in ("AB/wiki_00.bz2", "AA/wiki_01", "AA/wiki_00"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        content = json.dumps({"title": name, "text": "one"}).encode()
        write(tmp_path / name, bz2.compress(content) if name.endswith("bz2") else content)
    write(tmp_path / "README.txt", "not a paragraph")
    titles = [paragraph.title for paragraph in read(tmp_path)]
    assert titles == ["AA/wiki_00", "AA/wiki_01", "AB/wiki_00.bz2"]


def test_plain_text_with_one_paragraph_per_line(tmp_path):
    path = write(tmp_path / "book.txt", "one two\nthree four\n")
    assert read(path) == [("book.txt", "one two"), ("book.txt", "three four")]


def test_wrapped_text_is_joined_and_long_lines_are_not(tmp_path):
    wrapped = write(tmp_path / "wrapped.txt", "one two\nthree\n\n\nfour\n")
    assert [p.text for p in read(wrapped)] == ["one two three", "four"]
    long = "word " * 40
    lines = write(tmp_path / "lines.txt", f"Heading\n{long}\n{long}\n\nHeading\n{long}\n")
    assert [len(p.text.split()) for p in read(lines)] == [1, 40, 40, 1, 40]


def test_short_and_empty_paragraphs_are_left_out(tmp_path):
    path = write(tmp_path / "p.tsv", b"a\tone two\nb\t\nc\tone two three\n")
    assert [p.title for p in read(path, least_words=3)] == ["c"]
    assert [p.title for p in read(path, least_words=0)] == ["a", "c"]


def test_files_are_read_lazily(tmp_path):
    path = write(tmp_path / "p.tsv", TSV + b"no tab here\n")
    assert list(islice(read_paragraphs([path], least_words=1), 2)) == [RAIN, SNOW]


def test_progress_counts_compressed_bytes_of_all_files(tmp_path):
    reports = []
    files = [write(tmp_path / "a.tsv", TSV), write(tmp_path / "b.tsv", lzma.compress(TSV * 2000))]
    read(*files, progress=lambda *numbers: reports.append(numbers))
    total = sum(file.stat().st_size for file in files)
    assert reports == sorted(reports)
    assert reports[0] == (len(TSV), total)
    assert reports[-1] == (total, total)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.tsv", b"a\tb\nno tab\n", "line 2: expected 2 tab-separated columns (title, text)"),
        ("p.tsv", b"a\tb\tc\n", "line 1: expected 2 tab-separated columns (title, text), got 3"),
        ("p.tsv", b"a\tb\na\t\xff\n", "line 2: byte 0xff is not UTF-8"),
        ("p.tsv", b"a\tb\x00\n", "line 1: contains a NUL byte"),
        ("p.tsv", b"\n \n", "this file is empty"),
        ("p.tsv.gz", gzip.compress(TSV, mtime=0)[:-9], "damaged after line"),
        ("p.tsv.bz2", bz2.compress(TSV)[:-9], "damaged after line"),
        ("p.tsv.xz", lzma.compress(TSV)[:-9], "damaged after line"),
        ("p.tsv.gz", gzip.compress(TSV, mtime=0)[:-8] + b"wrong!!!", "damaged after line"),
        ("p.tsv.bz2", b"BZh9 is no bzip2", "damaged after line 0"),
        ("p.jsonl", b'{"title": "a"', "line 1: Not JSON"),
        ("p.jsonl", b'["title", "text"]', 'line 1: expected an object with "title" and "text"'),
        ("p.jsonl", b'{"title": "a", "text": "b"}\n{"title": "a"}', "line 2: expected an object"),
        ("p.jsonl", b'{"title": 1, "text": "b"}', "line 1: expected an object"),
        ("wiki_00", b'<doc id="12" title="Anarchism">\n', "wikiextractor --json"),
    ],
)
def test_errors_name_file_line_and_problem(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_very_long_lines_and_paragraphs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(paragraphs, "LONGEST", 100)
    path = write(tmp_path / "p.txt", "x" * 100)
    with pytest.raises(FileError, match="more than 100 bytes without a line end"):
        read(path)
    path = write(tmp_path / "p.txt", "one\n\n" + "two words\n" * 20)
    with pytest.raises(FileError, match="without a blank line"):
        read(path)


@pytest.mark.parametrize("name", ["missing.tsv", "", "-", "x" * 300, "a\x00b"])
def test_missing_files_and_folders_without_paragraphs(tmp_path, name):
    (tmp_path / "other.png").touch()
    with pytest.raises(FileError, match=r"no such file|no paragraphs in this folder"):
        read(tmp_path / name)


@pytest.mark.parametrize("corpus", ["simplewiki_2017", "enwiki_science", "openstax_ccby"])
def test_real_corpora(data, corpus):
    path = data / "wikipedia" / corpus
    first = list(islice(read_paragraphs([path]), 2000))
    assert len(first) == 2000
    assert all(p.title and len(p.text.split()) >= 20 for p in first)
