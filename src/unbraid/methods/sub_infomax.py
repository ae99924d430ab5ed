"""SubInfoMax: contrast on slices of the code, kept apart by InfoMin, orthogonality or Hessian (Burns et al. 2021).

"Unsupervised disentanglement without autoencoding: pitfalls and future directions", eq. 2 to 8, with K slices:

    sum_k L_InfoMax(z_k) + lambda R,   R one of R_InfoMin, R_Ortho, R_P(Ortho), R_Hess (maths/slices.py)

Paper -> here: lambda -> the weight named like its R; 0 leaves it out, several may be given; r is the output of the
trunk, and each of its slices goes through its own head; with R_Hess one head gives all of z, and its one InfoMax is
differentiated at the unit vector. Vectors in dot products have length one. All R are logged, InfoMin with the opposite
sign, as in figure 5.

Differs from the paper: InfoMax, R_InfoMin and R_Ortho are means over the samples of both views, not sums; R_Hess uses H
averaged over samples; R_InfoMin compares with the other slice of all samples of the view (`literal_infomin`: as
printed); R may begin later (`warm_up`); the trunk is small.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Count, Rate, Share, Size, Weight
from unbraid.data.batch import Views
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.maths import schedule
from unbraid.maths.augment import Augment
from unbraid.maths.contrast import supcon_of_units
from unbraid.maths.slices import hessian, infomin, named, orthogonality
from unbraid.methods.contract import Loss, Method, minimise, numbered
from unbraid.nets import resnet
from unbraid.nets.layers import dense


class SubInfoMax(Method[Views]):
    """Slices of a code that each identify what two views share; blocks z, z0, z1, ... and r, r0, r1, ...

    Args:
        infomin: weight of the mutual information between slices, as estimated by InfoNCE
        orthogonality: weight of the cosine between slices
        permuted_orthogonality: weight of the cosine after the coordinates of one slice are shuffled, at each step again
        hessian: weight of the Hessian of InfoMax between slices
        warm_up: steps without these regularisers; their weights then grow linearly over as many steps
        slices: number K of slices
        latents: dimensions of each slice of z
        positives: all samples with the same label of what views share (label), or only the other view (view)
        heads: a head and an InfoMax for each slice (each), one for all of z (one), or one if hessian is set (paper)
        temperature: temperature of the contrastive loss
        literal_infomin: use the denominator of InfoMin as printed in the paper
        hessian_per_sample: average the norms of the Hessians of single samples
        net: network of the trunk; the paper has resnet34 with width 64
        width: channels of the first convolution; r has 8 times as many dimensions
        least_crop: smallest share of the image that a random crop keeps; 1: no cropping
        flip: mirror images at random
        colour: strength of random colour distortion; 0: none
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        infomin: Weight = 0.0,
        orthogonality: Weight = 0.0,
        permuted_orthogonality: Weight = 0.0,
        hessian: Weight = 0.0,
        warm_up: Count = 0,
        slices: Size = 2,
        latents: Size = 8,
        positives: Literal["label", "view"] = "label",
        heads: Literal["paper", "each", "one"] = "paper",
        temperature: Rate = 0.1,
        literal_infomin: bool = False,
        hessian_per_sample: bool = False,
        net: Literal["conv4", "pooled4", "resnet10", "resnet18", "resnet34"] = "conv4",
        width: Size = 32,
        least_crop: Share = 1.0,
        flip: bool = False,
        colour: Weight = 0.0,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        if 8 * width % slices:
            raise UserError(f"{8 * width} dimensions of r cannot be cut into {slices} equal slices: change width")
        self.weights = (infomin, orthogonality, permuted_orthogonality, hessian)
        self.warm_up, self.k, self.latents, self.temperature = warm_up, slices, latents, temperature
        self.literal, self.per_sample, self.by_label = literal_infomin, hessian_per_sample, positives == "label"
        self.view = Augment(least_crop, flip, colour)
        self.whole = heads == "one" or (heads == "paper" and hessian > 0)
        self.trunk, r, z = resnet.encoder(net, spec.shape, width=width), 8 * width, slices * latents
        sizes = [(r, z)] if self.whole else [(r // slices, latents)] * slices
        self.heads = nn.ModuleList(dense(a, a, b) for a, b in sizes)

    def losses(self, batch: Views, step: int) -> dict[str, Loss]:
        if len(batch.y) < 2:
            raise UserError(
                "sub_infomax contrasts the images of a batch with each other: it needs a batch of two or more"
            )
        if step == 0 and self.view.changes_nothing and torch.equal(batch.x1, batch.x2):
            raise UserError("both views of every image are the same: give least_crop, flip or colour")
        x = torch.cat([self.view(batch.x1), self.view(batch.x2)])  # [2 b, c, h, w]
        z = self.project(self.trunk(x))  # [2 b, k, d]
        y = (batch.y if self.by_label else torch.arange(len(batch.y), device=x.device)).repeat(2)
        units = F.normalize(z.flatten(1), dim=-1).view_as(z) if self.whole else F.normalize(z, dim=-1)
        contrasted = [units.flatten(1)] if self.whole else units.unbind(1)
        infomax = torch.stack([supcon_of_units(part, y, self.temperature) for part in contrasted]).sum()
        a, b, c, d = self.weights
        (gradient,) = torch.autograd.grad(len(z) * infomax, units, create_graph=d > 0, retain_graph=True)
        both = F.normalize(z, dim=-1).transpose(0, 1)  # [k, 2 b, d]
        views = [(both if weight else both.detach()).chunk(2, 1) for weight in (a, b, c)]  # without a weight: logged
        within, (one, other), (here, there) = views
        r_min = torch.stack([infomin(view, self.temperature, literal=self.literal) for view in within]).mean()
        r_ortho = orthogonality(one, other)
        r_permuted = orthogonality(here, there, torch.randperm(z.shape[2], device=z.device))
        r_hess = hessian(gradient, per_sample=self.per_sample)
        grown = schedule.linear(max(0, step - self.warm_up), 0.0, 1.0, self.warm_up)
        loss = infomax + grown * (a * r_min + b * r_ortho + c * r_permuted + d * r_hess)
        terms = {"orthogonality": r_ortho, "permuted_orthogonality": r_permuted, "hessian": r_hess}
        return {"model": minimise(loss, infomax=infomax, infomin=-r_min, **terms)}

    def project(self, r: Tensor) -> Tensor:
        """The slices of z. [b, 8 width] -> [b, k, d]"""
        parts = [r] if self.whole else r.chunk(self.k, 1)
        z = torch.cat([head(part) for head, part in zip(self.heads, parts, strict=True)], 1)
        return z.view(-1, self.k, self.latents)

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        r = self.trunk(x)
        return {**named("z", self.project(r).flatten(1), self.k), **named("r", r, self.k)}

    @property
    def units(self) -> dict[str, list[int]]:
        return {"z": numbered(self.k, self.latents)}
