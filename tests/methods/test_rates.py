"""Which weights each optimiser holds, and at what rate."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toys import Squares
from unbraid import catalogue

ADAM, CRITIC, GAN = (0.9, 0.999), (0.5, 0.9), (0.5, 0.999)
OF_A_CRITIC = {"model": ("lr", ADAM, ("encoder", "decoder")), "critic": ("critic_lr", CRITIC, ("critic",))}
GROUPS: dict[str, dict[str, tuple[str, tuple[float, float], tuple[str, ...]]]] = {
    "factor_vae": OF_A_CRITIC,
    "beta_factor_tcvae": OF_A_CRITIC,
    "group_factor_vae": OF_A_CRITIC,
    "cvae": OF_A_CRITIC,
    "srb_vae": {**OF_A_CRITIC, "critic": ("critic_lr", CRITIC, ("target", "background"))},
    "swap_vae": {
        "model": ("lr", ADAM, ("encoder", "decoder")),
        "classifier": ("classifier_lr", ADAM, ("classifier",)),
    },
    "uai": {
        "model": ("lr", ADAM, ("encoder", "decoder", "classifier")),
        "adversary": ("adversary_lr", ADAM, ("f1", "f2")),
    },
    "intervention_ae": {
        "model": ("lr", ADAM, ("encoder",)),
        "decoder": ("decoder_lr", ADAM, ("decoder",)),
        "critic": ("critic_lr", ADAM, ("critic",)),
        "weights": ("weight_lr", ADAM, ("weigh",)),
    },
    "supcon": {
        "model": ("lr", ADAM, ("encoder",)),
        "classifier": ("classifier_lr", ADAM, ("classifier",)),
    },
    "infogan": {
        "model": ("lr", GAN, ("discriminator",)),
        "generator": ("generator_lr", GAN, ("generator",)),
    },
    "infogan_cr": {
        "model": ("lr", GAN, ("discriminator", "sharing")),
        "generator": ("generator_lr", GAN, ("generator",)),
    },
}


@pytest.mark.parametrize("name", GROUPS)
def test_each_group_has_its_own_weights_and_rate(name: str) -> None:
    entry, expected = catalogue.find("methods", name), GROUPS[name]
    rates = {rate: 0.01 * place for place, (rate, _, _) in enumerate(expected.values(), 1)}
    method: Any = entry.load()(Squares().spec, width=4, **rates)
    groups = method.groups()
    assert list(groups) == list(expected)
    assert set(rates) == {a.name for a in entry.arguments if a.name == "lr" or a.name.endswith("_lr")}
    for group, (rate, betas, modules) in expected.items():
        assert (groups[group].lr, groups[group].betas) == (rates[rate], betas), group
        held = {id(p) for p in groups[group].parameters}
        assert held == {id(p) for module in modules for p in getattr(method, module).parameters()}, group


def test_no_method_with_rates_is_left_out() -> None:
    several = {n for n, e in catalogue.entries("methods").items() if any(a.name.endswith("_lr") for a in e.arguments)}
    assert several == set(GROUPS)
