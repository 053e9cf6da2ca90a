import json

import pytest

from koala.errors import KoalaError
from koala.grid import Grid, Row
from koala.settings import DecoderSettings, Settings
from koala.tasks import PROPARA, RECIPES, RECIPES_CHANGES, find_task

from ..decoding.test_viterbi import build_output

NAMES = ("?", "bowl", "pan")
ENTITIES = ("flour", "milk")
GRID = Grid(
    "7",
    ("Mix.", "Pour."),
    (
        Row.from_locations("flour", ["-", "bowl", "pan"]),
        Row.from_locations("milk", ["-", "bowl", "bowl"]),
    ),
)


@pytest.mark.parametrize(
    ("corpus", "tags", "task"),
    [
        ("propara", "changes", PROPARA),
        ("written", "changes", PROPARA),
        ("recipes", "participation", RECIPES),
        ("recipes", "changes", RECIPES_CHANGES),
    ],
)
def test_find_task(corpus, tags, task):
    settings = Settings(corpus=corpus, decoder=DecoderSettings(tags=tags))
    assert find_task(settings) is task
    assert ("mbr" in task.decodings) == settings.has_mbr


@pytest.mark.parametrize(
    ("task", "decodings"),
    [
        (PROPARA, ("viterbi", "mbr", "repair", "presence")),
        (RECIPES, ("viterbi", "mbr")),
        (RECIPES_CHANGES, ("viterbi", "repair", "presence")),
    ],
)
def test_every_decoding_gives_consistent_rows(task, decodings):
    assert task.decodings == decodings
    output = build_output(0, 3)
    viterbi = task.decode(output, ENTITIES, NAMES, "viterbi")
    for decoding in decodings:
        rows = (
            task.decode_mbr(output, viterbi, NAMES, {})
            if decoding == "mbr"
            else task.decode(output, ENTITIES, NAMES, decoding)
        )
        assert tuple(row.name for row in rows) == ENTITIES
        assert all(row.problem is None and len(row.steps) == 3 for row in rows)


def test_recipes_with_tags_of_changes_refuse_mbr():
    output = build_output(0, 3)
    rows = RECIPES_CHANGES.decode(output, ENTITIES, NAMES, "viterbi")
    with pytest.raises(KoalaError, match=r'needs a model with decoder\.tags = "participation"'):
        RECIPES_CHANGES.decode_mbr(output, rows, NAMES, {})


@pytest.mark.parametrize("task", [PROPARA, RECIPES, RECIPES_CHANGES])
def test_gold_scores_perfectly_against_itself(task):
    assert task.score([GRID], [GRID]).overall.f1 == 1


def test_propara_is_written_as_tsv():
    suffix, text = PROPARA.write([GRID, GRID])
    assert suffix == ".tsv"
    assert text == GRID.to_tsv() * 2


@pytest.mark.parametrize("task", [RECIPES, RECIPES_CHANGES])
def test_recipes_are_written_as_json_lines(task):
    suffix, text = task.write([GRID])
    assert suffix == ".jsonl"
    assert json.loads(text) == {
        "para_id": "7",
        "participants": ["flour", "milk"],
        "locations": [["-", "bowl", "pan"], ["-", "bowl", "bowl"]],
    }
