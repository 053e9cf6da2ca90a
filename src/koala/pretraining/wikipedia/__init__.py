"""Wikipedia: read paragraphs from large files and retrieve those most similar to a procedure."""

from koala.pretraining.wikipedia.paragraphs import Paragraph, read_paragraphs
from koala.pretraining.wikipedia.retrieval import Retrieved, Retriever, retrieve_paragraphs

__all__ = ["Paragraph", "Retrieved", "Retriever", "read_paragraphs", "retrieve_paragraphs"]
