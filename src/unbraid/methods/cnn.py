"""A plain convolutional classifier: the baseline of methods that make a code invariant.

    -log q(y|x)

Nothing keeps nuisances out of its code.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Rate, Size
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets
from unbraid.nets.heads import need_classes


class CNN(Method[Labelled]):
    """Class from image; the block `z` is what the last layer sees.

    Args:
        latents: number of dimensions of the code
        net: network, conv, mlp or dense
        width: channels of the first convolution
        lr: learning rate of Adam
    """

    def __init__(self, spec: Spec, *, latents: Size = 64, net: str = "conv", width: Size = 32, lr: Rate = 1e-3) -> None:
        super().__init__(spec, lr=lr)
        need_classes(spec, "cnn")
        self.encoder = nets.encoder(net, spec.shape, latents, width=width)
        self.classifier = nn.Linear(latents, spec.classes)

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        logits = self.classify(batch.x)
        ce = F.cross_entropy(logits, batch.y)
        return {"model": minimise(ce, ce=ce, accuracy=(logits.argmax(-1) == batch.y).float().mean())}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": F.relu(self.encoder(x))}

    def classify(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.encode(x)["z"])
        return logits
