"""InfoGAN: a GAN whose codes can be predicted from its images, Chen et al. 2016 (arXiv:1606.03657, eq. 6).

    min over G, Q  max over D  E_x[log D(x)] + E_z,c[log(1 - D(G(z, c)))] - lambda L_I(G, Q)
    L_I = H(c) + E_z,c[log Q(c|G(z, c))]  <=  I(c; G(z, c))

Paper -> here: lambda is `info`; c are `codes` and z are `noise` draws from U[-1, 1]; Q(c|x) = N(mean(x), 1) shares the
layers of D. The group `model` holds D and Q, which encodes; the group `generator` holds G. Neither updates the other.

Differs from the paper: G minimises -log D(G(z, c)), the non-saturating form; networks, spectral norm and rates
are those with which Lin et al. 2020 (arXiv:1906.06034) compare it, without categorical codes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.config import Count, Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import infogan
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.nets import gan
from unbraid.nets.normalisation import update_normalisation


class InfoGAN(Method[Images]):
    """Codes of a generator, which Q predicts from images; block `z` holds the means of Q (the paper's c).

    Args:
        info: weight of the information between codes and images
        codes: number of dimensions of the code
        noise: number of dimensions of the noise, which is 0 in decoding
        width: channels of the first convolution
        lr: learning rate of Adam for discriminator and Q
        generator_lr: learning rate of the generator's Adam
    """

    game = True

    def __init__(
        self,
        spec: Spec,
        *,
        info: Weight = 0.05,
        codes: Size = 5,
        noise: Count = 5,
        width: Size = 32,
        lr: Rate = 2e-3,
        generator_lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.info, self.codes, self.noise, self.generator_lr = info, codes, noise, generator_lr
        self.discriminator = gan.Discriminator(spec.shape, codes, width)
        self.generator = gan.Generator(spec.shape, codes + noise, width)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group(list(self.discriminator.parameters()), self.lr, (0.5, 0.999)),
            "generator": Group(list(self.generator.parameters()), self.generator_lr, (0.5, 0.999)),
        }

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        c, z = (infogan.uniform(len(batch.x), d, batch.x) for d in (self.codes, self.noise))
        game = infogan.terms(*self.discriminator.compare(batch.x, self.generator(torch.cat([c, z], 1))), c)
        return {
            "model": minimise(game.judged + self.info * game.nll, judged=game.judged),
            "generator": minimise(
                game.fooled + self.info * game.nll,
                fooled=game.fooled,
                information=game.information,
                error=game.error,
            ),
        }

    def after_step(self, step: int) -> None:
        update_normalisation(self)

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.discriminator(x)[1]}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        return self.generator.without_noise(blocks["z"])
