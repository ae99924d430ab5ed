"""Training speed as ratios, measured in one run: `python benchmarks/train.py [--rounds 5] [--json FILE]`.

The work: beta-VAE, the study's convolutional network, 64x64, batch 64. Each variant runs in a process of its own, the
variants take turns, and the median over the rounds counts. Stop everything else on the machine first.

    bare        a plain PyTorch loop: NCHW, torch.optim.Adam, same arithmetic, images drawn by the same sampler
    loop        a bare loop on our network, optimiser and memory settings against unbraid.fit, step by step in turns
    unbraid     unbraid.fit, with everything that it does (drawing, logging, checks, checkpoints)
    pythae      pythae's trainer on the same network, where it is installed
    disent      disent's framework under Lightning, where it is installed
    sampler     images drawn per second, without training
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

BATCH, WARM = 64, 10
VARIANTS = ("bare", "unbraid", "loop", "pythae", "disent", "sampler")
BARS = {"unbraid / bare": 1.5, "unbraid / pythae": 1.5, "unbraid / disent": 1.5}
LOOP_BAR, SAMPLER_BAR = 0.97, 10.0


def parts() -> tuple[Any, Any, Any]:
    import torch

    from unbraid.data.batch import Images
    from unbraid.data.samplers import sampler
    from unbraid.data.sets.dsprites import DSprites
    from unbraid.methods.beta_vae import BetaVAE

    table = DSprites()
    torch.manual_seed(0)
    return BetaVAE(table.spec), table, sampler(table, Images, batch=BATCH, seed=0)


def rate(times: list[float]) -> float:
    """Images per second from the moments at which steps ended, without the first few."""
    return BATCH * (len(times) - 1 - WARM) / (times[-1] - times[WARM])


def bare_step(method: Any, adam: Any, batch: Any) -> None:
    """One update in plain PyTorch."""
    import torch

    from unbraid.maths import gaussian

    x = batch.on("cpu").x
    mu, log_var = method.encoder(x).chunk(2, -1)
    logits = method.decoder(gaussian.sample(mu, log_var))
    rec = torch.nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    loss = rec + 4 * gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
    adam.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    adam.step()


def bare(steps: int) -> float:
    import torch

    method, _, draw = parts()
    for parameter in method.parameters():
        parameter.data = parameter.data.contiguous(memory_format=torch.contiguous_format)
    adam = torch.optim.Adam(method.parameters(), lr=1e-4)
    times = []
    for step in range(steps):
        bare_step(method, adam, draw(step))
        times.append(time.perf_counter())
    return rate(times)


def unbraid(steps: int) -> float:
    from unbraid.train.fit import fit

    method, table, _ = parts()
    times: list[float] = []
    method.after_step = lambda step: times.append(time.perf_counter())
    with tempfile.TemporaryDirectory() as out:
        fit(method, table, steps=steps, batch=BATCH, out=out, show=False)
    return rate(times)


def loop(steps: int) -> float:
    """Time of a bare loop over time of ours, on twin networks that take turns step by step in one process."""
    import torch

    from unbraid.train.fit import fit

    (method, table, draw), (twin, _, _) = parts(), parts()
    adam = torch.optim.Adam(twin.parameters(), lr=1e-4, fused=True)
    ours, theirs, last = [], [], [time.perf_counter()]

    def after_step(step: int) -> None:
        ours.append(time.perf_counter() - last[0])
        begin = time.perf_counter()
        bare_step(twin, adam, draw(step))
        theirs.append(time.perf_counter() - begin)
        last[0] = time.perf_counter()

    method.after_step = after_step
    with tempfile.TemporaryDirectory() as out:
        fit(method, table, steps=steps, batch=BATCH, out=out, show=False)
    return sum(theirs[WARM:]) / sum(ours[WARM:])


def pythae(steps: int) -> float:
    import torch
    from pythae.data.datasets import BaseDataset
    from pythae.models import BetaVAE, BetaVAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.trainers import BaseTrainer, BaseTrainerConfig

    method, _, draw = parts()
    times: list[float] = []

    class Encoder(BaseEncoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = method.encoder

        def forward(self, x: Any) -> Any:
            times.append(time.perf_counter())
            mu, log_var = self.net(x).chunk(2, -1)
            return ModelOutput(embedding=mu, log_covariance=log_var)

    class Decoder(BaseDecoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = method.decoder.net

        def forward(self, z: Any) -> Any:
            return ModelOutput(reconstruction=torch.sigmoid(self.net(z)))

    method.to(memory_format=torch.contiguous_format)
    images = torch.cat([draw(step).on("cpu").x for step in range(steps)])
    model = BetaVAE(BetaVAEConfig(input_dim=(1, 64, 64), latent_dim=10, beta=4.0, reconstruction_loss="bce"))
    model.encoder, model.decoder = Encoder(), Decoder()
    with tempfile.TemporaryDirectory() as out:
        config = BaseTrainerConfig(
            output_dir=out, num_epochs=1, per_device_train_batch_size=BATCH, learning_rate=1e-4, no_cuda=True
        )
        BaseTrainer(model, BaseDataset(images, torch.zeros(len(images))), training_config=config).train()
    return rate(times[:steps])


def stand_in_for_torchvision() -> None:
    """disent imports torchvision for data sets that are not used here; it has no CPU build beside some torch builds."""
    if importlib.util.find_spec("torchvision"):
        return
    for part in ("", ".datasets", ".models", ".transforms", ".transforms.functional"):
        name = "torchvision" + part
        module = types.ModuleType(name)
        module.__file__, module.__path__ = name, []
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        module.__getattr__ = lambda attribute: type(attribute, (), {})  # type: ignore[method-assign]
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


def disent(steps: int) -> float:
    import lightning
    import torch

    stand_in_for_torchvision()
    from disent.frameworks.vae import BetaVae
    from disent.model import AutoEncoder, DisentDecoder, DisentEncoder

    method, _, draw = parts()
    times: list[float] = []

    class Encoder(DisentEncoder):  # type: ignore[misc]
        def encode(self, x: Any) -> Any:
            times.append(time.perf_counter())
            return method.encoder(x)

    class Decoder(DisentDecoder):  # type: ignore[misc]
        def decode(self, z: Any) -> Any:
            return method.decoder.net(z)

    method.to(memory_format=torch.contiguous_format)
    encoder, decoder = Encoder((1, 64, 64), 10, 2), Decoder((1, 64, 64), 10)
    encoder.net, decoder.net = method.encoder, method.decoder.net  # so that the framework finds the parameters
    model = AutoEncoder(encoder, decoder)
    framework = BetaVae(model=model, cfg=BetaVae.cfg(optimizer="adam", optimizer_kwargs={"lr": 1e-4}, beta=0.01))
    batches: Any = [{"x_targ": (draw(step).on("cpu").x,)} for step in range(steps)]
    trainer = lightning.Trainer(max_steps=steps, logger=False, enable_checkpointing=False, accelerator="cpu")
    trainer.fit(framework, torch.utils.data.DataLoader(batches, batch_size=None))
    return rate(times)


def sample(steps: int) -> float:
    _, _, draw = parts()
    times = []
    for step in range(steps):
        draw(step).on("cpu")
        times.append(time.perf_counter())
    return rate(times)


def measure(variant: str, steps: int) -> float:
    """Images per second of one variant, in this process."""
    functions = {"bare": bare, "unbraid": unbraid, "loop": loop, "pythae": pythae, "disent": disent, "sampler": sample}
    return functions[variant](steps)


def spawn(variant: str, steps: int) -> float:
    """One variant in a fresh process; ours with the thread settings that `unbraid run` chooses."""
    environment = dict(os.environ)
    if variant in ("unbraid", "loop", "sampler"):
        from unbraid import machine

        environment["GOMP_SPINCOUNT"] = os.environ.get("GOMP_SPINCOUNT", machine.SPIN_WHEN_QUIET)
    words = [sys.executable, __file__, "--variant", variant, "--steps", str(steps)]
    result = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{variant} failed:\n{result.stderr[-2000:]}")
    return float(result.stdout.strip().splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.variant:
        print(measure(arguments.variant, arguments.steps))
        return 0
    present = [v for v in VARIANTS if v not in ("pythae", "disent") or importlib.util.find_spec(v)]
    found: dict[str, list[float]] = {variant: [] for variant in present}
    for _ in range(arguments.rounds):
        for variant in present:
            found[variant].append(spawn(variant, arguments.steps * (10 if variant == "sampler" else 1)))
    medians = {variant: statistics.median(values) for variant, values in found.items()}
    for variant in (v for v in VARIANTS if v != "loop"):
        print(f"{variant:10s}", f"{medians[variant]:8.0f} images/s" if variant in medians else "not installed")
    ratios = {name: medians["unbraid"] / medians[name.split()[-1]] for name in BARS if name.split()[-1] in medians}
    ratios |= {
        "our loop / bare loop": medians.pop("loop"),
        "sampler / unbraid": medians["sampler"] / medians["unbraid"],
    }
    bars = BARS | {"our loop / bare loop": LOOP_BAR, "sampler / unbraid": SAMPLER_BAR}
    for name, ratio in ratios.items():
        bar = bars[name]
        print(f"{name:22s} {ratio:6.2f}   bar {bar:5.2f}   {'met' if ratio >= bar else 'NOT met'}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"images_per_second": medians, "ratios": ratios}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
