"""Many documents: streamed, resumable, on one machine or on a cluster."""
