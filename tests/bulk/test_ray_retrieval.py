"""Retrieval on Ray gives the same results as retrieval in one process."""

import json

import pytest
from typer.testing import CliRunner

from koala.bulk.ray_retrieval import retrieve_ray, split_files
from koala.cli import app
from koala.document import Procedure, Step
from koala.errors import KoalaError
from koala.pretraining.wikipedia import read_paragraphs, retrieve_paragraphs

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

WORDS = ["water", "root", "ice", "heat", "steam", "cloud", "rain", "sun", "leaf", "iron", "oven"]


def build_text(number: int) -> str:
    # Some texts occur several times, under different titles.
    return " ".join(WORDS[(number % 40) * step % len(WORDS)] for step in range(1, 2 + number % 6))


@pytest.fixture
def corpora(tmp_path):
    folder = tmp_path / "corpora"
    folder.mkdir()
    for name, numbers in (("a", range(300)), ("b", range(200, 230)), ("c", range(9))):
        lines = [f"Title {number * 7 % 31}\t{build_text(number)}\n" for number in numbers]
        (folder / f"{name}.tsv").write_text("".join(lines))
    return folder


@pytest.fixture
def queries():
    texts = ["Rain falls. Water is steam.", "The sun heats the leaf.", "Ice in the oven!"]
    return [Procedure(str(number), (Step(text),)) for number, text in enumerate(texts)]


def test_shards_hold_every_paragraph_once(corpora):
    files = sorted(corpora.iterdir())
    everything = sorted(read_paragraphs(files, least_words=1))
    for n_workers in (1, 2, 3, 16):
        shards = split_files(files, n_workers)
        assert sorted(one for shard in shards for one in shard.read(1)) == everything
        assert sum(shard.n_bytes for shard in shards) == sum(f.stat().st_size for f in files)
        assert len(shards) >= n_workers
    assert max(shard.n_parts for shard in split_files(files, 1)) == 1


@pytest.mark.usefixtures("ray_here")
def test_ray_finds_the_same_paragraphs_as_one_process(corpora, queries):
    told = []
    truth = retrieve_paragraphs(queries, [corpora], k=5, least_words=1)
    found = retrieve_ray(
        queries,
        [corpora],
        k=5,
        least_words=1,
        progress=lambda *numbers: told.append(numbers),
    )
    assert len(truth) == 15
    assert found == truth
    size = sum(file.stat().st_size for file in corpora.iterdir())
    assert told[-1] == (2 * size, 2 * size)


@pytest.mark.usefixtures("ray_here")
def test_a_broken_file_gives_the_same_error_as_in_one_process(corpora, queries):
    (corpora / "d.tsv").write_text("no tab\n")
    messages = []
    for retrieve in (retrieve_paragraphs, retrieve_ray):
        with pytest.raises(KoalaError) as caught:
            retrieve(queries, [corpora])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_the_local_engine_refuses_options_of_ray(tmp_path):
    value = {"name": "one", "sentences": ["melt the butter ."], "participants": ["it"]}
    (tmp_path / "train.jsonl").write_text(json.dumps(value))
    start = ["wikipedia", "retrieve", "--queries", str(tmp_path), "--corpus", "x.tsv"]
    for words in (["--workers", "2"], ["--address", "auto"]):
        done = CliRunner().invoke(app, [*start, *words])
        assert "--engine ray" in str(done.exception)
