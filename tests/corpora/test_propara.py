import pytest

from koala.corpora import propara as corpus
from koala.corpora.leaderboard import read_leaderboard
from koala.errors import FileError


def test_both_releases_hold_the_same_grids(propara):
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


def test_the_whole_corpus_has_prompts_and_test_entities(propara):
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


def test_a_small_release(tmp_path):
    write_release(tmp_path, BLOCK)
    (example,) = corpus.read_released(tmp_path).splits["train"]
    assert example.procedure.question == "How does ice form?"
    assert example.gold["ice"].locations == ("-", "lake")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("1,state2", "1,state3", "line 5: row 'state3' came; state2 was expected"),
        ("1,event1", "1,event2", "line 4: row 'event2' came; event1 was expected"),
        ("1,state1,,lake,-", "1,state1,,lake,", "line 3: the place of 'ice' is empty"),
        ("1,state2,,-,lake\n", "", "1 events and 1 states"),
        ("1,SID,PARTICIPANTS,water,ice\n", "", "line 1: row '' came before"),
        ("1,event1,The lake freezes.,,", "2,event1,The lake freezes.,,", "'2' came inside"),
        ("The lake freezes.", '"The lake freezes.', "comma-separated"),
    ],
)
def test_a_broken_release_is_refused(tmp_path, old, new, problem):
    write_release(tmp_path, BLOCK.replace(old, new))
    with pytest.raises(FileError, match=problem):
        corpus.read_released(tmp_path)


def test_a_split_must_be_known_and_have_texts(tmp_path):
    write_release(tmp_path, BLOCK, "Partition,Paragraph ID\nvalid,1\n")
    with pytest.raises(FileError, match="train, dev, test"):
        corpus.read_released(tmp_path)
    write_release(tmp_path, BLOCK, "Partition,Paragraph ID\ndev,3\n")
    with pytest.raises(FileError, match="paragraph 3 of dev"):
        corpus.read_released(tmp_path)
