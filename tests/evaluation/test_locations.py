import pytest

from koala.evaluation.locations import extract_locations, is_inside, normalize_location


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("the soil", "soil", True),
        ("Ponds", "pond", True),
        ("your kidneys", "kidney", True),
        ("sorting center", "sort center", False),  # only the end of a phrase is stemmed
        ("its soil", "soil", False),
        ("deep  sea", "deep sea", False),
    ],
)
def test_same_locations(one, other, same):
    assert (normalize_location(one) == normalize_location(other)) is same


def test_alternatives_and_conjunctions():
    assert extract_locations("a soil OR pond AND the lakes") == (
        frozenset({"soil", "pond"}),
        frozenset({"lake"}),
    )


@pytest.mark.parametrize(
    ("inner", "outer", "inside"),
    [
        ("leaf", "the leaf of the plant", True),
        ("plants", "plant cell", True),
        ("plant cell wall", "plant cell", False),
        ("cell plant", "plant cell", False),
        (" ", "sea", False),
    ],
)
def test_a_location_inside_another(inner, outer, inside):
    assert is_inside(inner, outer) is inside
