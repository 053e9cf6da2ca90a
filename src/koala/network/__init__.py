"""The tracker's network: its outputs, its card, in torch to train and in ONNX to run."""
