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
from koala.files import replacing
from koala.network.torch.precision import Precision, computing_in
from koala.network.torch.transformer import load_transformer
from koala.pretraining.masking import IGNORED

HEAD = "head.safetensors"
"""File with the weights of a head, beside those of its encoder."""

# Names of a head's parameters in transformers: for BERT, then for MPNet and RoBERTa.
_NAMES = (
    {"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm"}
    | {"": "cls.predictions"},
    {"dense": "lm_head.dense", "norm": "lm_head.layer_norm", "": "lm_head"},
)
_OLD_NAMES = {"weight": "gamma", "bias": "beta"}


class LanguageModelHead(nn.Module):
    """Predicts a subword from its vector: LayerNorm(gelu(W h + b)) Eᵀ + c (Devlin et al. 2019).

    The decoder E is the encoder's table of subword embeddings; the head has no copy of it.
    """

    def __init__(self, *, width: int, n_subwords: int, epsilon: float = 1e-12) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.bias = nn.Parameter(torch.zeros(n_subwords))
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def forward(self, hidden: Tensor, embeddings: Tensor) -> Tensor:
        """Score (masked, width) with embeddings (vocabulary, width) → (masked, vocabulary)."""
        states = self.norm(functional.gelu(self.dense(hidden)))
        return functional.linear(states, embeddings, self.bias)


class MaskedLanguageModel(nn.Module):
    """Masked subwords in, the loss of each prediction out."""

    def __init__(
        self, encoder: nn.Module, head: LanguageModelHead, precision: Precision = "float32"
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.precision: Precision = precision
        """Precision in training; evaluation is always in float32."""
        self.is_frozen = False

    def freeze_encoder(self, is_frozen: bool) -> None:
        """Train only the head, or head and encoder."""
        self.is_frozen = is_frozen
        self.encoder.requires_grad_(not is_frozen)

    def train(self, mode: bool = True) -> "MaskedLanguageModel":
        """Switch dropout on or off; a frozen encoder always runs without."""
        super().train(mode)
        if self.is_frozen:
            self.encoder.eval()
        return self

    @property
    def embeddings(self) -> Tensor:
        """(vocabulary, width): embeddings of the subwords, used for input and prediction."""
        encoder: Any = self.encoder
        weight: Tensor = encoder.get_input_embeddings().weight
        return weight

    def forward(self, subwords: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        """Return the NLL of each masked subword, (masked,); arguments are (batch, subwords)."""
        is_masked = labels != IGNORED
        with computing_in(self.precision if self.training else "float32", subwords.device):
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.is_frozen):
                output = self.encoder(input_ids=subwords, attention_mask=mask.long())
            # Only masked subwords pass the decoder: a seventh of all, which halves the work.
            scores = self.head(output.last_hidden_state[is_masked], self.embeddings)
        return functional.cross_entropy(scores.float(), labels[is_masked], reduction="none")


def load_language_model(
    folder: Path,
    *,
    seed: int = 0,
    dropout: float | None = None,
    precision: Precision = "float32",
) -> tuple[MaskedLanguageModel, bool]:
    """Load an encoder with a head; return whether the head is trained (else it is random)."""
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
    tensors = {k: v.detach().cpu().contiguous() for k, v in head.state_dict().items()}
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"})


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
