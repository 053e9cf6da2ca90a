"""Pronouns and ellipses that may refer to a candidate entity: signs that the text follows it."""

from collections.abc import Sequence

from koala.discovery.candidates import Mention
from koala.document import Step
from koala.text.nlp import Word

_SINGULAR = frozenset({"it", "its", "this", "itself"})
_PLURAL = frozenset({"they", "them", "their", "these", "themselves"})


def find_references(mentions: Sequence[Mention], steps: Sequence[Step]) -> dict[str, float]:
    """Return for how many mentions a pronoun or an ellipsis follows, by kind, as a share of them.

    A pronoun must agree in number with the noun and stand later in the step or in the next one.
    """
    counts: dict[str, float] = {}
    for mention in mentions:
        for name in _find_kinds(mention, steps):
            counts[name] = counts.get(name, 0.0) + 1 / len(mentions)
            counts[f"any {name}"] = 1.0
    return counts


def _find_kinds(mention: Mention, steps: Sequence[Step]) -> list[str]:
    words = steps[mention.step].words
    head = words[mention.head]
    pronouns = _PLURAL if head.text.lower() != head.lemma else _SINGULAR
    following = steps[mention.step + 1].words if mention.step + 1 < len(steps) else ()
    is_last = not _has_noun(words[mention.last + 1 :])
    kinds = []
    if _has(words[mention.last + 1 :], pronouns):
        kinds.append("pronoun in the step")
    if _has(following, pronouns):
        kinds.append("pronoun in the next step")
        if is_last:
            kinds.append("last noun before a pronoun")
    if _has(following[:1], pronouns):
        kinds.append("next step begins with a pronoun")
        if mention.start <= 1:
            kinds.append("both steps begin with it")
    if following and following[0].pos in ("VERB", "AUX") and following[0].text[-1] in "sd":
        kinds.append("next step has no subject")
    return kinds


def _has(words: Sequence[Word], forms: frozenset[str]) -> bool:
    return any(word.text.lower() in forms for word in words)


def _has_noun(words: Sequence[Word]) -> bool:
    return any(word.pos in ("NOUN", "PROPN") for word in words)
