import pytest

from koala.discovery.candidates import find_candidate_entities
from koala.discovery.references import find_references
from koala.document import Procedure, annotate


def references_of(text: str, name: str) -> dict[str, float]:
    (procedure,) = annotate([Procedure.from_text(text)])
    (candidate,) = [each for each in find_candidate_entities(procedure.steps) if each.name == name]
    return find_references(candidate.mentions, procedure.steps)


@pytest.mark.parametrize(
    ("name", "is_followed"), [("seed", True), ("birds", False), ("ground", True)]
)
def test_pronouns_agree_in_number(name, is_followed):
    text = "The birds drop a seed on the ground.\nIt swells."
    assert ("pronoun in the next step" in references_of(text, name)) == is_followed


def test_shares_are_of_all_mentions():
    found = references_of("The seed falls.\nIt swells.\nThe seed dies.", "seed")
    assert found["next step begins with a pronoun"] == 0.5
    assert found["any next step begins with a pronoun"] == 1.0
    assert found["both steps begin with it"] == 0.5


def test_a_text_without_pronouns_has_no_references():
    assert references_of("The seed falls.\nThe rain stops.", "seed") == {}
