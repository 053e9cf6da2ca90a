"""koala reads a text that describes a procedure and tracks every entity through every step."""

__version__ = "0.1.0"
