"""ProPara's released CSV files."""

import pytest

from koala.corpora import propara as corpus
from koala.corpora.leaderboard import read_leaderboard
from koala.errors import FileError


def test_csv_files_and_leaderboard_have_the_same_grids(propara):
    released = corpus.read_released(propara / "csv").splits
    leaderboard = read_leaderboard(propara / "leaderboard").splits
    for split in ("train", "dev"):
        by_id = {example.procedure.id: example for example in leaderboard[split]}
        assert len(by_id) == len(released[split])
        for example in released[split]:
            other = by_id[example.procedure.id]
            assert example.gold.steps == other.gold.steps
            assert sorted((row.name, row.locations) for row in example.gold.rows) == sorted(
                (row.name, row.locations) for row in other.gold.rows
            )


def test_the_whole_corpus_has_questions_and_entities_of_test(propara):
    splits = corpus.read(propara).splits
    assert {split: len(examples) for split, examples in splits.items()} == {
        "train": 391,
        "dev": 43,
        "test": 54,
    }
    assert all(e.procedure.question and e.procedure.entities for s in splits.values() for e in s)
    assert all(example.gold is None for example in splits["test"])


BLOCK = """1,SID,PARTICIPANTS,water,ice
1,,PROMPT: How does ice form?,-=====,-=====
1,state1,,lake,-
1,event1,The lake freezes.,,
1,state2,,-,lake
"""


def write_release(folder, annotations: str, partition: str = "Partition,Paragraph ID\ntrain,1\n"):
    (folder / "State_change_annotations.csv").write_text(annotations)
    (folder / "Train_Dev_Test.csv").write_text(partition)
    (folder / "Paragraphs.csv").write_text("Topic,Prompt,Paragraph ID,Sentence1\nice,How?,2,It.\n")


def test_a_small_release_is_read(tmp_path):
    write_release(tmp_path, BLOCK)
    (example,) = corpus.read_released(tmp_path).splits["train"]
    assert example.procedure.question == "How does ice form?"
    assert example.gold["ice"].locations == ("-", "lake")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("1,state2", "1,state3", "line 5: expected row state2, got 'state3'"),
        ("1,event1", "1,event2", "line 4: expected row event1, got 'event2'"),
        ("1,state1,,lake,-", "1,state1,,lake,", "line 3: the location of 'ice' is empty"),
        ("1,state2,,-,lake\n", "", "1 events and 1 states"),
        ("1,SID,PARTICIPANTS,water,ice\n", "", "line 1: expected a row with SID .*, got ''"),
        (
            "1,event1,The lake freezes.,,",
            "2,event1,The lake freezes.,,",
            "row of paragraph '1', got one of '2'",
        ),
        ("The lake freezes.", '"The lake freezes.', "comma-separated"),
    ],
)
def test_an_invalid_release_is_rejected(tmp_path, old, new, problem):
    write_release(tmp_path, BLOCK.replace(old, new))
    with pytest.raises(FileError, match=problem):
        corpus.read_released(tmp_path)


def test_unknown_splits_and_paragraphs_without_text_are_rejected(tmp_path):
    write_release(tmp_path, BLOCK, "Partition,Paragraph ID\nvalid,1\n")
    with pytest.raises(FileError, match="train, dev, test"):
        corpus.read_released(tmp_path)
    write_release(tmp_path, BLOCK, "Partition,Paragraph ID\ndev,3\n")
    with pytest.raises(FileError, match="paragraph 3 of dev"):
        corpus.read_released(tmp_path)
