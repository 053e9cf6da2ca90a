"""Encoders: words in, one contextual vector per word out. No torch here."""

from koala.encoders.onnx import Encoder, OnnxEncoder, open_encoder

__all__ = ["Encoder", "OnnxEncoder", "open_encoder"]
