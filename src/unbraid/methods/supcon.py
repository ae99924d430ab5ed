"""Supervised contrast alone: an encoder without decoder, and a linear classifier on its detached codes.

Khosla et al. 2020 (arXiv:2004.11362), eq. 2, on codes of length one:

    representation:  -mean over anchors, then over the anchor's positives, of log softmax(z z' / temperature)
    classifier:      -log q(y|z), on detached codes

It is `swap_vae` where the weight of the contrastive loss outgrows everything else.
Differs from the paper: one view of each image, no augmentation, no projection head.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor

from unbraid.config import Rate, Size
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.maths.contrast import supcon
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.methods.requirements import require_classes
from unbraid.nets import autoencoders as nets
from unbraid.nets.layers import LinearOnDirection


class SupCon(Method[Labelled]):
    """Draws images of one class together and pushes the classes apart; block `z`.

    Args:
        temperature: temperature of the contrastive loss
        latents: number of dimensions of the code
        net: network of the encoder
        width: channels of the first convolution
        lr: learning rate of Adam
        classifier_lr: learning rate of the classifier's Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        temperature: Rate = 0.1,
        latents: Size = 64,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        lr: Rate = 1e-3,
        classifier_lr: Rate = 1e-2,
    ) -> None:
        super().__init__(spec, lr=lr)
        require_classes(spec, "supcon")
        self.temperature, self.classifier_lr = temperature, classifier_lr
        self.encoder = nets.encoder(net, spec.shape, latents, width=width)
        self.classifier = LinearOnDirection(latents, spec.classes)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group(list(self.encoder.parameters()), self.lr),
            "classifier": Group(list(self.classifier.parameters()), self.classifier_lr),
        }

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        z = self.encoder(batch.x)
        contrast = supcon(z, batch.y, self.temperature)
        ce = F.cross_entropy(self.classifier(z.detach()), batch.y)
        return {"model": minimise(contrast, contrast=contrast), "classifier": minimise(ce, ce=ce)}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.encoder(x)}
