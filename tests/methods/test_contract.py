"""The bodies that methods share: posterior, decoder and classifier of the blocks of a code."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.toys import Squares
from unbraid.data.batch import Images, Pairs
from unbraid.data.table import Spec
from unbraid.methods.contract import Loss, Method, minimise, numbered
from unbraid.nets import autoencoders as nets

SPEC = Squares().spec


class Gaussian(Method[Images]):
    """Two blocks, laid out as b and then a."""

    class_block = "b"

    def __init__(self, spec: Spec, *, blocks: bool = True) -> None:
        super().__init__(spec, lr=1e-3)
        if blocks:
            self.blocks = {"b": 2, "a": 3}
        self.encoder = nets.encoder("dense", spec.shape, 10, width=2)
        self.decoder = nets.decoder("dense", spec.shape, 5, width=2, likelihood="bernoulli")

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        return {"model": minimise(self.encoder(batch.x).sum())}


class Plain(Gaussian):
    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return self.split(self.encoder(x)[:, :5])


def test_blocks_are_cut_as_they_are_laid_out_and_sorted_by_name() -> None:
    method, x = Gaussian(SPEC), torch.rand(4, *SPEC.shape)
    mu, log_var = method.encoder(x).chunk(2, -1)
    posterior = method.posterior(x)
    assert list(posterior) == list(method.encode(x)) == ["a", "b"]
    for block, columns in {"b": slice(0, 2), "a": slice(2, 5)}.items():
        assert torch.equal(posterior[block][0], mu[:, columns])
        assert torch.equal(posterior[block][1], log_var[:, columns])
        assert torch.equal(method.encode(x)[block], mu[:, columns])
    assert torch.equal(method.join(method.split(mu)), mu)
    assert torch.equal(method.decode(method.encode(x)), method.decoder.mean(mu))  # type: ignore[arg-type]


def test_a_code_without_named_blocks_is_z() -> None:
    method, x = Gaussian(SPEC, blocks=False), torch.rand(4, *SPEC.shape)
    mu, log_var = method.encoder(x).chunk(2, -1)
    assert list(method.posterior(x)) == ["z"]
    assert torch.equal(torch.cat(method.posterior(x)["z"], 1), torch.cat([mu, log_var], 1))
    assert torch.equal(method.decode({"z": mu}), method.decoder.mean(mu))  # type: ignore[arg-type]


def test_a_method_that_encodes_by_itself_has_no_gaussian_posterior() -> None:
    method, x = Plain(SPEC), torch.rand(4, *SPEC.shape)
    assert method.posterior(x) == {}
    assert torch.equal(method.encode(x)["b"], method.encoder(x)[:, :2])


def test_there_is_a_decoder_or_a_classifier_where_a_method_has_one() -> None:
    method, x = Gaussian(SPEC), torch.rand(4, *SPEC.shape)
    assert method.has_decoder
    assert method.classify(x) is None
    method.classifier = nn.Linear(2, 3)
    assert torch.equal(method.classify(x), method.classifier(method.encode(x)["b"]))  # type: ignore[arg-type]
    del method.decoder
    assert not method.has_decoder
    assert method.decode(method.encode(x)) is None


def test_the_type_parameter_is_the_batch_kind() -> None:
    class OfPairs(Method[Pairs]):
        def losses(self, batch: Pairs, step: int) -> dict[str, Loss]:
            return {}

    assert Gaussian.batch_kind is Plain.batch_kind is Images
    assert OfPairs.batch_kind is Pairs


def test_features_of_several_dimensions_are_numbered() -> None:
    assert numbered(3, 2) == [0, 0, 1, 1, 2, 2]
