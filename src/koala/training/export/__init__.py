"""A trained network → a folder that runs without torch."""
