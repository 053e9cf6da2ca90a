"""Checked against a scan over all triples, one by one."""

import gzip
import multiprocessing
import os
import pickle
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from koala.cache import BoundedCache
from koala.errors import FileError
from koala.knowledge import blocks
from koala.knowledge.conceptnet import build_store
from koala.knowledge.store import BUNDLED_STORE, Store, build_key
from koala.knowledge.triple import EITHER_SIDE
from koala.text.nlp import stem_content

ROWS = """\
bone\tIsA\tpart of animal\t2.0
animal\tHasA\tbone\t1.5
bones\tAtLocation\tmuseum\t1.0
museum\tUsedFor\tbone\t1.0
carbon\tIsA\telement\t3.0
carbon dioxide\tIsA\tgas\t2.0
carbon dioxide gas\tCapableOf\trise\t1.0
solid carbon dioxide ice\tIsA\tsolid\t1.0
dry solid carbon dioxide ice\tIsA\tsolid\t1.0
dioxide of carbon\tRelatedTo\tcarbon\t2.0
co2\tSynonym\tcarbon dioxide\t1.0
"""


def build(folder, text, name="small"):
    path = folder / f"{name}.tsv"
    path.write_text(text, "utf-8")
    build_store([path], folder / f"{name}.store")
    return Store.open(folder / f"{name}.store")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return build(tmp_path_factory.mktemp("small"), ROWS)


def find(store, *names):
    found = store.find_neighbours([stem_content(name) for name in names])
    return [(n.triple.head, n.triple.relation, n.triple.tail, n.entity_side) for n in found]


def scan(triples, *names):
    """Find the triples of an entity by looking at every triple."""
    found = {}
    for triple in triples:
        sides = [("head", triple.head, triple.head_pos)]
        if triple.relation in EITHER_SIDE:
            sides.append(("tail", triple.tail, triple.tail_pos))
        for side, concept, pos in sides:
            best = max(compare(name, concept) for name in names)
            if pos in (None, "n") and best > found.get(triple, (0, ""))[0]:
                found[triple] = best, side
    found = sorted(found.items(), key=lambda f: (-f[0].weight, f[0].head, f[0].relation, f[0].tail))
    return [(triple, side) for triple, (_, side) in found]


def compare(name, concept):
    """Return the Jaccard similarity if it suffices for a match, else 0."""
    wanted, stems = set(stem_content(name)), set(stem_content(concept))
    if not wanted:
        return 0
    similarity = len(wanted & stems) / len(wanted | stems)
    return similarity if similarity >= (1 if len(wanted) == 1 else 0.5) else 0


def test_one_word_matches_equal_stems_only(small):
    assert find(small, "Bones") == [
        ("bone", "IsA", "part of animal", "head"),
        ("animal", "HasA", "bone", "tail"),
        ("bones", "AtLocation", "museum", "head"),
    ]


def test_a_phrase_matches_concepts_that_share_half_of_the_stems(small):
    assert find(small, "carbon dioxide") == [
        ("carbon", "IsA", "element", "head"),  # 1 of 2
        ("carbon dioxide", "IsA", "gas", "head"),
        ("dioxide of carbon", "RelatedTo", "carbon", "head"),  # both sides match; returned once
        ("carbon dioxide gas", "CapableOf", "rise", "head"),  # 2 of 3
        ("co2", "Synonym", "carbon dioxide", "tail"),
        ("solid carbon dioxide ice", "IsA", "solid", "head"),  # 2 of 4, and not 2 of 5
    ]


def test_aliases_give_the_union_of_their_triples(small):
    both = find(small, "bone", "museum")
    assert set(both) == {*find(small, "bone"), *find(small, "museum")}
    assert len(both) == len(set(both)) == 4
    assert find(small, "bone", "bones", "bone") == find(small, "bone")


def test_the_neighbour_is_the_other_end(small):
    _, has_a, _ = small.find_neighbours([("bone",)])
    assert (has_a.concept, has_a.text, has_a.side) == ("bone", "animal", "head")
    assert has_a.stems == ("anim",)


def test_unknown_and_empty_aliases_have_no_triples(small):
    assert (
        small.find_neighbours([])
        == small.find_neighbours([()])
        == small.find_neighbours([("unheard",)])
        == []
    )
    assert small.find_neighbours([("un", "heard")]) == []


def test_a_string_is_not_a_sequence_of_stems(small):
    with pytest.raises(TypeError, match="sequence of stems"):
        small.find_neighbours(["bone"])


def test_a_concept_tagged_as_a_verb_is_not_matched(tmp_path):
    store = build(
        tmp_path,
        "/c/en/water/v\tIsA\tact\n/c/en/water/n\tIsA\tliquid\n/c/en/rain\tRelatedTo\t/c/en/water/v\n",
    )
    assert find(store, "water") == [("water", "IsA", "liquid", "head")]
    assert find(store, "rain") == [("rain", "RelatedTo", "water", "head")]
    assert {triple.tail for triple in store} == {"act", "liquid", "water"}


stems = st.text("abc", min_size=1, max_size=3)


@given(st.dictionaries(stems, st.lists(st.text("xyz\té", min_size=1), min_size=1, max_size=9)))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_blocks_return_what_was_written(tmp_path, monkeypatch, groups):
    # So small that groups share a block, have their own, or have several.
    monkeypatch.setattr(blocks, "BLOCK_CHARACTERS", 12)
    monkeypatch.setattr(blocks, "PART_CHARACTERS", 20)
    path = tmp_path / "blocks"
    path.unlink(missing_ok=True)
    connection = blocks.create(path)
    entries = [(key, line) for key, lines in sorted(groups.items()) for line in lines]
    blocks.write_blocks(connection, "words", entries)
    blocks.seal(connection, path, {"a": "b"})
    file = blocks.BlockFile(path)
    for key in [*groups, "", "a", "b", "bb", "c", "cccc", "d"]:
        assert file.find("words", key) == groups.get(key, [])
    read = file.read_groups("words")
    assert [(key, line) for key, lines in read for line in lines] == entries
    assert file.read_metadata() == {"a": "b"}
    file.close()


words = st.sampled_from(["bone", "bones", "rock", "hot", "ice", "the", "of", "sand", "é"])
concepts = st.lists(words, min_size=1, max_size=5).map(" ".join)
tags = st.sampled_from(["", "", "/n", "/v"])


@given(
    rows=st.lists(
        st.tuples(concepts, tags, st.sampled_from(["IsA", "PartOf", "RelatedTo"]), concepts, tags),
        max_size=40,
    ),
    names=st.lists(concepts, min_size=1, max_size=3),
)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_stores_agree_with_a_scan(tmp_path, monkeypatch, rows, names):
    monkeypatch.setattr(blocks, "BLOCK_CHARACTERS", 40)
    monkeypatch.setattr(blocks, "PART_CHARACTERS", 90)
    text = "lava\tIsA\trock\n" + "".join(
        f"/c/en/{head.replace(' ', '_')}{tag}\t{relation}\t/c/en/{tail.replace(' ', '_')}{other}\n"
        for head, tag, relation, tail, other in rows
    )
    store = build(tmp_path, text)
    found = [
        (n.triple, n.entity_side) for n in store.find_neighbours([stem_content(n) for n in names])
    ]
    assert found == scan(list(store), *names)


@pytest.fixture(scope="module")
def real(data, tmp_path_factory):
    """Return a store of a part of the real triples."""
    with gzip.open(data / "conceptnet" / "conceptnet_en_merged.tsv.gz", "rt", "utf-8") as file:
        header, *rows = file
    wanted = ("water", "carbon", "plant", "rock", "magma", "energy", "soil", "oil", "bone")
    chosen = [r for n, r in enumerate(rows) if n % 80 == 0 or any(word in r for word in wanted)]
    return build(tmp_path_factory.mktemp("real"), "".join([header, *chosen]), "real")


def test_real_entities_agree_with_a_scan(real):
    triples = list(real)
    assert len(triples) > 15_000
    for names in (
        ["bones"],
        ["carbon dioxide"],
        ["water"],
        ["plants", "animals"],
        ["molten rock", "magma"],
        ["sea water vapor"],
        ["chemical energy of the plant"],
        ["fossil fuel"],
    ):
        found = real.find_neighbours([stem_content(name) for name in names])
        assert [(n.triple, n.entity_side) for n in found] == scan(triples, *names)
        assert found


def test_threads_can_share_a_store(real):
    names = [("bone",), ("carbon", "dioxid"), ("magma",), ("rock",), ("unheard",)] * 10
    alone = [real.find_neighbours([name]) for name in names]
    barrier = threading.Barrier(8)
    real._known.clear()

    def look(_):
        barrier.wait()
        return [real.find_neighbours([name]) for name in names]

    with ThreadPoolExecutor(8) as pool:
        assert all(found == alone for found in pool.map(look, range(8)))


def _look(store):
    return [(n.triple, n.side) for n in store.find_neighbours([("bone",)])]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_use_the_store_of_its_parent(small):
    expected = _look(small)
    inherited = small._file._connection
    receive, send = os.pipe()
    if os.fork() == 0:
        try:
            small._known.clear()
            found = _look(small)
            assert small._file._connection is not inherited
            os.write(send, pickle.dumps(found))
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as file:
        assert pickle.loads(file.read()) == expected
    os.wait()
    assert _look(small) == expected


def test_a_spawned_process_opens_the_store_again(small):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_look_at, [small.path] * 4) == [_look(small)] * 4
    assert _look(pickle.loads(pickle.dumps(small))) == _look(small)


def _look_at(path):
    with Store.open(path) as store:
        return _look(store)


def test_the_signature_depends_on_the_contents_only(tmp_path, small):
    again = build(tmp_path, "".join(reversed(ROWS.splitlines(keepends=True))), "again")
    other = build(tmp_path, ROWS.replace("3.0", "3.1"), "other")
    assert again.signature == small.signature != other.signature
    assert len(small.signature) == 12


def write_header(path, offset, value):
    raw = bytearray(path.read_bytes())
    raw[offset : offset + 4] = struct.pack(">I", value)
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "no such store"),
        (lambda path: path.write_bytes(b""), "not a knowledge store"),
        (lambda path: path.write_text("head\trelation\ttail\n" * 99), "not a knowledge store"),
        (lambda path: path.write_bytes(path.read_bytes()[:-4096]), "bytes, "),
        (lambda path: path.write_bytes(path.read_bytes()[:50]), "not a knowledge store"),
        (lambda path: write_header(path, 60, 99), "format 99, this version of koala reads format"),
        (lambda path: write_header(path, 68, 7), "but not a knowledge store"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read"),
    ],
)
def test_files_that_are_not_stores_are_refused(tmp_path, small, change, message):
    path = tmp_path / "copy.store"
    shutil.copy(small.path, path)
    change(path)
    with pytest.raises(FileError, match=message):
        Store.open(path)


def test_another_database_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "other.store") as connection:
        connection.execute("CREATE TABLE triples (head, relation, tail)")
    connection.close()
    with pytest.raises(FileError, match="not a knowledge store"):
        Store.open(tmp_path / "other.store")


def test_a_damaged_store_raises_an_error(tmp_path, small):
    path = tmp_path / "copy.store"
    raw = bytearray(small.path.read_bytes())
    start = raw.index(b"x\x9c")  # zlib's magic bytes
    raw[start + 8 : start + 60] = bytes(52)
    path.write_bytes(raw)
    with Store.open(path) as store, pytest.raises(FileError, match="damaged"):
        list(store)


def test_which_store_is_opened(tmp_path, monkeypatch, small):
    monkeypatch.delenv("KOALA_STORE", raising=False)
    assert Store.open().path == BUNDLED_STORE
    monkeypatch.setenv("KOALA_STORE", str(small.path))
    assert Store.open().path == small.path
    assert Store.open(BUNDLED_STORE).path == BUNDLED_STORE
    monkeypatch.setenv("KOALA_STORE", str(tmp_path / "nowhere"))
    with pytest.raises(FileError, match=r"nowhere.*KOALA_STORE"):
        Store.open()


@pytest.fixture(scope="module")
def pack():
    return Store.open(BUNDLED_STORE)


def test_the_bundled_store_is_small_and_complete(pack):
    assert BUNDLED_STORE.stat().st_size <= 12_000_000
    statistics = pack.statistics()
    assert statistics.triples > 450_000
    assert statistics.estimates == statistics.triples


def test_the_bundled_store_can_be_read_only(tmp_path, pack):
    path = tmp_path / "pack.store"
    shutil.copy(pack.path, path)
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with Store.open(path) as store:
            assert store.find_neighbours([("bone",)]) == pack.find_neighbours([("bone",)])
        assert list(tmp_path.iterdir()) == [path]
    finally:
        tmp_path.chmod(0o755)


def test_the_bundled_store_has_the_triples_of_the_papers_first_figure(pack):
    found = find(pack, "bones")
    assert ("bone", "IsA", "part of animal", "head") in found
    assert ("bone", "AtLocation", "animal", "head") in found


def test_the_keys_of_the_bundled_store_are_current_stems(pack):
    groups = [group for n, group in enumerate(pack._file.read_groups("triples")) if n % 60 == 0]
    assert len(groups) > 3000
    for key, lines in groups:
        for line in lines:
            assert build_key(stem_content(line.split("\t")[0])) == key


def test_the_bundled_store_holds_all_of_conceptnets_subset(data, pack):
    name = "conceptnet-5.6.0-english-commonsense.ndjson.gz"
    with gzip.open(data / "conceptnet" / name, "rt", encoding="utf-8") as file:
        rows = file.readlines()
    dropped = {"uk", "us", "take", "make", "object", "person", "people"}
    checked = 0
    for row in random.Random(5).sample(rows, 1500):
        _, _, _, relation, _, _, _, head, _, _, _, tail, _ = row.split('"')
        head, tail = head.lower(), tail.lower()
        is_kept = (
            relation in pack.statistics().relations
            and not {head, tail} & dropped
            and stem_content(head) != stem_content(tail)
        )
        found = _name(n.triple for n in pack.find_neighbours([stem_content(head)]))
        if stem_content(head):
            assert ((head, relation, tail) in found) == is_kept
            checked += 1
    assert checked > 1400


def test_the_bundled_store_takes_relatedto_from_conceptnet_5_alone(data, pack):
    with gzip.open(data / "conceptnet" / "conceptnet_en_merged.tsv.gz", "rt") as file:
        table = [line.rstrip("\n").split("\t") for line in file]
    related = [row for row in table if row[1] == "RelatedTo"]
    both = {(head, tail) for head, _, tail, *_, sources in related if sources != "koala"}
    found = {(t.head, t.tail): t for t in pack if t.relation == "RelatedTo"}
    allowed = {}
    for head, _, tail, _, _, votes, sources in related:
        if set(sources.split("|")) & {"twc", "csrl"}:
            allowed[head, tail] = bool(votes), (tail, head) in both, "csrl" in sources
    assert found.keys() <= allowed.keys()
    assert len(found) > 20_000
    assert all(any(allowed[name]) for name in found)
    # 1.8 with votes, 1.3 without, less the 0.3 of the relation
    assert all(t.weight == (1.5 if allowed[name][0] else 1.0) for name, t in found.items())


def _name(triples):
    return {(t.head, t.relation, t.tail) for t in triples}


def test_a_lookup_needs_neither_spacy_nor_nltk():
    code = (
        "import sys; from koala.knowledge.store import Store; "
        "assert Store.open().find_neighbours([('bone',)]); "
        "assert not {'spacy', 'nltk'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_cache_of_entities_is_bounded(small, monkeypatch):
    monkeypatch.setattr(small, "_known", BoundedCache(2))
    expected = _look(small)
    for number in range(5):
        small.find_neighbours([(f"entity {number}",)])
        assert len(small._known) <= 2
    first = small.find_neighbours([("bone",)])
    first.clear()
    assert _look(small) == expected


def test_a_store_is_opened_again_when_its_file_changes(small, tmp_path):
    path = tmp_path / "a.store"
    path.write_bytes(small.path.read_bytes())
    first = Store.open_cached(path)
    assert Store.open_cached(path) is first
    os.utime(path, ns=(0, 0))
    assert Store.open_cached(path) is not first
    with pytest.raises(FileError):
        Store.open_cached(tmp_path / "nothing.store")
