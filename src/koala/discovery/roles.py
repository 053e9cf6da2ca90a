"""Grammatical roles of noun phrases, found by rules from the surrounding words."""

from collections.abc import Sequence
from dataclasses import dataclass

from koala.discovery.candidates import Mention
from koala.discovery.measures import is_measure
from koala.text.nlp import Word

_DETERMINERS = frozenset({"DET", "NUM", "PRON"})
_PREPOSITIONS = frozenset({"ADP", "PART"})
_BETWEEN = frozenset({"ADV", "AUX", "PART"})
_POSSESSIVES = frozenset({"her", "his", "its", "my", "our", "their", "your"})


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a noun phrase, and the verb that governs it."""

    name: str
    """subject, passive (passive subject), object, attribute, rest or a preposition."""
    determiner: str
    """a, the, DET (each, some), NUM, PRON (its, your) or none."""
    verb: int | None = None
    """Index of the verb in the step."""
    is_listed: bool = False
    """Whether it is a later item of a list; it then has the role of the first item."""


def find_roles(words: Sequence[Word], mentions: Sequence[Mention]) -> list[Role]:
    """Return the role of every noun phrase of a step, in the same order."""
    is_verb = [word.pos == "VERB" and not _is_participle(words, i) for i, word in enumerate(words)]
    before, after = _verbs_before(words, is_verb), _verbs_after(words, is_verb)
    roles: list[Role] = []
    for number, mention in enumerate(mentions):
        front, determiner = _find_front(words, mention.start)
        if number and _is_list(words[mentions[number - 1].head + 1 : mention.start]):
            roles.append(Role(roles[-1].name, determiner, roles[-1].verb, is_listed=True))
            continue
        name = _name_role(words, front, is_verb)
        in_clause, in_step = before[mention.start]
        verb = in_clause
        if verb is None and (found := after[mention.head]) is not None:
            verb = found[1]
            if name == "rest":
                name = "passive" if _is_passive(words, *found) else "subject"
        roles.append(Role(name, determiner, in_step if verb is None else verb))
    return roles


def _is_participle(words: Sequence[Word], index: int) -> bool:
    """Return whether a verb is used as an adjective: "the greased pan"."""
    if not index or not words[index].text.lower().endswith(("ed", "en", "ing")):
        return False
    before = words[index - 1]
    return before.pos in ("DET", "NUM", "ADJ") or before.text.lower() in _POSSESSIVES


def _find_front(words: Sequence[Word], start: int) -> tuple[int, str]:
    """Return the index of the word before the whole phrase (-1: none), and its determiner."""
    front, determiner = start - 1, "none"
    while front >= 0 and _may_precede(words, front):
        if words[front].pos in _DETERMINERS:
            form = words[front].text.lower()
            determiner = {"a": "a", "an": "a", "the": "the"}.get(form, words[front].pos)
        front -= 1
    return front, determiner


def _may_precede(words: Sequence[Word], index: int) -> bool:
    """Return whether a word may stand between a noun phrase and its preposition or verb."""
    word = words[index]
    if word.text.lower() == "of":  # "add 2 cups of flour": what is added is flour
        return index > 0 and is_measure(words, index - 1)
    if word.pos in _DETERMINERS | {"ADJ", "ADV"} or is_measure(words, index):
        return True
    return word.pos == "VERB" and _is_participle(words, index)


def _is_list(between: Sequence[Word]) -> bool:
    """Return whether the words between two phrases make them items of one list."""
    joins = [word.text == "," or word.pos == "CCONJ" for word in between]
    others = [i for i, is_join in enumerate(joins) if not is_join]
    return any(joins) and all(_may_precede(between, i) for i in others)


def _name_role(words: Sequence[Word], front: int, is_verb: Sequence[bool]) -> str:
    if front < 0:
        return "rest"
    word = words[front]
    if word.pos in _PREPOSITIONS:
        return word.text.lower()
    if word.pos == "AUX":
        return "attribute"
    return "object" if is_verb[front] else "rest"


def _verbs_before(
    words: Sequence[Word], is_verb: Sequence[bool]
) -> list[tuple[int | None, int | None]]:
    """Return for every word the last verb before it, in its clause and in the whole step."""
    found: list[tuple[int | None, int | None]] = []
    in_clause = in_step = None
    for index, word in enumerate(words):
        found.append((in_clause, in_step))
        if is_verb[index] or word.pos == "AUX":
            in_clause = in_step = index
        elif word.pos in ("SCONJ", "CCONJ") or word.text == ",":
            in_clause = None
    return found


def _verbs_after(words: Sequence[Word], is_verb: Sequence[bool]) -> list[tuple[int, int] | None]:
    """Return for every word the next verb after it, as (first auxiliary, full verb)."""
    found: list[tuple[int, int] | None] = []
    following: tuple[int, int] | None = None
    full: int | None = None  # the full verb, as long as only auxiliaries and adverbs precede it
    for index in reversed(range(len(words))):
        found.append(following)
        if is_verb[index]:
            full = index
        elif words[index].pos not in _BETWEEN:
            full = None
        if is_verb[index] or words[index].pos == "AUX":
            following = (index, index if full is None else full)
    return found[::-1]


def _is_passive(words: Sequence[Word], auxiliary: int, verb: int) -> bool:
    return words[auxiliary].lemma == "be" and verb > auxiliary and words[verb].text[-3:] != "ing"
