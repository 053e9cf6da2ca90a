"""The exported network, run by onnxruntime without torch."""
