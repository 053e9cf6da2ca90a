"""Procedures: steps, entities, mentions and location candidates, as frozen values."""

from koala.document.annotate import annotate
from koala.document.types import (
    CONVENTIONS,
    Candidate,
    Convention,
    Entity,
    FixedCell,
    Procedure,
    Span,
    Step,
    build_entity,
    check_text,
    split_aliases,
)

__all__ = [
    "CONVENTIONS",
    "Candidate",
    "Convention",
    "Entity",
    "FixedCell",
    "Procedure",
    "Span",
    "Step",
    "annotate",
    "build_entity",
    "check_text",
    "split_aliases",
]
