import gzip
import json

import pytest

from koala.corpora import read_corpus
from koala.document import Procedure
from koala.errors import FileError
from koala.knowledge.retrieved import choose_retrieved, read_retrieved

PUBLISHED = "isa, plant, plants, n, build_complex, building_complex, n, 2.0, LEFT, RELEVANCE, x"


def test_both_formats_give_the_same_triples(tmp_path):
    published, own = tmp_path / "published.json.gz", tmp_path / "own.jsonl"
    entry = {"id": 4, "entity": "Plants ;animal"}
    published.write_bytes(gzip.compress(json.dumps([{**entry, "cpnet": [PUBLISHED]}]).encode()))
    triple = {"head": "plants", "relation": "IsA", "tail": "building complex", "weight": 2.0}
    own.write_text(json.dumps({**entry, "triples": [triple]}) + "\n")
    found = [read_retrieved(path) for path in (published, own)]
    assert found[0] == found[1]
    procedure = Procedure.from_text("Plants die.", ["plants; animal", "oil"], id="4")
    ((own_triples, none),) = choose_retrieved([procedure], found[0], 10)
    assert none == ()
    (one,) = own_triples
    assert (one.head, one.relation, one.tail, one.weight) == (
        "plants", "IsA", "building complex", 2.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "Not JSON"),
        ("[1]", "expected a JSON object, got 1"),
        ('{"id": 1, "entity": "a", "cpnet": ["isa, plant"]}', "not a file of retrieved triples"),
        (
            '{"id": 1, "entity": "a", "triples": [{"head": "a", "relation": "Eats", "tail": "b"}]}',
            "unknown relation",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, text, problem):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FileError, match=problem):
        read_retrieved(path)


def test_the_published_retrieval_covers_nearly_every_entity_of_propara(data):
    known = read_retrieved(data / "conceptnet" / "reference-retrieval.json.gz")
    for split, missing in (("train", 10), ("dev", 1), ("test", 0)):
        procedures = [e.procedure for e in read_corpus(data / "propara").splits[split]]
        found = choose_retrieved(procedures, known, 10)
        assert sum(not triples for each in found for triples in each) == missing
