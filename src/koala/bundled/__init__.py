"""Data shipped with koala: trained models and examples."""

from pathlib import Path

MODELS = Path(__file__).parent / "models"
"""Folder of the trained models."""
