"""koala inside other tools: spaCy pipelines and agents (Model Context Protocol)."""
