"""A plain convolutional classifier: the baseline for methods that learn invariant codes.

    -log q(y|x)

Nothing keeps nuisances out of its code.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Rate, Size
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.requirements import require_classes
from unbraid.nets import autoencoders as nets


class CNN(Method[Labelled]):
    """Predicts the class from the image; block `z` is the input of the last layer.

    Args:
        latents: number of dimensions of the code
        net: network of the encoder
        width: channels of the first convolution
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        latents: Size = 64,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        require_classes(spec, "cnn")
        self.encoder = nets.encoder(net, spec.shape, latents, width=width)
        self.classifier = nn.Linear(latents, spec.classes)

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        logits = self.classifier(self.encode(batch.x)["z"])
        ce = F.cross_entropy(logits, batch.y)
        return {"model": minimise(ce, ce=ce, accuracy=(logits.argmax(-1) == batch.y).float().mean())}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": F.relu(self.encoder(x))}
