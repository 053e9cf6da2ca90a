"""Checked against hand-written dumps in the official format, and a plain dictionary of triples."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from koala.cli.knowledge_store import build_cli, stats_cli
from koala.errors import FileError, KoalaError
from koala.knowledge import blocks, conceptnet, lines, sorting
from koala.knowledge.conceptnet import build_store
from koala.knowledge.store import Store
from koala.knowledge.triple import RELATIONS, Triple
from koala.text.nlp import stem_content


def assertion(relation, start, end, weight=1.0, **data):
    """Return a line of the official dump."""
    data = {"dataset": "/d/conceptnet/4/en", "license": "cc:by/4.0", **data, "weight": weight}
    name = f"/a/[/r/{relation}/,{start}/,{end}/]"
    return f"{name}\t/r/{relation}\t{start}\t{end}\t{json.dumps(data)}\n"


DUMP = (
    assertion("AtLocation", "/c/en/bone", "/c/en/animal", 2.828, surfaceText="[[a bone]] is in…")
    + assertion("AtLocation", "/c/fr/os", "/c/fr/animal", 2.0)
    + assertion("Antonym", "/c/en/hot/a", "/c/en/cold/a", 4.472)
    + assertion("HasA", "/c/en/animal", "/c/en/bone", 1.0)
    + assertion("IsA", "/c/en/plant/n/wn/plant", "/c/en/living_thing/n", 2.0)
    + assertion("RelatedTo", "/c/en/carbon_dioxide", "/c/en/gas/n", 1.441)
    + assertion("RelatedTo", "/c/fr/eau", "/c/en/water", 1.0)
    + assertion("RelatedTo", "/c/en/water", "/c/de/wasser", 1.0)
    + assertion("RelatedTo", "/c/en_gb/water", "/c/en/rain", 1.0)
    + assertion("FormOf", "/c/en/bones", "/c/en/bone", 1.0)
    + assertion("ExternalURL", "/c/en/bone", "http://dbpedia.org/resource/Bone", 1.0)
    + assertion("Synonym", "/c/en/bone", "http://dbpedia.org/resource/Bone", 1.0)
    + assertion("IsA", "/c/en/person", "/c/en/mammal", 9.0)
    + assertion("IsA", "/c/en/tool", "/c/en/object", 9.0)
    + assertion("HasA", "/c/en/persons", "/c/en/arms", 1.0)
    + assertion("DerivedFrom", "/c/en/planted/v", "/c/en/plants/v", 1.0)
    + assertion("RelatedTo", "/c/en/sense/s", "/c/en/good_to/r/wn", 0.5)
)
TRIPLES = {
    Triple("bone", "AtLocation", "animal", 3.328),
    Triple("hot", "Antonym", "cold", 4.172, False, "a", "a"),
    Triple("animal", "HasA", "bone", 1.0),
    Triple("plant", "IsA", "living thing", 2.0, False, "n", "n"),
    Triple("carbon dioxide", "RelatedTo", "gas", 1.141, False, None, "n"),
    Triple("persons", "HasA", "arms", 1.0),
    Triple("sense", "RelatedTo", "good to", 0.2, False, "a", "r"),
}


def build(folder, *texts, name="source", **options):
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{name}-{number}")
        paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    build_store(paths, folder / "out.store", **options)
    return read(folder / "out.store")


def read(path):
    with Store.open(path) as store:
        triples = list(store)
    assert len(set(triples)) == len(triples)
    return set(triples)


def refuse(folder, text, *, older=True, **options):
    """Assert that a file raises an error and that nothing is left behind or changed."""
    output = folder / "out.store"
    if older:
        output.write_bytes(b"an older store")
    with pytest.raises(FileError) as caught:
        build(folder, text, **options)
    assert [path.name for path in sorted(folder.iterdir()) if "source" not in path.name] == (
        ["out.store"] if older else []
    )
    assert not older or output.read_bytes() == b"an older store"
    return caught.value


def test_the_official_dump(tmp_path):
    assert build(tmp_path, DUMP) == TRIPLES


def test_statistics(tmp_path):
    build(tmp_path, DUMP)
    statistics = Store.open(tmp_path / "out.store").statistics()
    concepts = {text for triple in TRIPLES for text in (triple.head, triple.tail)}
    assert (statistics.triples, statistics.concepts) == (7, len(concepts))
    assert statistics.relations["RelatedTo"] == statistics.relations["HasA"] == 2
    assert statistics.estimates == 0
    (source,) = statistics.sources
    assert (source.name, source.lines, source.kept) == ("source-0", 17, 7)


@pytest.mark.parametrize(
    "change",
    [
        gzip.compress,
        lambda raw: gzip.compress(raw[:500]) + gzip.compress(raw[500:]),
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.rstrip(b"\n"),
        lambda raw: b"\n" + raw.replace(b"\n", b"\n\n"),
    ],
    ids=["gzip", "gzip members", "Windows line ends", "byte-order mark", "no last end", "blanks"],
)
def test_the_same_dump_in_other_encodings(tmp_path, change):
    assert build(tmp_path, change(DUMP.encode())) == TRIPLES


@pytest.mark.parametrize("block", [7, 64, 1000, 1 << 20])
def test_blocks_end_anywhere(tmp_path, monkeypatch, block):
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    monkeypatch.setattr(lines, "_READ_BYTES", block)
    assert build(tmp_path, DUMP) == TRIPLES
    assert build(tmp_path, gzip.compress(DUMP.encode())) == TRIPLES


def test_blocks_of_a_highly_compressed_file_stay_small(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 100)
    many = DUMP.encode() * 3000
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(many))
    assert b"".join(block.data for block in lines.read_blocks(path)) == many
    assert max(len(block.data) for block in lines.read_blocks(path)) < 1000


def test_duplicates_keep_the_largest_weight_and_the_noun(tmp_path):
    dump = (
        assertion("IsA", "/c/en/bone", "/c/en/tissue/n", 1.0)
        + assertion("IsA", "/c/en/bone/n", "/c/en/tissue", 2.0)
        + assertion("IsA", "/c/en/bone/v", "/c/en/tissue", 0.5)
        + assertion("IsA", "/c/en/water/v", "/c/en/pour/v", 1.0)
        + assertion("IsA", "/c/en/water", "/c/en/pour/v", 0.5)
    )
    assert build(tmp_path, dump) == {
        Triple("bone", "IsA", "tissue", 2.0, False, "n", "n"),
        Triple("water", "IsA", "pour", 1.0, False, None, "v"),
    }


def test_a_given_weight_is_preferred_to_an_estimate(tmp_path):
    dump = assertion("IsA", "/c/en/bone/n", "/c/en/tissue", 0.5)
    table = "head\trelation\ttail\tin_wordnet31\nbone\tIsA\ttissue\t1\nbone\tIsA\torgan\t1\n"
    expected = {
        Triple("bone", "IsA", "tissue", 0.5, False, "n", None),
        Triple("bone", "IsA", "organ", 1.82, True),  # of WordNet, without votes
    }
    assert build(tmp_path, dump, table) == expected
    assert build(tmp_path, table, dump) == expected


MERGED = """\
head\trelation\ttail\treal_cn5_weight\tin_wordnet31\tcn4_votes\tsources
bone\tIsA\tone\t3.464\t1\t5\tcsrl
bone\tIsA\ttwo\t\t1\t5\tcn56npm
bone\tIsA\tthree\t\t0\t1\tcn56npm|koala
bone\tIsA\tfour\t\t0\t2\tkoala
bone\tIsA\tfive\t\t0\t3\ttwc
bone\tIsA\tsix\t\t0\t10\ttwc|koala
bone\tIsA\tseven\t\t0\t\ttwc
bone\tRelatedTo\teight\t\t0\t0\tkoala
bone\tAtLocation\tnine\t1.5\t0\t\tkoala
bone\tgenre\tten\t9\t0\t\ttwc
Bone_Marrow\tisa\t tissue \t2\t0\t\ttwc
"""
MERGED_WEIGHTS = {
    "one": (3.464, False),
    "two": (2.63, True),
    "three": (1.0, True),
    "four": (1.41, True),
    "five": (1.89, True),
    "six": (3.7, True),  # as for seven votes
    "seven": (1.07, True),
    "eight": (0.7, True),  # 1.0 − 0.3
    "nine": (2.0, False),
    "tissue": (2.0, False),
}


def test_missing_weights_are_estimated_and_marked(tmp_path):
    triples = build(tmp_path, MERGED)
    # Some tails are stop words; they are stored all the same, since their stems differ from "bone".
    assert {t.tail: (t.weight, t.is_estimate) for t in triples} == MERGED_WEIGHTS
    assert {t.head for t in triples} == {"bone", "bone marrow"}


def test_relatedto_with_votes_may_be_exact(tmp_path):
    rows = "bone\tRelatedTo\ttissue\t\t0\t1\ttwc\nbone\tRelatedTo\tmud\t\t0\t\ttwc\n"
    header = MERGED.split("\n", 1)[0]
    triples = build(tmp_path, f"{header}\n{rows}")
    assert {t.tail: t.weight for t in triples} == {"tissue": 1.0, "mud": 0.7}


def test_a_table_may_give_its_own_estimates(tmp_path):
    table = "head\trelation\ttail\testimated_weight\nbone\tIsA\ttissue\t1.25\n"
    assert build(tmp_path, table) == {Triple("bone", "IsA", "tissue", 1.25, True)}


def test_rows_of_excluded_sources_are_left_out(tmp_path):
    triples = build(tmp_path, MERGED, exclude_sources={"koala"})
    assert {t.tail for t in triples} == set(MERGED_WEIGHTS) - {"four", "eight", "nine"}
    triples = build(tmp_path, MERGED, exclude_sources={"koala", "twc"})
    assert {t.tail for t in triples} == {"one", "two", "three"}


def test_a_table_without_a_header(tmp_path):
    table = "bone\tIsA\ttissue\t2.5\nbone\t/r/PartOf\t/c/en/animal/n\nbone\tgenre\trock\n"
    assert build(tmp_path, table) == {
        Triple("bone", "IsA", "tissue", 2.5),
        Triple("bone", "PartOf", "animal", 1.0, True, None, "n"),
    }


def test_json_lines(tmp_path):
    text = """\
{"rel":"AtLocation","start":"Dinosaur Bone","end":"Museum"}
{"rel":"IsA","start":"/c/en/bone/n","end":"/c/en/tissue","weight":2}
{"rel":"IsA","start":"/c/fr/os","end":"/c/en/tissue","weight":2}
{"rel":"dbpedia/genre","start":"Alchemist","end":"Quest"}
"""
    assert build(tmp_path, text) == {
        Triple("dinosaur bone", "AtLocation", "museum", 1.5, True),
        Triple("bone", "IsA", "tissue", 2.0, False, "n", None),
    }


def test_several_sources_are_merged(tmp_path):
    found = build(tmp_path, DUMP, MERGED, gzip.compress(b'{"rel":"IsA","start":"a1","end":"b1"}'))
    alone = [build(tmp_path, text) for text in (DUMP, MERGED)]
    assert found == alone[0] | alone[1] | {Triple("a1", "IsA", "b1", 1.0, True)}


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.97, 0.999])
def test_a_truncated_gzip_file_is_refused(tmp_path, share):
    raw = gzip.compress(DUMP.encode() * 200)
    error = refuse(tmp_path, raw[: int(len(raw) * share)])
    assert "truncated" in error.problem


def test_a_damaged_gzip_file_is_refused(tmp_path):
    raw = bytearray(gzip.compress(random.Random(0).randbytes(50) + DUMP.encode()))
    raw[-8] ^= 1  # the checksum
    assert "damaged" in refuse(tmp_path, bytes(raw)).problem
    assert "damaged" in refuse(tmp_path, gzip.compress(DUMP.encode()) + b"rubbish").problem


@pytest.mark.parametrize(
    "text",
    [
        b"",
        gzip.compress(b"", mtime=0),
        b"\n\n",
        b"The quick brown fox.\n" * 10,
        b"id,name\n1,bone\n",
        b"head,relation,tail\nbone,IsA,tissue\n",
        b"\x89PNG\r\n\x1a\n" + bytes(5000),
        bytes(3 << 20),
        b'{"name": "bone"}\n',
        b"bone\ttissue\n",
        b"IsA\tbone\ttissue\n",
    ],
)
def test_an_unrelated_file_is_refused(tmp_path, text):
    refuse(tmp_path, text, older=False)


@pytest.mark.parametrize(
    "text",
    [
        assertion("IsA", "/c/fr/os", "/c/fr/tissu"),
        assertion("FormOf", "/c/en/bones", "/c/en/bone"),
        assertion("IsA", "/c/en/person", "/c/en/mammal"),
        '{"rel":"genre","start":"a","end":"b"}\n',
        "head\trelation\ttail\n",
    ],
)
def test_a_file_without_usable_assertions_is_refused(tmp_path, text):
    assert "no usable assertions" in refuse(tmp_path, text).problem
    # Also after a file that has some.
    (tmp_path / "good").write_text(DUMP)
    (tmp_path / "bad").write_text(text)
    with pytest.raises(FileError, match="no usable assertions") as caught:
        build_store([tmp_path / "good", tmp_path / "bad"], tmp_path / "other.store")
    assert caught.value.path == str(tmp_path / "bad")
    assert not (tmp_path / "other.store").exists()


GOOD = assertion("IsA", "/c/en/bone", "/c/en/tissue")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (GOOD[:30] + "\n", "expected five tab-separated columns"),
        (GOOD.replace("\t", "\t\t", 1), "got 6"),
        (GOOD[:-5] + "\n", "damaged"),
        (GOOD.replace("/a/[", "/b/["), "damaged"),
        (GOOD.replace('"weight"', '"height"'), "weight"),
        (GOOD.replace("1.0}", '"1.0"}'), "the weight is '1.0'"),
        (GOOD.replace("1.0}", "NaN}"), "the weight is nan"),
        (GOOD.replace("1.0}", "1.0}}"), "Extra data"),
        (GOOD.replace("{", "{{"), "not JSON"),
        (GOOD.replace("/c/en/bone", "/c/en/b\udcffne"), "UTF-8"),
    ],
)
@pytest.mark.parametrize("before", [3, 9000])
def test_the_error_names_the_damaged_line(tmp_path, broken, message, before):
    raw = (GOOD * before + broken + GOOD).encode("utf-8", "surrogateescape")
    error = refuse(tmp_path, raw)
    assert error.line == before + 1
    assert message in error.problem


def test_a_dump_truncated_in_its_last_line_is_refused(tmp_path):
    for end in range(len(DUMP) - 40, len(DUMP) - 1):
        assert refuse(tmp_path, DUMP[:end]).line == 17


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (MERGED + "bone\tIsA\n", 13, "expected 7 tab-separated columns"),
        (MERGED + "bone\tIsA\tx\theavy\t0\t\tk\n", 13, "the weight is 'heavy'"),
        (MERGED + "bone\tIsA\tx\t\t0\tmany\tk\n", 13, "the number of votes is 'many'"),
        ("bone\tIsA\ttissue\nbone\tIsA\n", 2, "(head, relation, tail), got 2"),
        ("bone\tIsA\ttissue\tinf\n", 1, "the weight is 'inf'"),
        ('{"rel":"IsA","start":"a","end":"b"}\n{"rel":"IsA","start":"a"}\n', 2, "'end' is missing"),
        ('{"rel":"IsA","start":"a","end":"b"}\n{"rel":"IsA","sta\n', 2, "not JSON"),
        ('{"rel":"IsA","start":"a","end":"b"}\n["rel"]\n', 2, "an object"),
        ('{"rel":"IsA","start":"a","end":{"b":1}}\n', 1, "wrong type"),
        ('{"rel":"IsA","start":"a","end":"\\ud83d"}\n', 1, "UTF-8"),
        ('{"rel":"IsA","start":"a","end":"b"}\n' + "[" * 100_000 + "\n", 2, "wrong type"),
    ],
)
def test_damaged_lines_of_tables_and_json(tmp_path, text, line, message):
    error = refuse(tmp_path, text)
    assert error.line == line
    assert message in error.problem


def test_invalid_calls_fail_at_once(tmp_path):
    source = tmp_path / "source.csv"
    source.write_text(DUMP)
    with pytest.raises(KoalaError, match="No source"):
        build_store([], tmp_path / "out.store")
    for output, message in (
        (tmp_path, "folder"),
        (tmp_path / "no" / "out.store", "folder is missing"),
        (source, "would overwrite an input"),
    ):
        with pytest.raises(FileError, match=message):
            build_store([source], output)
    with pytest.raises(FileError, match="no such file"):
        build_store([source, tmp_path / "nowhere"], tmp_path / "out.store")
    assert list(tmp_path.iterdir()) == [source]


def test_a_store_that_is_open_stays_readable_when_its_file_is_replaced(tmp_path):
    build(tmp_path, DUMP)
    with Store.open(tmp_path / "out.store") as older:
        build(tmp_path, MERGED)
        assert set(older) == TRIPLES
    assert {t.tail for t in read(tmp_path / "out.store")} == set(MERGED_WEIGHTS)


def test_the_same_sources_give_the_same_bytes(tmp_path):
    rows = (DUMP * 40).splitlines(keepends=True)
    found = set()
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        build(tmp_path, "".join(rows))
        found.add((tmp_path / "out.store").read_bytes())
    assert len(found) == 1


NAMES = """bone, bones, animal bone, bone animal, rock, rocks, us, people, the, hot rock, hot, be,
    ice cold water, cold water, water ice cold, é, ünder rock"""
names = st.sampled_from([name.strip() for name in NAMES.split(",")])
given_rows = st.lists(
    st.tuples(
        names,
        st.sampled_from([*RELATIONS[:6], "RelatedTo", "Antonym", "FormOf"]),
        names,
        st.sampled_from([None, 0.5, 1.0, 2.828]),
        st.sampled_from(["", "/n", "/v", "/a"]),
        st.sampled_from(["", "/n", "/v"]),
    ),
    min_size=1,
    max_size=60,
)


def build_plainly(rows):
    """Build the expected triples with a dictionary."""
    found = {}
    order = ["n", None, "a", "r", "v"]
    shift = {"RelatedTo": -0.3, "Antonym": -0.3, "AtLocation": 0.5}
    for head, relation, tail, weight, head_pos, tail_pos in rows:
        if relation not in RELATIONS or {head, tail} & {"us", "people"}:
            continue
        if stem_content(head) == stem_content(tail):
            continue
        new = (weight is not None, round((weight or 1.0) + shift.get(relation, 0), 3))
        poses = head_pos[1:] or None, tail_pos[1:] or None
        old, old_poses = found.get((head, relation, tail), (new, poses))
        best = tuple(min(pair, key=order.index) for pair in zip(poses, old_poses, strict=True))
        found[head, relation, tail] = max(new, old), best
    return {
        Triple(*name, weight, not is_given, *poses)
        for name, ((is_given, weight), poses) in found.items()
    }


@given(given_rows)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_rows_give_the_same_triples_as_a_dictionary(tmp_path, monkeypatch, rows):
    # Small runs and blocks, so that small inputs take every path that large files take.
    monkeypatch.setattr(sorting, "RUN_LINES", 5)
    monkeypatch.setattr(sorting, "MAX_RUNS", 3)
    monkeypatch.setattr(blocks, "BLOCK_CHARACTERS", 60)
    monkeypatch.setattr(blocks, "PART_CHARACTERS", 100)
    monkeypatch.setattr(conceptnet, "_CACHE_SIZE", 3)
    rows = [*rows, ("lava", "IsA", "rock", None, "", "")]
    text = "".join(
        json.dumps(
            {
                "rel": relation,
                "start": f"/c/en/{head.replace(' ', '_')}{head_pos}",
                "end": f"/c/en/{tail.replace(' ', '_')}{tail_pos}",
                "weight": weight,
            }
        )
        + "\n"
        for head, relation, tail, weight, head_pos, tail_pos in rows
    )
    expected = build_plainly(rows)
    assert build(tmp_path, text) == expected
    statistics = Store.open(tmp_path / "out.store").statistics()
    assert statistics.triples == len(expected) == sum(statistics.relations.values())
    assert statistics.concepts == len({text for t in expected for text in (t.head, t.tail)})
    assert statistics.estimates == sum(t.is_estimate for t in expected)


def test_progress_of_each_stage_increases_to_its_total(tmp_path):
    reports = []
    raw = gzip.compress((DUMP * 5000).encode())
    build(tmp_path, raw, DUMP, progress=lambda *values: reports.append(values))
    for stage in ("Reading", "Writing"):
        done = [done for name, done, _ in reports if name == stage]
        (total,) = {total for name, _, total in reports if name == stage}
        assert done == sorted(done)
        assert done[-1] == total
    assert len([1 for name, *_ in reports if name == "Reading"]) > 5
    assert reports[0][2] == len(raw) + len(DUMP)


@pytest.mark.skipif(sys.platform == "win32", reason="locks and signals of POSIX")
def test_the_folder_of_a_killed_build_is_removed_by_the_next_build(tmp_path):
    (tmp_path / "source.csv").write_text(DUMP)
    output = tmp_path / "out.store"
    command = f"from koala.knowledge.conceptnet import build_store; build_store(['-'], '{output}')"
    process = subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE)
    try:
        process.stdin.write(DUMP.encode() * 100)
        process.stdin.flush()
        wait_for(lambda: list(tmp_path.glob(".out.store.*/lock")))
        # While it runs, another build of the same file does not touch its folder.
        build_store([tmp_path / "source.csv"], output)
        (left,) = tmp_path.glob(".out.store.*")
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert read(output) == TRIPLES
    assert left.exists()
    build_store([tmp_path / "source.csv"], output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.store", "source.csv"]


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited for half a minute")


def test_a_dash_reads_stdin(tmp_path):
    command = (
        "import sys; from koala.knowledge.conceptnet import build_store; "
        "build_store(['-'], sys.argv[1])"
    )
    raw = gzip.compress(DUMP.encode())
    output = tmp_path / "out.store"
    subprocess.run([sys.executable, "-c", command, str(output)], input=raw, check=True)
    assert read(output) == TRIPLES


@pytest.fixture
def run():
    app = typer.Typer()
    app.command("build")(build_cli)
    app.command("stats")(stats_cli)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_command_line_build_and_stats(tmp_path, run):
    (tmp_path / "source.tsv").write_text(MERGED)
    output = tmp_path / "out.store"
    done = run("build", tmp_path / "source.tsv", "-o", output, "--exclude-source", "koala")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert "7 triples" in done.stderr
    counted = json.loads(run("stats", "--store", output, "--json").stdout)
    assert counted["triples"] == 7
    assert counted["relations"] == {"IsA": 7}
    assert counted["estimated_share"] == round(5 / 7, 4)
    assert counted["sources"] == [{"name": "source.tsv", "lines": 12, "kept": 7}]
    assert "IsA" in run("stats", "--store", output).stdout


def test_the_command_line_raises_the_same_errors(tmp_path, run):
    done = run("build", tmp_path / "nowhere.csv", "-o", tmp_path / "out.store")
    assert isinstance(done.exception, FileError)
    assert list(tmp_path.iterdir()) == []


def test_a_sample_of_the_real_file(data, tmp_path):
    with gzip.open(data / "conceptnet" / "conceptnet_en_merged.tsv.gz", "rt", "utf-8") as file:
        header, *rows = file
    means = _find_mean_weights(rows)
    rows = rows[::40]
    triples = build(tmp_path, "".join([header, *rows]))
    real, estimated = {}, {}
    shift = {"RelatedTo": -0.3, "Antonym": -0.3, "AtLocation": 0.5}
    for row in rows:
        head, relation, tail, weight, wordnet, votes, _ = row.rstrip("\n").split("\t")
        if relation not in RELATIONS or {head, tail} & conceptnet.DROPPED:
            continue
        if stem_content(head) == stem_content(tail):
            continue
        if weight:
            real[head, relation, tail] = float(weight) + shift.get(relation, 0)
        elif relation == "RelatedTo":
            estimated[head, relation, tail] = 1.0 if votes else 0.7
        else:
            mean = means[wordnet, min(int(votes or 0), 7)]
            estimated[head, relation, tail] = mean + shift.get(relation, 0)
    found = {(t.head, t.relation, t.tail): t for t in triples}
    assert found.keys() == real.keys() | estimated.keys()
    assert {name: found[name].weight for name in real} == pytest.approx(real, abs=0.0006)
    assert {name: found[name].weight for name in estimated} == pytest.approx(estimated, abs=0.0051)
    assert {name for name, triple in found.items() if triple.is_estimate} == estimated.keys()
    assert len(found) > 10_000
    assert real


def _find_mean_weights(rows):
    """Give the mean of the real weights by WordNet and votes, as `koala.knowledge.weights` has."""
    weights = defaultdict(list)
    for row in rows:
        _, relation, _, weight, wordnet, votes, sources = row.rstrip("\n").split("\t")
        if weight and relation != "RelatedTo" and sources != "koala":
            weights[wordnet, min(int(votes or 0), 7)].append(float(weight))
    return {cell: geometric_mean(values) for cell, values in weights.items()}


def test_paths_may_be_strings(tmp_path):
    path = tmp_path / "source"
    path.write_text(DUMP)
    build_store([str(path)], os.fspath(tmp_path / "out.store"))
    assert read(Path(tmp_path / "out.store")) == TRIPLES
