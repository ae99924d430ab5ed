"""What is saved and put back."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.toys import Squares
from unbraid.methods.vae import VAE
from unbraid.train.checkpoint import load_state, load_weights, save_state, save_weights
from unbraid.train.history import History


@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")
def test_terms_of_an_open_window_come_back_on_the_device_of_the_method(tmp_path: Path) -> None:
    method, history = VAE(Squares().spec), History()
    history.add(0, {"loss": torch.ones(())})
    save_state(tmp_path, method, {}, history, 1)
    again = History()
    assert load_state(tmp_path, method.to("meta"), {}, again) == 1
    ((step, terms),) = again.open
    assert step == 0 and terms["loss"].device.type == "meta"


def test_a_tensor_under_two_names_is_saved(tmp_path: Path) -> None:
    method = VAE(Squares().spec)
    name, parameter = next(iter(method.named_parameters()))
    method.register_parameter("tied", parameter)
    save_weights(method, tmp_path)
    saved = parameter.detach().clone()
    torch.nn.init.zeros_(parameter)
    load_weights(method, tmp_path)
    torch.testing.assert_close(method.state_dict()[name], saved)
