"""Inference: annotated procedures → scores of a network → grids and explanations."""
