"""The network: its output arrays, its card, the torch model and the exported ONNX network."""
