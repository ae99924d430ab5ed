"""Swap VAE: what a pair shares is exchanged and must change nothing; the class part is drawn together by contrast.

"Reconstruction for disentanglement, contrast for invariance" (under review at ICLR 2022), eq. 3 to 10:

    representation:  L_VAE + alpha L_dis + beta L_sup + gamma L_zp
    classifier:      -log q(y|p), on codes that it cannot move (in the paper's first form this is added to the above)

The code is [p, n]: predictive and nuisance. A pair shows one class with k factors changed, and the k dimensions of n
with the largest divergence between the two posteriors are taken for those that changed (eq. 3, 4). The others, and the
whole of p, are exchanged (eq. 5). With x^ = d(z): L_dis = D(d(swapped z), x^) (eq. 6), L_zp = D(d([p~, n]), x^) with p~
from the class's average mean and variance in the batch (eq. 8); L_sup is the contrastive loss of p (eq. 9).

D is the divergence between the two likelihoods of the pixels: cross-entropy, or squared error where they are gaussian,
less its value where both images agree. There is no border in n between known and unknown nuisances: known ones are the
dimensions that react to them. Warm-up by amount is `amount_steps`; warm-up by difficulty is the sampler's
`changed_over`. Where a pair's class differs or is unknown, p is not exchanged and takes no part in L_sup and L_zp.

Differs from the paper: no code is drawn anew. Codes are exchanged with their noise, and averaged ones keep that of the
original, so that D vanishes where drawn codes agree; L_sup is of codes of length one, averaged over anchors; the
classifier sees the mean of p at length one; sizes and weights, which it leaves out.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Count, Rate, Size
from unbraid.data.batch import Pairs
from unbraid.data.table import Spec
from unbraid.errors import UserError, unknown
from unbraid.maths import gaussian, schedule
from unbraid.maths.contrast import supcon
from unbraid.maths.divergence import DIVERGENCES
from unbraid.maths.exchange import alike, class_average, swap
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.nets import autoencoders as nets
from unbraid.nets.heads import need_classes


class SwapVAE(Method[Pairs]):
    """Weak supervision by pairs and classes; blocks `n` (nuisance) and, unless it has no dimensions, `p` (predictive).

    Args:
        alpha: weight of the swap's loss
        beta: weight of the contrastive loss of p
        gamma: weight of the loss with the class's average code
        two_step: train the classifier on detached codes; otherwise its loss is added to the representation's
        weight: of the classifier's loss where it is added; the classifier itself follows its own loss
        divergence: by which changed dimensions are found, kl, jsd or jsd_exact
        compare_with: what swapped and averaged codes should draw, reconstruction or input
        amount_steps: steps over which the number of swapped dimensions grows from 1; 0: all from the start
        temperature: of the contrastive loss
        contrast_of: what it is taken of, mean (of the posterior) or sample
        predictive: number of dimensions of p; 0 for pure disentanglement
        nuisance: number of dimensions of n
        net: network, conv, mlp or dense
        width: channels of the first convolution
        likelihood: of the pixels, bernoulli or gaussian
        lr: learning rate of Adam
        classifier_lr: learning rate of the classifier's Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        two_step: bool = True,
        weight: float = 1.0,
        divergence: Literal["kl", "jsd", "jsd_exact"] = "kl",
        compare_with: Literal["reconstruction", "input"] = "reconstruction",
        amount_steps: int = 0,
        temperature: float = 0.1,
        contrast_of: Literal["mean", "sample"] = "mean",
        predictive: Count = 10,
        nuisance: Size = 10,
        net: str = "conv",
        width: Size = 32,
        likelihood: str = "bernoulli",
        lr: Rate = 1e-3,
        classifier_lr: Rate = 1e-2,
    ) -> None:
        super().__init__(spec, lr=lr)
        if divergence not in DIVERGENCES:
            raise unknown("divergence", divergence, DIVERGENCES)
        if compare_with not in COMPARISONS:
            raise unknown("comparison", compare_with, COMPARISONS)
        if contrast_of not in CODES:
            raise unknown("kind of code", contrast_of, CODES)
        if predictive < 0 or nuisance < 1:
            raise UserError(f"swap_vae needs nuisance dimensions: predictive {predictive}, nuisance {nuisance}")
        if predictive:
            need_classes(spec, "swap_vae with a predictive block (--predictive 0 has none)")
        self.alpha, self.beta, self.gamma, self.two_step, self.weight = alpha, beta, gamma, two_step, weight
        self.divergence, self.compare_with, self.amount_steps = DIVERGENCES[divergence], compare_with, amount_steps
        self.temperature, self.contrast_of = temperature, contrast_of
        self.predictive, self.classifier_lr = predictive, classifier_lr
        self.encoder = nets.encoder(net, spec.shape, 2 * (predictive + nuisance), width=width)
        self.decoder = nets.decoder(net, spec.shape, predictive + nuisance, width=width, likelihood=likelihood)
        self.classifier = nn.Linear(predictive, spec.classes) if predictive else None

    def groups(self) -> dict[str, Group]:
        if self.classifier is None:
            return {"model": Group(list(self.parameters()), self.lr)}
        representation = [*self.encoder.parameters(), *self.decoder.parameters()]
        return {
            "model": Group(representation, self.lr),
            "classifier": Group(list(self.classifier.parameters()), self.classifier_lr),
        }

    def losses(self, batch: Pairs, step: int) -> dict[str, Loss]:
        x, y = torch.cat([batch.x1, batch.x2]), batch.y.repeat(2)
        mu, log_var = self.encoder(x).chunk(2, -1)  # [2 b, p + n]
        noise = torch.randn_like(mu)
        z = mu + (0.5 * log_var).exp() * noise
        image = self.decoder(z)  # [2 b, c, h, w] logits
        swapped = swap(z, self._exchanged(mu, log_var, batch, step))

        rec = self.decoder.nll_of(image, x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        dis = self._apart(self.decoder(swapped), image, x)
        value, terms = rec + kl + self.alpha * dis, {"rec": rec, "kl": kl, "swap": dis}
        if self.classifier is None:
            return {"model": minimise(value, **terms)}

        p, known = mu[:, : self.predictive], y >= 0
        contrasted = z[:, : self.predictive] if self.contrast_of == "sample" else p
        sup = supcon(contrasted[known], y[known], self.temperature)
        value, terms = value + self.beta * sup, {**terms, "contrast": sup}
        if self.gamma:
            average = self._averaged(mu, log_var, noise, y, z)
            zp = self._apart(self.decoder(average), image, x)
            value, terms = value + self.gamma * zp, {**terms, "average": zp}
        ce = _cross_entropy(self._logits(p.detach() if self.two_step else p), y)
        value = value if self.two_step else value + self.weight * ce
        return {"model": minimise(value, **terms), "classifier": minimise(ce)}

    def _exchanged(self, mu: Tensor, log_var: Tensor, batch: Pairs, step: int) -> Tensor:
        """Which dimensions of each pair are swapped. -> bool [b, p + n]"""
        (mu1, mu2), (log_var1, log_var2) = mu.chunk(2), log_var.chunk(2)
        distance = self.divergence(mu1, log_var1, mu2, log_var2).detach()[:, self.predictive :]
        share = schedule.linear(step, 0.0, 1.0, self.amount_steps)
        n = alike(distance, batch.k, share)
        p = (batch.y >= 0)[:, None].expand(-1, self.predictive)
        return torch.cat([p, n], -1)

    def _averaged(self, mu: Tensor, log_var: Tensor, noise: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """The code with p drawn from the average of its class. -> [2 b, p + n]"""
        d = self.predictive
        mean, variance = class_average(mu[:, :d], log_var[:, :d].exp(), y)
        return torch.cat([mean + variance.sqrt() * noise[:, :d], z[:, d:]], -1)

    def _apart(self, new: Tensor, image: Tensor, x: Tensor) -> Tensor:
        """D of a decoder's output from the original one, or from the input."""
        if self.compare_with == "input":
            return self.decoder.nll_of(new, x).mean()
        mean = torch.sigmoid(image)
        return (self.decoder.nll_of(new, mean) - self.decoder.nll_of(image, mean)).mean()

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        mu, log_var = self.encoder(x).chunk(2, -1)
        d = self.predictive
        blocks = {"n": (mu[:, d:], log_var[:, d:]), "p": (mu[:, :d], log_var[:, :d])}
        return blocks if d else {"n": blocks["n"]}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        return self.decoder.mean(torch.cat([*([blocks["p"]] if self.predictive else []), blocks["n"]], -1))

    def classify(self, x: Tensor) -> Tensor | None:
        return None if self.classifier is None else self._logits(self.encode(x)["p"])

    def _logits(self, p: Tensor) -> Tensor:
        """From the direction of p, which is all that the contrastive loss shapes. -> [b, classes]"""
        assert self.classifier is not None
        logits: Tensor = self.classifier(F.normalize(p, dim=-1))
        return logits


COMPARISONS, CODES = ("reconstruction", "input"), ("mean", "sample")


def _cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Averaged over the samples whose class is known; 0 where none is."""
    return F.cross_entropy(logits, y, ignore_index=-1, reduction="sum") / (y >= 0).sum().clamp(min=1)
