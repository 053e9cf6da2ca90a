"""Training the tracker: loss, loop, checkpoints."""
