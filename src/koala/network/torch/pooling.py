"""Building blocks: means over the subwords of a mention, rows with shared parts, BiLSTMs."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def look_up(table: Tensor, index: Tensor) -> Tensor:
    """Give `table[index]` along the first axis; on a CPU its backward pass is far faster.

    Shapes: table (rows, …), index (…) → (index's shape, table's other axes).
    """
    flat = nn.functional.embedding(index, table.reshape(table.shape[0], -1))
    return flat.reshape(*index.shape, *table.shape[1:])


def masked_mean(mask: Tensor, values: Tensor) -> Tensor:
    """Average the values at which the mask is True; give zero if it is True nowhere.

    Shapes: mask (batch, …, subwords), values (batch, subwords, width) → (batch, …, width).
    """
    batch, *middle, subwords = mask.shape
    weights = mask.reshape(batch, -1, subwords).to(values.dtype)
    total = weights @ values
    mean = total / weights.sum(-1, keepdim=True).clamp(min=1)
    return mean.reshape(batch, *middle, values.shape[-1])


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that are concatenations of parts; many rows share the same part.

    Linear layers are applied to the distinct parts, not to the rows: W [a; b] = W_a a + W_b b.
    """

    parts: tuple[tuple[Tensor, Tensor], ...]
    """For each part: its distinct values (values, part's width) and each row's index (rows,)."""
    owner: Tensor
    """(rows,): the entity of each row."""

    def join(self) -> Tensor:
        """Concatenate the parts: (rows, width)."""
        return torch.cat([look_up(values, index) for values, index in self.parts], dim=-1)

    def project(self, weight: Tensor) -> Tensor:
        """Multiply the rows with a weight (outputs, width): (rows, outputs)."""
        widths = [values.shape[1] for values, _ in self.parts]
        pairs = zip(self.parts, torch.split(weight, widths, dim=1), strict=True)
        return torch.stack(
            [look_up(nn.functional.linear(values, own), index) for (values, index), own in pairs]
        ).sum(0)


def to_rows(inputs: Tensor) -> Rows:
    """Make a row of every position of (batch, positions, width); no parts are shared."""
    batch, positions, _ = inputs.shape
    number = torch.arange(batch * positions, device=inputs.device)
    return Rows(((inputs.flatten(0, 1), number),), number // positions)


class SequenceLSTM(nn.Module):
    """A bidirectional LSTM over sequences of different lengths, without reading padding."""

    def __init__(self, *, input_width: int, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_width, width, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Encode (batch, positions, input_width) to (batch, positions, 2 · width)."""
        if inputs.device.type != "cpu" or torch.onnx.is_in_onnx_export():
            return _run_packed(self.lstm, inputs, lengths)
        return _run_padded(self.lstm, inputs, lengths)


def _run_packed(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor) -> Tensor:
    packed = pack_padded_sequence(
        inputs, lengths.cpu().clamp(min=1), batch_first=True, enforce_sorted=False
    )
    output, _ = lstm(packed)
    padded, _ = pad_packed_sequence(output, batch_first=True, total_length=inputs.shape[1])
    return padded


def _run_padded(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor) -> Tensor:
    """Run both directions over padded sequences; the backward one reads reversed sequences.

    Gives the same numbers as `_run_packed`, but on a CPU uses the fused kernel, which is much
    faster and takes no packed sequences.
    """
    mask, backward = _reverse_positions(inputs.shape[1], lengths)
    index = backward.unsqueeze(2)
    forward_states = _run_direction(lstm, inputs, "")
    reversed_inputs = inputs.gather(1, index.expand_as(inputs))
    backward_states = _run_direction(lstm, reversed_inputs, "_reverse")
    states = [forward_states, backward_states.gather(1, index.expand_as(backward_states))]
    return torch.cat(states, dim=-1) * mask.unsqueeze(2)


def _run_direction(lstm: nn.LSTM, inputs: Tensor, direction: str) -> Tensor:
    weights = dict(lstm.named_parameters())
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    start = inputs.new_zeros(1, inputs.shape[0], lstm.hidden_size)
    states, _, _ = torch.lstm(
        inputs,
        (start, start),
        [weights[f"{name}{direction}"] for name in names],
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=lstm.training,
        bidirectional=False,
        batch_first=True,
    )
    return states


def _reverse_positions(n_positions: int, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Give the mask of real positions, and the position of each in the reversed sequence.

    Both are (sequences, positions); padding keeps its position.
    """
    positions = torch.arange(n_positions, device=lengths.device)
    mask = positions < lengths.unsqueeze(1)
    return mask, torch.where(mask, lengths.unsqueeze(1) - 1 - positions, positions)


class SharedInputLSTM(nn.Module):
    """A bidirectional LSTM over many sequences that share most of their inputs.

    A candidate is named in one or two steps; in the others it has the same input as every other
    candidate not named there. So each distinct input is projected once, and the sequences look up
    theirs: the same numbers as `SequenceLSTM` with a fraction of the multiplications.
    """

    def __init__(self, *, input_width: int, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_width, width, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, rows: Rows | Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Encode sequences of distinct inputs to (sequences, positions, 2 · width).

        Shapes: rows (rows, input_width), index (sequences, positions) the row at each position,
        lengths (sequences,). The output is zero past a sequence's length.
        """
        if torch.onnx.is_in_onnx_export():
            # The exporter would unroll the loop and fix its length; this gives the same numbers.
            distinct = rows.join() if isinstance(rows, Rows) else rows
            return _run_packed(self.lstm, look_up(distinct, index), lengths)
        mask, backward = _reverse_positions(index.shape[1], lengths)
        forward_states = self._run(rows, index, mask, "")
        backward_states = self._run(rows, index.gather(1, backward), mask, "_reverse")
        aligned = backward_states.gather(1, backward.unsqueeze(2).expand_as(backward_states))
        return torch.cat([forward_states, aligned], dim=-1)

    def _run(self, rows: Rows | Tensor, index: Tensor, mask: Tensor, direction: str) -> Tensor:
        """Run one direction; padding comes after the real positions."""
        weights = dict(self.lstm.named_parameters())
        bias = weights[f"bias_ih_l0{direction}"] + weights[f"bias_hh_l0{direction}"]
        weight = weights[f"weight_ih_l0{direction}"]
        projected = rows.project(weight) if isinstance(rows, Rows) else rows @ weight.t()
        projected = projected + bias
        recurrent = weights[f"weight_hh_l0{direction}"].t()
        hidden = projected.new_zeros(index.shape[0], self.width // 2)
        cell = torch.zeros_like(hidden)
        states = []
        for position in range(index.shape[1]):
            gates = torch.addmm(look_up(projected, index[:, position]), hidden, recurrent)
            input_gate, forget_gate, new, output_gate = gates.chunk(4, dim=1)
            cell = forget_gate.sigmoid() * cell + input_gate.sigmoid() * new.tanh()
            hidden = output_gate.sigmoid() * cell.tanh()
            states.append(hidden)
        return torch.stack(states, dim=1) * mask.unsqueeze(2)
