"""The language-model stages of multi-stage training (section 5): text and triples, one path."""
