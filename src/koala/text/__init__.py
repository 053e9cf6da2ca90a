"""Text analysis: words and sentences, steps, language, recipe detection."""
