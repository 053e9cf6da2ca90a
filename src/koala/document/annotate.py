"""Add words, mentions and location candidates to procedures."""

from collections.abc import Sequence
from dataclasses import replace

from koala.document.candidates import add_known, find_candidates
from koala.document.mentions import find_parts, find_whole
from koala.document.types import Procedure
from koala.text.nlp import analyze


def annotate(
    procedures: Sequence[Procedure],
    *,
    has_parts: bool = False,
    has_phrases: bool = True,
    known_locations: Sequence[str] = (),
) -> list[Procedure]:
    """Add words, mentions and location candidates; the tagger runs once over all texts.

    With `has_parts`, "oil" is a mention of "olive oil". Without `has_phrases`, candidates are
    single nouns. Known locations are candidates in every text.
    """
    texts = [step.text for procedure in procedures for step in procedure.steps]
    analyses = iter(analyze(texts))
    with_words = [
        replace(
            procedure,
            steps=tuple(replace(step, words=next(analyses).words) for step in procedure.steps),
        )
        for procedure in procedures
    ]
    aliases = sorted(
        {alias for procedure in procedures for e in procedure.entities for alias in e.aliases}
    )
    analyzed = dict(zip(aliases, (a.words for a in analyze(aliases)), strict=True))
    find = find_parts if has_parts else find_whole
    return [
        replace(
            procedure,
            entities=tuple(
                replace(entity, mentions=mentions)
                for entity, mentions in zip(
                    procedure.entities, find(procedure, analyzed), strict=True
                )
            ),
            candidates=add_known(
                find_candidates(
                    procedure.steps,
                    has_phrases=has_phrases,
                    # ProPara's annotators name pairs ("leaf and stem"), koala's guide asks for one.
                    has_pairs=procedure.convention != "koala",
                ),
                known_locations,
                procedure.steps,
            ),
        )
        for procedure in with_words
    ]
