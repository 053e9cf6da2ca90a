"""Means over the pieces of a mention, and sequences of different lengths."""

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def masked_mean(mask: Tensor, values: Tensor) -> Tensor:
    """Average values where the mask is True; zero where it nowhere is.

    Shapes: mask (batch, …, pieces), values (batch, pieces, width) → (batch, …, width).
    """
    batch, *middle, pieces = mask.shape
    weights = mask.reshape(batch, -1, pieces).to(values.dtype)
    total = weights @ values
    mean = total / weights.sum(-1, keepdim=True).clamp(min=1)
    return mean.reshape(batch, *middle, values.shape[-1])


class SequenceLSTM(nn.Module):
    """A bidirectional LSTM that does not read past the end of a sequence."""

    def __init__(self, *, input_width: int, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_width, width, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Read (batch, positions, input_width), give (batch, positions, 2 · width)."""
        packed = pack_padded_sequence(
            inputs, lengths.cpu().clamp(min=1), batch_first=True, enforce_sorted=False
        )
        output, _ = self.lstm(packed)
        padded, _ = pad_packed_sequence(output, batch_first=True, total_length=inputs.shape[1])
        return padded
