"""CAI: critics predict the nuisances from the code, the encoder prevents it, Xie et al. 2017 (arXiv:1705.11122, eq. 1).

    min over encoder and classifier, max over critics of  E[-log q(y|h) + gamma log q_D(s|h)],    h = E(x)

In one loss, by gradient reversal: critics minimise -log q_D(s|h), and the encoder gets -gamma times their gradient.
Each known nuisance has its own critic.

Differs from the paper: h is computed from x alone, since a new image's nuisance is not known; nothing alternates.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.maths.invariance import reverse
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.requirements import require_classes, require_nuisances
from unbraid.nets import autoencoders as nets
from unbraid.nets.layers import dense


class CAI(Method[Labelled]):
    """A code for the class from which critics cannot predict the known nuisances; block `z`.

    Args:
        gamma: weight of the critics' loss in that of the encoder
        latents: number of dimensions of the code
        critic_width: units in each of a critic's two hidden layers
        net: network of the encoder
        width: channels of the first convolution
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        gamma: Weight = 1.0,
        latents: Size = 64,
        critic_width: Size = 128,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        require_classes(spec, "cai")
        require_nuisances(spec, "cai")
        self.gamma = gamma
        self.encoder = nets.encoder(net, spec.shape, latents, width=width)
        self.classifier = nn.Linear(latents, spec.classes)
        self.critics = nn.ModuleList(dense(latents, critic_width, critic_width, n) for n in spec.nuisances)

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        h = self.encode(batch.x)["z"]  # [b, k]
        ce = F.cross_entropy(self.classifier(h), batch.y)
        reversed_h = reverse(h, self.gamma)
        each = [F.cross_entropy(critic(reversed_h), s) for critic, s in zip(self.critics, batch.s.T, strict=True)]
        nuisance = sum(each, ce.new_zeros(()))
        return {"model": minimise(ce + nuisance, ce=ce, nuisance=nuisance)}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": F.relu(self.encoder(x))}
