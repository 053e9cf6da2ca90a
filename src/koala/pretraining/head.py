"""An encoder with a masked-language-model head, for encoders that ship without one."""

from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from koala.encoders.weights import WEIGHTS
from koala.errors import KoalaError
from koala.network.torch.precision import Precision, computing_in
from koala.network.torch.transformer import load_transformer
from koala.pretraining.masking import IGNORED

HEAD = "head.safetensors"
"""The file of a head, beside the weights of its encoder."""

# How transformers names the parts of a head: BERT's way, then that of MPNet and RoBERTa.
_NAMES = (
    {"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm"}
    | {"": "cls.predictions"},
    {"dense": "lm_head.dense", "norm": "lm_head.layer_norm", "": "lm_head"},
)
_OLD_NAMES = {"weight": "gamma", "bias": "beta"}


class LanguageModelHead(nn.Module):
    """Guesses a piece from its vector: LayerNorm(gelu(W h + b)) Eᵀ + c (Devlin et al. 2019).

    The decoder E is the encoder's own table of piece embeddings; the head keeps no copy of it.
    """

    def __init__(self, *, width: int, n_subwords: int, epsilon: float = 1e-12) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.bias = nn.Parameter(torch.zeros(n_subwords))
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def forward(self, hidden: Tensor, embeddings: Tensor) -> Tensor:
        """Score (guesses, width) with embeddings (vocabulary, width) → (guesses, vocabulary)."""
        states = self.norm(functional.gelu(self.dense(hidden)))
        return functional.linear(states, embeddings, self.bias)


class MaskedLanguageModel(nn.Module):
    """Masked pieces in, the loss of each guess out."""

    def __init__(
        self, encoder: nn.Module, head: LanguageModelHead, precision: Precision = "float32"
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.precision: Precision = precision
        """While it learns; it is measured in float32."""
        self.is_frozen = False

    def freeze_encoder(self, is_frozen: bool) -> None:
        """Let the head learn alone, or all."""
        self.is_frozen = is_frozen
        self.encoder.requires_grad_(not is_frozen)

    def train(self, mode: bool = True) -> "MaskedLanguageModel":
        """Switch dropout; a frozen encoder runs without."""
        super().train(mode)
        if self.is_frozen:
            self.encoder.eval()
        return self

    @property
    def embeddings(self) -> Tensor:
        """The table that pieces are read from and guessed with, (vocabulary, width)."""
        encoder: Any = self.encoder
        weight: Tensor = encoder.get_input_embeddings().weight
        return weight

    def forward(self, subwords: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        """Give −log p of each piece to guess, (guesses,); all arguments are (batch, pieces)."""
        wanted = labels != IGNORED
        with computing_in(self.precision if self.training else "float32", subwords.device):
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.is_frozen):
                output = self.encoder(input_ids=subwords, attention_mask=mask.long())
            # Only what is guessed passes the decoder: a seventh of the pieces, half the work.
            scores = self.head(output.last_hidden_state[wanted], self.embeddings)
        return functional.cross_entropy(scores.float(), labels[wanted], reduction="none")


def load_language_model(
    folder: Path,
    *,
    seed: int = 0,
    dropout: float | None = None,
    precision: Precision = "float32",
) -> tuple[MaskedLanguageModel, bool]:
    """Load an encoder with its head, and tell whether the head is a trained one."""
    encoder = load_transformer(folder, dropout=dropout)
    config: Any = encoder.config
    torch.manual_seed(seed)
    head = LanguageModelHead(
        width=config.hidden_size, n_subwords=config.vocab_size, epsilon=config.layer_norm_eps
    )
    weights = _find_head(folder)
    if weights is not None:
        try:
            head.load_state_dict(weights)
        except RuntimeError as error:
            raise KoalaError(f"The head in {folder} does not fit its encoder: {error}") from None
    return MaskedLanguageModel(encoder, head, precision), weights is not None


def save_head(head: LanguageModelHead, path: Path) -> None:
    """Write a head to a temporary file and rename it."""
    temporary = path.with_name(f".{path.name}.tmp")
    tensors = {k: v.detach().cpu().contiguous() for k, v in head.state_dict().items()}
    save_file(tensors, temporary, metadata={"format": "pt"})
    temporary.replace(path)


def _find_head(folder: Path) -> dict[str, Tensor] | None:
    if (folder / HEAD).is_file():
        return load_file(folder / HEAD)
    if not (folder / WEIGHTS).is_file():
        return None
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        known = set(file.keys())
        for names in _NAMES:
            found: dict[str, Tensor] = {}
            for part in ("dense.weight", "dense.bias", "norm.weight", "norm.bias", "bias"):
                layer, _, kind = part.rpartition(".")
                options = (f"{names[layer]}.{kind}", f"{names[layer]}.{_OLD_NAMES[kind]}")
                name = next((option for option in options if option in known), None)
                if name is not None:
                    found[part] = file.get_tensor(name)
            if len(found) == 5:
                return found
    return None
