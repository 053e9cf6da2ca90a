"""Commonsense: ConceptNet in, the right triples for an entity in a paragraph out."""
