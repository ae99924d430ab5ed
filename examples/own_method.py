"""A method of your own, without touching the package: a sparse autoencoder.

python examples/own_method.py [steps]

or, on the command line:

unbraid run examples/own_method.py:SparseAutoencoder --data dsprites --size 32 --weight 0.5 --steps 2000
"""

import sys

from torch import Tensor

import unbraid
from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class SparseAutoencoder(Method[Images]):
    """-log p(x|z) + weight |z|_1

    Args:
        weight: of the size of the code
        latents: number of dimensions of the code
        lr: learning rate of Adam
    """

    def __init__(self, spec: Spec, *, weight: Weight = 1.0, latents: Size = 10, lr: Rate = 1e-3) -> None:
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


if __name__ == "__main__":  # so that the file can be imported
    data = unbraid.load_data("dsprites", size=32)
    method = unbraid.build(SparseAutoencoder, data, seed=0, weight=0.5)
    run = unbraid.fit(method, data, steps=int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    unbraid.represent(run, method, data)
    print({name: round(score.value, 3) for name, score in unbraid.score(run, metrics=["mig"]).items()})
    print(unbraid.report(run))
    model = unbraid.load_run(run.path, SparseAutoencoder)  # code is imported only where you name it
    print(model.feature_names)
