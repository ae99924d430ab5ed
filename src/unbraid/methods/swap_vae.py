"""Swap VAE: what two images share is swapped and must change nothing; a contrastive loss shapes the class part.

"Reconstruction for disentanglement, contrast for invariance" (under review at ICLR 2022), eq. 3 to 10:

    representation:  L_VAE + alpha L_dis + beta L_sup + gamma L_zp
    classifier:      -log q(y|p), on detached codes (in the paper's first form this is added to the above)

The code is [p, n]: predictive and nuisance. The images of a pair have the same class and differ in k factors; the k
dimensions of n with the largest divergence between the two posteriors are taken as changed (eq. 3, 4). The others, and
all of p, are swapped (eq. 5). With x^ = d(z): L_dis = D(d(swapped z), x^) (eq. 6); L_zp = D(d([p~, n]), x^), where p~
comes from the average mean and variance of the class in the batch (eq. 8); L_sup is the contrastive loss of p (eq. 9).
D is the KL between the two distributions of the pixels. n has no boundary between known and unknown nuisances: the
known ones are the dimensions that react to them. The paper's warm-up by amount is `amount_steps`, its warm-up by
difficulty is `changed_over` of the sampler. Where the class of a pair differs or is unknown, p is not swapped, and the
pair takes no part in L_sup and L_zp.

Differs from the paper: codes are swapped together with their noise, and averaged codes keep the noise of the original,
so that D is 0 where sampled codes agree; L_sup is computed on codes of length one and averaged over anchors; the
classifier sees the mean of p scaled to length one; sizes and weights are ours, since the paper gives none.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from unbraid.config import Count, Rate, Size, Weight
from unbraid.data.batch import Pairs
from unbraid.data.table import Spec
from unbraid.maths import gaussian, schedule
from unbraid.maths.categorical import cross_entropy_where_known
from unbraid.maths.contrast import supcon
from unbraid.maths.divergence import DIVERGENCES
from unbraid.maths.exchange import class_average, swap, unchanged
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.methods.requirements import require_classes
from unbraid.nets import autoencoders as nets
from unbraid.nets.layers import LinearOnDirection


class SwapVAE(Method[Pairs]):
    """Weak supervision by pairs and classes; blocks `n` (nuisance) and, unless it has no dimensions, `p` (predictive).

    Args:
        alpha: weight of the loss of swapped codes
        beta: weight of the contrastive loss of p
        gamma: weight of the loss of codes averaged over the class
        two_step: train the classifier on detached codes; otherwise its loss is added to that of the representation
        weight: weight of the classifier's loss in that of the representation, without two_step
        divergence: divergence between two posteriors that finds the changed dimensions
        compare_with: image that swapped and averaged codes should reproduce
        amount_steps: steps over which the number of swapped dimensions grows from 1; 0: all from the start
        temperature: temperature of the contrastive loss
        contrast_of: codes that the contrastive loss sees, the posterior's mean or a sample
        predictive: number of dimensions of p; 0 for pure disentanglement
        nuisance: number of dimensions of n
        net: networks of encoder and decoder
        width: channels of the first convolution
        likelihood: distribution of the pixels given the code
        lr: learning rate of Adam
        classifier_lr: learning rate of the classifier's Adam
    """

    class_block = "p"

    def __init__(
        self,
        spec: Spec,
        *,
        alpha: Weight = 1.0,
        beta: Weight = 1.0,
        gamma: Weight = 1.0,
        two_step: bool = True,
        weight: Weight = 1.0,
        divergence: Literal["kl", "jsd", "jsd_exact"] = "kl",
        compare_with: Literal["reconstruction", "input"] = "reconstruction",
        amount_steps: Count = 0,
        temperature: Rate = 0.1,
        contrast_of: Literal["mean", "sample"] = "mean",
        predictive: Count = 10,
        nuisance: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian"] = "bernoulli",
        lr: Rate = 1e-3,
        classifier_lr: Rate = 1e-2,
    ) -> None:
        super().__init__(spec, lr=lr)
        if predictive:
            require_classes(spec, "swap_vae with a predictive block (--predictive 0 has none)")
        self.alpha, self.beta, self.gamma, self.two_step, self.weight = alpha, beta, gamma, two_step, weight
        self.divergence, self.to_input, self.amount_steps = (
            DIVERGENCES[divergence],
            compare_with == "input",
            amount_steps,
        )
        self.temperature, self.contrast_of, self.classifier_lr = temperature, contrast_of, classifier_lr
        self.predictive = predictive
        self.blocks = {"p": predictive, "n": nuisance} if predictive else {"n": nuisance}
        self.encoder = nets.encoder(net, spec.shape, 2 * (predictive + nuisance), width=width)
        self.decoder = nets.decoder(net, spec.shape, predictive + nuisance, width=width, likelihood=likelihood)
        self.classifier = LinearOnDirection(predictive, spec.classes) if predictive else None

    def groups(self) -> dict[str, Group]:
        if self.classifier is None:
            return super().groups()
        return {
            "model": Group([*self.encoder.parameters(), *self.decoder.parameters()], self.lr),
            "classifier": Group(list(self.classifier.parameters()), self.classifier_lr),
        }

    def losses(self, batch: Pairs, step: int) -> dict[str, Loss]:
        x, y, d = torch.cat([batch.x1, batch.x2]), batch.y.repeat(2), self.predictive
        mu, log_var = self.encoder(x).chunk(2, -1)  # [2 b, p + n]
        noise = torch.randn_like(mu)
        z = mu + (0.5 * log_var).exp() * noise
        image = self.decoder(z)  # [2 b, c, h, w] logits

        rec = self.decoder.nll_of(image, x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        dis = self._difference(swap(z, self._swapped(mu, log_var, batch, step)), image, x)
        value, terms = rec + kl + self.alpha * dis, {"rec": rec, "kl": kl, "swap": dis}
        if self.classifier is None:
            return {"model": minimise(value, **terms)}

        p, known = mu[:, :d], y >= 0
        sup = supcon((z[:, :d] if self.contrast_of == "sample" else p)[known], y[known], self.temperature)
        value, terms = value + self.beta * sup, {**terms, "contrast": sup}
        if self.gamma:
            mean, variance = class_average(p, log_var[:, :d].exp(), y)
            averaged = torch.cat([mean + variance.sqrt() * noise[:, :d], z[:, d:]], -1)  # [p~, n]
            zp = self._difference(averaged, image, x)
            value, terms = value + self.gamma * zp, {**terms, "average": zp}
        ce = cross_entropy_where_known(self.classifier(p.detach() if self.two_step else p), y)
        value = value if self.two_step else value + self.weight * ce
        return {"model": minimise(value, **terms), "classifier": minimise(ce)}

    def _swapped(self, mu: Tensor, log_var: Tensor, batch: Pairs, step: int) -> Tensor:
        """Which dimensions of each pair are swapped. -> bool [b, p + n]"""
        (mu1, mu2), (log_var1, log_var2) = mu.chunk(2), log_var.chunk(2)
        distance = self.divergence(mu1, log_var1, mu2, log_var2).detach()[:, self.predictive :]
        n = unchanged(distance, batch.k, schedule.linear(step, 0.0, 1.0, self.amount_steps))
        p = (batch.y >= 0)[:, None].expand(-1, self.predictive)
        return torch.cat([p, n], -1)

    def _difference(self, code: Tensor, image: Tensor, x: Tensor) -> Tensor:
        """D between what a changed code draws and the original drawing, or the negative log likelihood of the input."""
        new = self.decoder(code)
        return (self.decoder.nll_of(new, x) if self.to_input else self.decoder.divergence_of(new, image)).mean()
