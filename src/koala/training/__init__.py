"""Training: data, loss, loop, checkpoints, calibration, cross-validation, discovery, export."""
