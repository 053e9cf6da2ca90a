"""Language-model stages of multi-stage training (section 5): on text, then on triples."""
