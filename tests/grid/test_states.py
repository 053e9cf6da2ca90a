"""State tags, checked against the published transition counts of ProPara train and enumeration."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koala.corpora.leaderboard import read_leaderboard
from koala.errors import KoalaError
from koala.grid.states import (
    FIRST_TAGS,
    LAST_TAGS,
    TRANSITIONS,
    Action,
    Tag,
    actions_from_tags,
    find_illegal,
    find_presence,
    is_legal,
    locations_from_tags,
    tags_from_actions,
    tags_from_locations,
)

from ..strategies import LOCATIONS, location_rows, walks

# Published transition counts of ProPara train.
PUBLISHED = {
    "O_C": {"O_C": 1659, "C": 643},
    "C": {"E": 379, "M": 152, "D": 92},
    "E": {"E": 2730, "M": 563, "D": 283},
    "M": {"E": 629, "M": 320, "D": 91},
    "D": {"O_D": 423, "C": 2},
    "O_D": {"O_D": 873, "C": 13},
}


def test_legal_transitions_are_those_that_occur_in_train():
    assert {tag.value: {t.value for t in after} for tag, after in TRANSITIONS.items()} == {
        tag: set(after) for tag, after in PUBLISHED.items()
    }


def test_transition_counts_of_train_match_the_published_ones(propara):
    counts: dict[str, Counter[str]] = {tag.value: Counter() for tag in Tag}
    for example in read_leaderboard(propara / "leaderboard").splits["train"]:
        for row in example.gold.rows:
            assert row.tags[0] in FIRST_TAGS
            assert row.tags[-1] in LAST_TAGS
            for before, after in zip(row.tags, row.tags[1:], strict=False):
                counts[before.value][after.value] += 1
    assert {tag: dict(after) for tag, after in counts.items()} == PUBLISHED


@pytest.mark.parametrize("n_steps", [1, 2, 3, 4])
def test_legal_sequences_are_exactly_those_of_location_rows(n_steps):
    rows = product(("-", "a", "b"), repeat=n_steps + 1)
    possible = {tags_from_locations(row) for row in rows}
    assert {tags for tags in product(Tag, repeat=n_steps) if is_legal(tags)} == possible


@pytest.mark.parametrize(
    ("row", "tags"),
    [
        (["-", "-", "a", "a", "b", "-", "-"], "O_C C E M D O_D"),
        (["a", "-", "b", "b"], "D C E"),
        (["a", "-", "-", "?"], "D O_D C"),
        (["?", "a", "?"], "M M"),
        (["-", "-"], "O_C"),
    ],
)
def test_tags_of_worked_examples(row, tags):
    assert " ".join(tags_from_locations(row)) == tags


@given(st.integers(1, 8).flatmap(location_rows))
def test_location_rows_survive_a_round_trip_through_tags_and_actions(row):
    tags = tags_from_locations(row)
    actions = actions_from_tags(tags)
    again = tags_from_actions(actions, exists=row[0] != "-")
    assert again == tags
    assert locations_from_tags(again, row) == row


@given(walks(TRANSITIONS, FIRST_TAGS), st.data())
def test_tags_survive_a_round_trip_through_location_rows(tags, data):
    # Two alternating locations, so that every move changes the location.
    first, second = data.draw(st.permutations(LOCATIONS))[:2]
    locations, here = [first], first
    for tag in tags:
        if tag == Tag.M:
            here = second if here == first else first
        locations.append(here)
    assert tags_from_locations(locations_from_tags(tags, locations)) == tags


@given(walks(TRANSITIONS, FIRST_TAGS))
def test_actions_determine_the_tags_unless_all_are_none(tags):
    actions = actions_from_tags(tags)
    if set(actions) == {Action.NONE}:
        assert set(tags_from_actions(actions)) == {Tag.E}
    else:
        assert tags_from_actions(actions) == tags


def test_illegal_tags_are_found_and_rejected():
    assert find_illegal([Tag.E, Tag.C]) == 1
    assert find_illegal([Tag.O_D]) == 0
    with pytest.raises(KoalaError, match="Step 2: C cannot follow E"):
        locations_from_tags([Tag.E, Tag.C], ["a", "a", "b"])
    with pytest.raises(KoalaError, match="need 3 locations, got 2"):
        locations_from_tags([Tag.E, Tag.E], ["a", "a"])


def test_an_entity_that_exists_needs_a_location():
    with pytest.raises(KoalaError, match="Position 1"):
        locations_from_tags([Tag.C, Tag.E], ["-", "-", "x"])
    with pytest.raises(KoalaError, match="Position 0"):
        locations_from_tags([Tag.E], ["-", "x"])


@pytest.mark.parametrize(
    ("actions", "exists"),
    [
        ([Action.CREATE, Action.CREATE], None),
        ([Action.DESTROY, Action.MOVE], None),
        ([Action.MOVE], False),
        ([Action.CREATE], True),
    ],
)
def test_impossible_actions_are_rejected(actions, exists):
    with pytest.raises(KoalaError, match="of an entity that"):
        tags_from_actions(actions, exists=exists)


def test_presence_covers_the_time_before_step_1_and_after_every_step():
    assert find_presence(()) == (False,)
    tags = (Tag.O_C, Tag.C, Tag.M, Tag.D, Tag.O_D, Tag.C)
    assert find_presence(tags) == (False, False, True, True, False, False, True)
    assert find_presence((Tag.D, Tag.O_D)) == (True, False, False)
