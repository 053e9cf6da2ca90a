"""Bulk processing: many documents, streamed and resumable, on one machine or a Ray cluster."""
