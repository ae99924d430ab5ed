"""InfoGAN-CR: InfoGAN in which one can see which code two images share, Lin et al. 2020 (arXiv:1906.06034, eq. 4).

    min over G, Q, H  max over D  E_x[log D(x)] + E_z,c[log(1 - D(G(z, c)))] - lambda L_I(G, Q) - alpha L_c(G, H)
    L_c = E_i E_(x1, x2)[ <e_i, log H(x1, x2)> ],   x1 = G(z, c1), x2 = G(z, c2), c1 and c2 equal in the code i alone

Paper -> here: lambda is `info`; alpha is `contrast`, from step `contrast_from` on; the contrastive gap, the least
distance of each code that the two do not share, falls from `gap` to 0 in `gap_steps` from there. H sees the two images
as channels of one and is trained with D and Q in the group `model`; the group `generator` holds G. Neither updates the
other. contrast = 0 is `infogan`.

Differs from the paper: the public code updates G twice for each update of D, here both are updated once a step; the gap
falls linearly, not in stages as in the public code. The defaults are those of its dSprites runs of 320,000 steps.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.config import Count, Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.maths import infogan, schedule
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.nets import gan
from unbraid.nets.normalisation import update_normalisation


class InfoGANCR(Method[Images]):
    """Codes of a generator, each with its own visible effect; block `z` holds the means of Q (the paper's c).

    Args:
        contrast: weight of the loss of predicting which code two images share; 0 is InfoGAN
        contrast_from: step at which that loss begins; two thirds of all steps are usual
        gap: initial least distance between the codes that the two do not share; below 2
        gap_steps: steps over which the gap falls to 0
        info: weight of the information between codes and images
        codes: number of dimensions of the code
        noise: number of dimensions of the noise, which is 0 in decoding
        width: channels of the first convolution
        lr: learning rate of Adam for discriminator, Q and H
        generator_lr: learning rate of the generator's Adam
    """

    game = True

    def __init__(
        self,
        spec: Spec,
        *,
        contrast: Weight = 2.0,
        contrast_from: Count = 288_000,
        gap: Weight = 0.0,
        gap_steps: Count = 1,
        info: Weight = 0.05,
        codes: Size = 5,
        noise: Count = 5,
        width: Size = 32,
        lr: Rate = 2e-3,
        generator_lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        if gap >= 2:
            raise UserError(f"gap of infogan_cr must be less than 2, since codes are drawn from [-1, 1], not {gap}")
        self.contrast, self.contrast_from, self.gap, self.gap_steps = contrast, contrast_from, gap, gap_steps
        self.info, self.codes, self.noise, self.generator_lr = info, codes, noise, generator_lr
        self.discriminator = gan.Discriminator(spec.shape, codes, width)
        self.generator = gan.Generator(spec.shape, codes + noise, width)
        self.sharing = gan.shared_code(spec.shape, codes, width)

    def groups(self) -> dict[str, Group]:
        judges = [*self.discriminator.parameters(), *self.sharing.parameters()]
        return {
            "model": Group(judges, self.lr, (0.5, 0.999)),
            "generator": Group(list(self.generator.parameters()), self.generator_lr, (0.5, 0.999)),
        }

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        c, z = (infogan.uniform(len(batch.x), d, batch.x) for d in (self.codes, self.noise))
        game = infogan.terms(*self.discriminator.compare(batch.x, self.generator(torch.cat([c, z], 1))), c)
        alpha = self.contrast if step >= self.contrast_from else 0.0
        l_c = self._contrast(batch.x, step) if alpha else torch.zeros(())  # -L_c of the paper
        return {
            "model": minimise(game.judged + self.info * game.nll + alpha * l_c, judged=game.judged),
            "generator": minimise(
                game.fooled + self.info * game.nll + alpha * l_c,
                fooled=game.fooled,
                information=game.information,
                error=game.error,
                **({"contrast": l_c} if alpha else {}),
            ),
        }

    def _contrast(self, like: Tensor, step: int) -> Tensor:
        """The cross-entropy of the code that the images of a pair share; log(codes) at chance."""
        gap = schedule.linear(step - self.contrast_from, self.gap, 0.0, self.gap_steps)
        first, second, which = infogan.draw_pairs(len(like), self.codes, gap, like)
        z = infogan.uniform(len(like), self.noise, like).repeat(2, 1)
        images = self.generator(torch.cat([torch.cat([first, second]), z], 1))
        return F.cross_entropy(self.sharing(torch.cat(images.chunk(2), 1)), which)

    def after_step(self, step: int) -> None:
        update_normalisation(self)

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.discriminator(x)[1]}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        return self.generator.without_noise(blocks["z"])
