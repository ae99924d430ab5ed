"""What every method must do; a new method is tested here by existing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import Squares, batch_rows
from unbraid import catalogue, load_run
from unbraid.data.batch import Batch
from unbraid.data.samplers import sampler
from unbraid.encode import images
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.train.fit import fit
from unbraid.train.trainer import Trainer

NAMES = sorted(catalogue.entries("methods"))
TRAINED = [name for name in NAMES if not catalogue.find("methods", name).traits.get("solved")]
FALLING = [name for name in TRAINED if not catalogue.find("methods", name).traits.get("game")]
SOLVED = sorted(set(NAMES) - set(TRAINED))
TABLE = Squares()
SMALL = {"width": 16, "critic_width": 32, "translator_width": 8}

LOGGED = {  # columns of history.csv that users' scripts read
    "ada_gvae": "rec kl shared",
    "ada_ml_vae": "rec kl shared",
    "annealed_vae": "rec kl capacity",
    "beta_factor_tcvae": "rec kl capacity tc_critic tc_batch",
    "beta_tcvae": "rec kl mi tc dkl",
    "beta_vae": "rec kl",
    "beta_vae_classifier": "ce rec kl",
    "cai": "ce nuisance",
    "cnn": "ce accuracy",
    "cpca": "target background",
    "cvae": "rec kl tc w2",
    "cvib": "ce rec kl",
    "dip_vae": "rec kl off_diagonal diagonal",
    "factor_vae": "rec kl tc",
    "group_factor_vae": "rec kl tc",
    "hfs": "rec kl support_distance",
    "infogan": "judged fooled information error",
    "infogan_cr": "judged fooled information error",
    "intervention_ae": "rec in adv diff weight_variance",
    "ivae": "rec kl",
    "qlae": "rec quantise",
    "rb_vae": "rec kl w2",
    "salient_vae": "rec kl salience w2",
    "slow_vae": "rec kl transition",
    "srb_vae": "rec kl symmetry inverse w2",
    "sub_infomax": "infomax infomin orthogonality permuted_orthogonality hessian",
    "sub_supervised": "infomax_r0",
    "supcon": "contrast ce",
    "swap_vae": "rec kl swap contrast average",
    "uai": "ce rec noise",
    "vae": "rec kl",
    "vfae": "rec kl1 kl2 ce mmd",
}


def build(name: str, seed: int = 0, **arguments: Any) -> Method[Any]:
    """With small networks."""
    entry = catalogue.find("methods", name)
    small = {a.name: SMALL[a.name] for a in entry.arguments if a.name in SMALL}
    torch.manual_seed(seed)
    method: Method[Any] = entry.load()(TABLE.spec, **{**small, **arguments})
    return method


def batch_of(method: Method[Any], step: int = 0) -> Batch:
    return sampler(TABLE, method.batch_kind, batch=16, seed=0)(step).on("cpu")


def losses(method: Method[Any], seed: int, step: int = 0) -> dict[str, float]:
    torch.manual_seed(seed)
    return {name: loss.value.item() for name, loss in method.losses(batch_of(method, step), 0).items()}


@pytest.mark.parametrize("name", TRAINED)
def test_a_step_changes_just_the_parameters_of_the_groups_returned(name: str) -> None:
    method = build(name)
    trainer = Trainer(method)
    for step in range(2):
        before = [p.detach().clone() for p in method.parameters()]
        torch.manual_seed(step)
        returned = method.losses(batch_of(method, step), step)
        torch.manual_seed(step)
        trainer.step(batch_of(method, step), step)
        allowed = {id(p) for group in returned for p in trainer.groups[group].parameters}
        changed = {
            id(p) for p, old in zip(method.parameters(), before, strict=True) if not torch.equal(p.detach(), old)
        }
        assert changed, "nothing moved"
        assert changed <= allowed
        for group in returned:
            assert changed & {id(p) for p in trainer.groups[group].parameters}, f"group {group} did not move"


@pytest.mark.parametrize("name", NAMES)
def test_losses_change_no_state(name: str) -> None:
    method = build(name)
    before = {key: value.clone() for key, value in method.state_dict().items()}
    batch = batch_of(method)
    copies = [getattr(batch, field).clone() for field in vars(batch)]
    method.losses(batch, 0)
    assert all(torch.equal(value, before[key]) for key, value in method.state_dict().items())
    assert all(torch.equal(getattr(batch, f), c) for f, c in zip(vars(batch), copies, strict=True))
    assert all(p.grad is None for p in method.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_terms_are_finite_detached_scalars_with_names(name: str) -> None:
    method = build(name)
    found = method.losses(batch_of(method), 0)
    assert set(found) <= set(method.groups())
    assert " ".join(term for loss in found.values() for term in loss.terms) == LOGGED[name]
    for loss in found.values():
        assert loss.value.shape == ()
        assert loss.value.requires_grad
        for term in loss.terms.values():
            assert term.shape == ()
            assert torch.isfinite(term)
            assert not term.requires_grad


@pytest.mark.parametrize("name", TRAINED)
def test_the_same_seed_gives_the_same_loss_and_another_seed_another(name: str) -> None:
    draws = bool(build(name).posterior(images(build(name), TABLE, batch_rows(TABLE, 2))))  # its code is Gaussian
    assert losses(build(name), 1) == losses(build(name), 1)
    assert losses(build(name), 1) != losses(build(name), 2, step=0 if draws else 1)


@pytest.mark.parametrize("name", NAMES)
def test_encode_keeps_length_and_order_and_is_deterministic(name: str) -> None:
    method = build(name).eval()
    x = images(method, TABLE, batch_rows(TABLE, 10))
    order = torch.from_numpy(np.random.default_rng(0).permutation(10))
    with torch.no_grad():
        once, twice, shuffled = method.encode(x), method.encode(x), method.encode(x[order])
    assert once
    for block, codes in once.items():
        assert len(codes) == 10
        assert torch.equal(codes, twice[block])
        assert torch.allclose(codes[order], shuffled[block], atol=1e-5)
        assert not torch.allclose(codes, shuffled[block], atol=1e-5), "the code does not depend on the image"


@pytest.mark.parametrize("name", NAMES)
def test_a_decoder_draws_images(name: str) -> None:
    method = build(name).eval()
    x = images(method, TABLE, batch_rows(TABLE, 5))
    with torch.no_grad():
        drawn = method.decode(method.encode(x))
    assert method.has_decoder == (drawn is not None)
    if drawn is not None:
        assert drawn.shape == x.shape
        assert 0 <= drawn.min() <= drawn.max() <= 1


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded_codes_are_equal(name: str, tmp_path: Path) -> None:
    method = build(name)
    run = fit(method, TABLE, steps=2, batch=8, out=str(tmp_path), show=False)
    x = images(method, TABLE, batch_rows(TABLE, 10))
    loaded = load_run(run.path)
    assert loaded.method is not method
    with torch.no_grad():
        before, after = method.encode(x), loaded.encode(x)
    assert all(torch.equal(before[block], after[block]) for block in before)
    assert loaded.arguments == method.arguments


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_argument_fails_at_once(name: str) -> None:
    with pytest.raises(TypeError, match="no_such_argument"):
        build(name, no_such_argument=1)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_a_limit_and_what_lies_beyond_is_refused(name: str) -> None:
    arguments = catalogue.find("methods", name).arguments
    numbers = [a for a in arguments if a.type.removesuffix(" | None") in ("int", "float")]
    assert numbers
    for argument in numbers:
        with pytest.raises(UserError, match=f"^{argument.name} of {name} must be .*, not -4"):
            build(name, **{argument.name: -4})


@pytest.mark.parametrize("name", FALLING)
def test_the_loss_falls_on_a_small_problem(name: str) -> None:
    entry = catalogue.find("methods", name)
    quick: dict[str, Any] = {a.name: 3e-3 for a in entry.arguments if a.name in ("lr", "decoder_lr")}
    method = build(name, **quick)
    trainer = Trainer(method)
    values = []
    for step in range(30 if method.has_decoder else 80):  # pictures are learned sooner than classes
        torch.manual_seed(step)
        values.append(trainer.step(batch_of(method, step), step)["loss"].item())
    assert np.mean(values[-10:]) < 0.8 * np.mean(values[:3])


@pytest.mark.parametrize("name", SOLVED)
def test_a_solution_has_a_lower_loss_than_the_weights_before(name: str) -> None:
    method = build(name)
    draw = sampler(TABLE, method.batch_kind, batch=5000, seed=0)
    start = method.losses(draw(0).on("cpu"), 0)["model"].value.item()
    method.solve(TABLE)
    best = method.losses(draw(0).on("cpu"), 0)["model"].value.item()
    assert best < start


@pytest.mark.parametrize("kind", ["methods", "data", "metrics"])
def test_every_entry_and_argument_is_explained(kind: str) -> None:
    for entry in catalogue.entries(kind).values():
        assert len(entry.summary) > 15, entry.name
        for argument in entry.arguments:
            assert argument.meaning, f"{entry.name}: {argument.name} has no line in the docstring"
            assert argument.type != "", f"{entry.name}: {argument.name}"


def test_argument_names_of_methods_data_and_training_do_not_collide() -> None:
    training = {argument.name for argument in catalogue.signature("train/fit.py", "fit")} | {"points", "data", "quiet"}
    methods = {a.name for entry in catalogue.entries("methods").values() for a in entry.arguments}
    data = {a.name for entry in catalogue.entries("data").values() for a in entry.arguments}
    drawing = {
        a.name
        for entry in catalogue.entries("methods").values()
        for a in catalogue.sampling(entry.traits["batch_kind"])
    }
    sets = [training, methods, data, drawing]
    assert sum(map(len, sets)) == len(set.union(*sets)), [a & b for a in sets for b in sets if a is not b and a & b]
