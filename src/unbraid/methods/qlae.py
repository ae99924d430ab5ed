"""QLAE: every latent takes one of a few values, Hsu et al. 2023 (arXiv:2305.18378, section 3).

    -log p(x|z) + lambda_quantise |sg(c) - z|^2 + lambda_commit |c - sg(z)|^2,   z_i = nearest value to c_i in V_i

c is the output of the encoder, V_i the codebook of latent i, a few learnt numbers, and sg stops the gradient. That of
the decoder reaches c as if z were c (straight-through); codebooks follow the first penalty alone. Strong weight decay
in both networks is part of the method: a decoder with small weights gives each value one meaning.

With `quantiser = fsq` (finite scalar quantisation, Mentzer et al. 2023, arXiv:2309.15505) the values are evenly spaced
from -1 to 1 and fixed, c is bounded by tanh, and neither penalty is needed.

Values, decay and learning rate are those of the authors' code. Differs from the paper: both penalties are sums over
latents beside a sum over pixels; its 0.01 beside means is 0.01 pixels / latents here, 4 to 12 at 64x64 with ten
latents. The code has ten latents, not twice as many as there are factors; gradients are not clipped (the authors' code
clips at 1); the codebooks, which begin as even steps from -1/2 to 1/2, are not decayed. With an even number of values,
those of fsq are symmetric about 0, where the paper's are shifted by half a step.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from unbraid.config import AtLeast, Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class QLAE(Method[Images]):
    """A code of few values in each dimension, and networks with small weights; block `z`.

    Args:
        quantiser: learnt values (codebook), or fixed and evenly spaced ones (fsq)
        values: number of values of each latent
        lambda_quantise: weight of the distance of the values from the encoder's output
        lambda_commit: weight of the distance of the encoder's output from the values
        weight_decay: share of the learning rate by which weights of the networks shrink in each step
        latents: number of dimensions of the code
        net: networks of encoder and decoder
        width: channels of the first convolution
        likelihood: distribution of the pixels given the code; negative_binomial of features that are counts
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of AdamW
    """

    def __init__(
        self,
        spec: Spec,
        *,
        quantiser: Literal["codebook", "fsq"] = "codebook",
        values: Annotated[int, AtLeast(2)] = 10,
        lambda_quantise: Weight = 10.0,
        lambda_commit: Weight = 10.0,
        weight_decay: Weight = 0.1,
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.values, self.weight_decay = values, weight_decay
        self.lambda_quantise, self.lambda_commit = lambda_quantise, lambda_commit
        self.encoder = nets.encoder(net, spec.shape, latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )
        self.codebooks: nn.Parameter | None = None
        if quantiser == "codebook":
            self.codebooks = nn.Parameter(torch.linspace(-0.5, 0.5, values).repeat(latents, 1))  # [k, values]

    def groups(self) -> dict[str, Group]:
        decayed = [*self.encoder.parameters(), *self.decoder.parameters()]
        rest = [] if self.codebooks is None else [self.codebooks]
        parts = [{"params": decayed, "weight_decay": self.weight_decay}, {"params": rest, "weight_decay": 0.0}]
        adamw = partial(torch.optim.AdamW, lr=self.lr, fused=True)
        return {"model": Group([*decayed, *rest], self.lr, optimiser=lambda _: adamw(parts))}

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        c, z = self.quantised(batch.x)  # [b, k]
        rec = self.decoder.nll(c + (z - c).detach(), batch.x).mean()
        if self.codebooks is None:
            return {"model": minimise(rec, rec=rec)}
        quantise, commit = ((one - two.detach()).square().sum(-1).mean() for one, two in ((z, c), (c, z)))
        value = rec + self.lambda_quantise * quantise + self.lambda_commit * commit
        return {"model": minimise(value, rec=rec, quantise=quantise)}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.quantised(x)[1]}

    def quantised(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The continuous code of some images and the nearest values. -> [b, k] twice"""
        c = self.encoder(x)
        if self.codebooks is not None:
            return c, nearest(c, self.codebooks)
        bounded = torch.tanh(c)
        return bounded, nearest_of_even_steps(bounded, self.values)


def nearest(code: Tensor, codebooks: Tensor) -> Tensor:
    """For each dimension the value of its codebook that lies nearest. [b, k], [k, values] -> [b, k]"""
    chosen = (code[..., None] - codebooks).abs().argmin(-1)  # [b, k]
    return codebooks.expand(len(code), -1, -1).gather(-1, chosen[..., None])[..., 0]


def nearest_of_even_steps(code: Tensor, values: int) -> Tensor:
    """The nearest of so many evenly spaced values from -1 to 1, both included."""
    half = (values - 1) / 2
    return torch.round(half * (code + 1)) / half - 1
