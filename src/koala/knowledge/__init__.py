"""Commonsense knowledge: retrieve ConceptNet triples for an entity in a paragraph."""
