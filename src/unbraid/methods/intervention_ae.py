"""An autoencoder whose features can be set one at a time, for factors that may be correlated.

"Unsupervised disentanglement learning by intervention", equations 2 and 3 and algorithm 1. z = Enc(x) has K_Z features
of D_Z dimensions. Feature k takes its value from another image, x' = Dec(z with z_k^r), and then its own value again,
x'' = Dec(Enc(x') with z_k).

    model, decoder:  L_rec + lambda_1 L_in + lambda_2 L_adv + lambda_3 L_diff
    weights:         L_adv,   critic: -L_adv
    L_rec = H(x, Dec(z)),  L_in = H(x, x''),  L_adv = E log D(Dec(z)) + E (W(x')/N) log(1 - D(x')),  N = E W(x')
    L_diff: the loss of a translator u -> v on one half of the batch after s training steps on the other half,
            u = Dec(z with z_k^a), v = Dec(z with z_k^b)

Paper -> here: K_Z features, D_Z dims, s inner_steps, alpha inner_rate; H is summed over pixels. W = exp(net), so that
W/N is a softmax over the batch. Where factors are correlated, x' is not distributed as x is, and W = p(x)/p'(x).

Differs from the paper, which leaves these open: x^r are the images of the same batch in another order; L_adv trains
encoder and decoder through x' only, not by making reconstructions look unreal (`literal` allows that); the translator
is small, starts each step as the identity, and learns by Adam, since a few steps of gradient descent hardly change it;
theta_M is a constant unless `second_order` unrolls it. All groups share one backward pass. With `diff_every` n, L_diff
is there at every n-th step alone, with weight n lambda_3: the mean gradient is the same.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from unbraid.config import Count, Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.maths import intervention
from unbraid.maths.gradients import one_backward_pass, scale_gradient
from unbraid.methods.contract import Group, Loss, Method, minimise, numbered
from unbraid.nets import intervention as intervention_nets
from unbraid.nets.translator import Translator


class InterventionAE(Method[Images]):
    """Features that can be exchanged between images, with realistic images as a result; block `z`.

    Args:
        lambda_1: weight of the reconstruction after an intervention and its reversal
        lambda_2: weight of the adversarial loss
        lambda_3: weight of the difficulty of translation
        diff_every: steps from one difficulty of translation to the next; it weighs as much more
        features: number of features
        dims: dimensions of each feature
        inner_steps: training steps of the translator
        inner_rate: learning rate of these steps
        second_order: differentiate through the steps of the translator
        literal: let the adversarial loss change reconstructions as well
        width: channels of the first convolution
        critic_width: channels of the first convolution of critic and weight network
        critic_layers: layers after the convolutions of critic and weight network
        leak: negative slope of the leaky ReLUs of critic and weight network
        translator_width: channels of the translator's first convolution
        lr: learning rate of the encoder's Adam
        decoder_lr: learning rate of the decoder's Adam
        critic_lr: learning rate of the critic's Adam
        weight_lr: learning rate of the weight network's Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        lambda_1: Weight = 0.25,
        lambda_2: Weight = 10.0,
        lambda_3: Weight = 1.0,
        diff_every: Size = 1,
        features: Size = 10,
        dims: Size = 1,
        inner_steps: Count = 10,
        inner_rate: Weight = 0.03,
        second_order: bool = False,
        literal: bool = False,
        width: Size = 32,
        critic_width: Size = 32,
        critic_layers: Size = 1,
        leak: Weight = 0.0,
        translator_width: Size = 16,
        lr: Rate = 1e-4,
        decoder_lr: Rate = 1e-4,
        critic_lr: Rate = 1e-4,
        weight_lr: Rate = 1e-5,
    ) -> None:
        super().__init__(spec, lr=lr)
        if features < 2:
            raise UserError("intervention_ae exchanges one feature and keeps the others: it needs two features or more")
        self.lambda_1, self.lambda_2, self.lambda_3 = lambda_1, lambda_2, lambda_3
        self.features, self.dims, self.literal, self.diff_every = features, dims, literal, diff_every
        self.inner_steps, self.inner_rate, self.second_order = inner_steps, inner_rate, second_order
        self.decoder_lr, self.critic_lr, self.weight_lr = decoder_lr, critic_lr, weight_lr
        self.encoder = intervention_nets.encoder(spec.shape, features * dims, width=width)
        self.decoder = intervention_nets.decoder(spec.shape, features * dims, width=width)
        self.critic, self.weigh = (
            intervention_nets.scalar(spec.shape, width=critic_width, layers=critic_layers, leak=leak) for _ in range(2)
        )
        self.translator = Translator(spec.shape, width=translator_width).requires_grad_(False)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group(list(self.encoder.parameters()), self.lr),
            "decoder": Group(list(self.decoder.parameters()), self.decoder_lr),
            "critic": Group(list(self.critic.parameters()), self.critic_lr),
            "weights": Group(list(self.weigh.parameters()), self.weight_lr),
        }

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        x, b = batch.x, len(batch.x)
        if b < 4:
            raise UserError("intervention_ae exchanges features within a batch: it needs a batch of four or more")
        z = self.code(x)  # [b, features, dims]
        reconstruction = self.draw(z)
        k = F.one_hot(torch.randint(self.features, (b,), device=x.device), self.features).bool()  # [b, features]
        other = z.roll(int(torch.randint(1, b, ())), 0)  # z^r, never the image's own: x' would be a reconstruction
        changed = torch.sigmoid(self.draw(intervention.intervene(z, other, k)))  # x'
        returned = self.draw(intervention.intervene(self.code(changed), z, k))  # x''
        l_rec, l_in = (intervention.cross_entropy(logits, x) for logits in (reconstruction, returned))
        judged, real = (scale_gradient(image, self.lambda_2) for image in (changed, torch.sigmoid(reconstruction)))
        w = intervention.mean_one(self.weigh(judged)[:, 0])  # [b]
        judged_real = self.critic(real if self.literal else real.detach())[:, 0]
        l_adv = intervention.adversarial(judged_real, self.critic(judged)[:, 0], w)
        due = (step + 1) % self.diff_every == 0
        difficulty = self.difficulty(z) if due and self.lambda_3 else l_rec.new_zeros(())
        l_diff = self.diff_every * difficulty
        total = l_rec + self.lambda_1 * l_in + self.lambda_2 * l_adv + self.lambda_3 * l_diff
        terms = {"rec": l_rec, "in": l_in, "adv": l_adv, **({"diff": difficulty} if due else {})}
        # in the shared pass L_adv counts once; its gradient beyond `judged` and `real` is lambda_2 times as large
        nets = self.encoder, self.decoder, self.critic, self.weigh
        encoder, decoder, critic, weights = one_backward_pass(total + (1 - self.lambda_2) * l_adv, *nets)
        return {
            "model": minimise(total.detach() + encoder, **terms, weight_variance=w.var()),
            "decoder": minimise(total.detach() + decoder),
            "critic": minimise(-l_adv.detach() - critic),
            "weights": minimise(l_adv.detach() + weights),
        }

    def difficulty(self, z: Tensor) -> Tensor:
        """Algorithm 1 for one random feature and two of its values in the batch. [b, features, dims] -> []"""
        k = F.one_hot(torch.randint(self.features, ()), self.features).bool().to(z.device)  # [features]
        two = z[torch.randperm(len(z), device=z.device)[:2]]  # [2, features, dims]

        def drawn(codes: Tensor) -> list[Tensor]:
            return [torch.sigmoid(self.draw(intervention.intervene(codes, value, k))) for value in two]

        with torch.set_grad_enabled(self.second_order and torch.is_grad_enabled()):
            u, v = drawn(z[: len(z) // 2])
        options = {"steps": self.inner_steps, "rate": self.inner_rate, "second_order": self.second_order}
        learned = intervention.adapted(self.translator, u, v, **options)  # type: ignore[arg-type]
        u, v = drawn(z[len(z) // 2 :])
        return intervention.cross_entropy(functional_call(self.translator, learned, (u,)), v)

    def code(self, x: Tensor) -> Tensor:
        """[b, c, h, w] -> [b, features, dims]"""
        code: Tensor = self.encoder(x)
        return code.reshape(len(x), self.features, self.dims)

    def draw(self, z: Tensor) -> Tensor:
        """The logits of an image. [b, features, dims] -> [b, c, h, w]"""
        logits: Tensor = self.decoder(z.flatten(1))
        return logits

    @property
    def units(self) -> dict[str, list[int]]:
        return {"z": numbered(self.features, self.dims)} if self.dims > 1 else {}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.encoder(x)}
