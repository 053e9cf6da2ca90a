"""An exported network on onnxruntime; no torch is needed."""
