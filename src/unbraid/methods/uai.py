"""UAI: two parts of a code that must not predict each other, Jaiswal et al. 2018 (arXiv:1809.10083, eq. 1 to 5).

    model:      predict L_pred(y, p) + reconstruct L_dec(x, [dropout(p), n]) + apart (|f1(p) - u|^2 + |f2(n) - v|^2)
    adversary:  |f1(p) - n|^2 + |f2(n) - p|^2

The disentanglers f1, f2 predict each part of the code from the other. The model does not maximise their loss: it makes
them predict noise u, v, uniform on [-1, 1], the range of the codes after tanh. The part p is needed for the class and,
because of dropout, unreliable for the decoder, so the rest goes to n. No nuisance needs to be known. A step of the
model is followed by `adversary_steps` of the adversary, each on one batch.

Paper -> here: e1 -> p, e2 -> n; alpha, beta, gamma -> predict, reconstruct, apart. All but L_pred are means of squares,
over pixels or units, as the weights of the paper assume. Differs from the paper: the networks.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Rate, Share, Size, Weight
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.methods.requirements import require_classes
from unbraid.nets import autoencoders as nets


class UAI(Method[Labelled]):
    """A code in two parts that do not predict each other; blocks `n` (nuisance) and `p` (predictive).

    Args:
        predict: weight of the classifier's loss
        reconstruct: weight of the mean squared error of the pixels
        apart: weight of the loss that makes the disentanglers predict noise
        adversary_steps: steps of the disentanglers after each step of the model
        drop: probability that a dimension of p is dropped before the decoder
        predictive: number of dimensions of p
        nuisance: number of dimensions of n
        net: networks of encoder and decoder
        width: channels of the first convolution
        lr: learning rate of the model's Adam
        adversary_lr: learning rate of the disentanglers' Adam
    """

    game = True
    class_block = "p"

    def __init__(
        self,
        spec: Spec,
        *,
        predict: Weight = 100.0,
        reconstruct: Weight = 0.1,
        apart: Weight = 1.0,
        adversary_steps: Size = 10,
        drop: Share = 0.5,
        predictive: Size = 10,
        nuisance: Size = 20,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        lr: Rate = 1e-4,
        adversary_lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        require_classes(spec, "uai")
        if drop == 1:
            raise UserError("drop of uai must be less than 1: otherwise the decoder never sees p")
        self.predict, self.reconstruct, self.apart, self.drop = predict, reconstruct, apart, drop
        self.adversary_steps, self.adversary_lr = adversary_steps, adversary_lr
        self.blocks = {"p": predictive, "n": nuisance}
        self.encoder = nets.encoder(net, spec.shape, predictive + nuisance, width=width)
        self.decoder = nets.decoder(net, spec.shape, predictive + nuisance, width=width, likelihood="gaussian")
        self.classifier = nn.Linear(predictive, spec.classes)
        self.f1 = nn.Sequential(nn.Linear(predictive, nuisance), nn.Tanh())
        self.f2 = nn.Sequential(nn.Linear(nuisance, predictive), nn.Tanh())

    def groups(self) -> dict[str, Group]:
        model = [*self.encoder.parameters(), *self.decoder.parameters(), *self.classifier.parameters()]
        adversary = [*self.f1.parameters(), *self.f2.parameters()]
        return {"model": Group(model, self.lr), "adversary": Group(adversary, self.adversary_lr)}

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        if step % (1 + self.adversary_steps):
            with torch.no_grad():
                code = self.encode(batch.x)
            p, n = code["p"], code["n"]
            adversary = F.mse_loss(self.f1(p), n) + F.mse_loss(self.f2(n), p)
            return {"adversary": minimise(adversary, adversary_error=adversary)}
        code = self.encode(batch.x)
        p, n = code["p"], code["n"]  # [b, predictive], [b, nuisance]
        u, v = 2 * torch.rand_like(n) - 1, 2 * torch.rand_like(p) - 1
        ce = F.cross_entropy(self.classifier(p), batch.y)
        rec = F.mse_loss(self.decoder.mean(torch.cat([F.dropout(p, self.drop), n], -1)), batch.x)
        noise = F.mse_loss(self.f1(p), u) + F.mse_loss(self.f2(n), v)
        value = self.predict * ce + self.reconstruct * rec + self.apart * noise
        return {"model": minimise(value, ce=ce, rec=rec, noise=noise)}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return self.split(torch.tanh(self.encoder(x)))
