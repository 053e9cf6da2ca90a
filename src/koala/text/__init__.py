"""Text: words and sentences, steps, language, recipe detection."""
