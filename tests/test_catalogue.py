from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

from unbraid import catalogue
from unbraid.errors import UserError


@pytest.mark.parametrize("kind", catalogue.KINDS)
def test_what_is_read_from_the_source_is_what_the_signature_says(kind: str) -> None:
    for entry in catalogue.entries(kind).values():
        loaded = entry.load()
        function = loaded.__init__ if inspect.isclass(loaded) else loaded
        keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert [p.name for p in keywords] == [a.name for a in entry.arguments], entry.name
        for parameter, argument in zip(keywords, entry.arguments, strict=True):
            assert argument.required == (parameter.default is parameter.empty), (entry.name, argument.name)
            if not argument.required:
                assert parameter.default == argument.default, (entry.name, argument.name)


def test_nothing_that_is_no_entry_is_listed() -> None:
    assert {"vae", "beta_vae", "factor_vae", "ada_gvae"} <= set(catalogue.entries("methods"))
    assert "contract" not in catalogue.entries("methods")
    assert {"batch", "sample", "split", "arrays"}.isdisjoint(catalogue.entries("data"))
    assert {entry.folder for entry in catalogue.entries("data").values()} == {"data/sets"}
    assert {"contract", "suite"}.isdisjoint(catalogue.entries("metrics"))


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(UserError, match="did you mean 'beta_vae'"):
        catalogue.find("methods", "betavae")
    with pytest.raises(UserError, match="did you mean 'beta'"):
        catalogue.check(catalogue.find("methods", "beta_vae"), {"betta": 1})
    with pytest.raises(UserError, match=r"there are: .*dsprites"):
        catalogue.find("data", "zzz")


def test_a_missing_argument_is_named_with_its_meaning() -> None:
    with pytest.raises(UserError, match="images needs --path: "):
        catalogue.check(catalogue.find("data", "images"), {})


@pytest.mark.parametrize(
    ("kind", "name", "given", "message"),
    [
        ("methods", "infogan_cr", {"codes": 0}, "codes of infogan_cr must be 1 or more, not 0"),
        (
            "methods",
            "intervention_ae",
            {"translator_width": 0},
            "translator_width of intervention_ae must be",
        ),
        ("methods", "salient_vae", {"salient": -1}, "salient of salient_vae must be 1 or more, not -1"),
        ("methods", "swap_vae", {"predictive": -1}, "predictive of swap_vae must be 0 or more, not -1"),
        ("methods", "factor_vae", {"critic_lr": 0.0}, "critic_lr of factor_vae must be more than 0"),
        ("methods", "vae", {"lr": float("inf")}, "lr of vae must be a finite number"),
        ("methods", "vae", {"latents": 2.5}, "latents of vae must be a whole number"),
        ("data", "dsprites", {"draw": -1}, "draw of dsprites must be 0 or more, not -1"),
        ("metrics", "translation", {"alpha": "x"}, "alpha of translation must be a number, not 'x'"),
        ("metrics", "translation", {"steps": True}, "steps of translation must be a whole number"),
        ("metrics", "variation_predictability", {"batch": 0}, "batch of variation_predictability must be 1 or more"),
    ],
)
def test_values_that_cannot_be_are_refused(kind: str, name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        catalogue.check(catalogue.find(kind, name), given)


def test_a_swap_model_may_do_without_classes() -> None:
    entry = catalogue.find("methods", "swap_vae")
    catalogue.check(entry, {"predictive": 0})
    with pytest.raises(UserError, match="predictive of swap_vae must be 0 or more"):
        catalogue.check(entry, {"predictive": -1})


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        ("import unbraid", ["torch", "numpy", "matplotlib", "ray", "sklearn"]),
        ("from unbraid.cli import main; main(['list', 'methods'])", ["torch", "numpy", "matplotlib", "sklearn"]),
        ("import unbraid; unbraid.fit", ["matplotlib", "ray", "torch._inductor"]),
        ("import unbraid.evaluate", ["torch", "matplotlib"]),
        ("import unbraid; unbraid.score_arrays", ["torch", "matplotlib", "sklearn", "scipy"]),
    ],
)
def test_nothing_heavy_is_imported_early(program: str, unwanted: list[str]) -> None:
    check = f"{program}\nimport sys\nfound = [m for m in {unwanted} if m in sys.modules]\nassert not found, found"
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
