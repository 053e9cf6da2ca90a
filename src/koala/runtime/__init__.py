"""The exported network, run without torch."""
