"""Encoders: words in, one vector in context for each out. No torch here."""

from koala.encoders.onnx import Encoder, OnnxEncoder, open_encoder

__all__ = ["Encoder", "OnnxEncoder", "open_encoder"]
