"""A method of your own, without touching the package: a sparse autoencoder.

python examples/own_method.py [steps]
"""

import sys

from torch import Tensor

import unbraid
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class SparseAutoencoder(Method[Images]):
    """-log p(x|z) + weight |z|_1"""

    def __init__(self, spec: Spec, *, weight: float = 1.0, latents: int = 10, lr: float = 1e-3) -> None:
        super().__init__(spec, lr=lr)
        self.weight = weight
        self.encoder = nets.encoder("conv", spec.shape, latents, width=8)
        self.decoder = nets.decoder("conv", spec.shape, latents, width=8, likelihood="bernoulli")

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        z = self.encoder(batch.x)
        rec = self.decoder.nll(z, batch.x).mean()
        size = z.abs().sum(-1).mean()
        return {"model": minimise(rec + self.weight * size, rec=rec, size=size)}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.encoder(x)}


data = unbraid.load_data("dsprites", size=32)
method = SparseAutoencoder(data.spec, weight=0.5)
run = unbraid.fit(method, data, steps=int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
unbraid.represent(run, method, data)
print({name: round(score.value, 3) for name, score in unbraid.score(run, metrics=["mig"]).items()})
print(unbraid.report(run))
