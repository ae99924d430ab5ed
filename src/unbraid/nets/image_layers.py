"""The convolution that halves an image and the one that doubles it, fast also where the image has few channels.

torch computes the sum that both need, forward in the one and backward in the other, as if an image had 8 or more
channels. As one 2x2 convolution with four times the outputs, which are the pixels of each 2x2 square, it costs less
(benchmarks/image_layers.py).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEW = 4  # channels up to which this is faster


def doubled(x: Tensor, weight: Tensor) -> Tensor:
    """conv_transpose2d(x, weight, stride=2, padding=1) for kernels of 4x4. [b, i, h, w], [i, o, 4, 4] -> [b, o, 2h, 2w]

    Pixel 2r + a of the output comes from rows r + a - 1 and r + a of the input, by rows 3 - a and 1 - a of the kernel.
    """
    inputs, outputs = weight.shape[:2]
    batch, _, height, width = x.shape
    taps = weight.reshape(inputs, outputs, 2, 2, 2, 2).flip(2, 4)  # [i, o, input row, row, input column, column]
    kernel = taps.permute(3, 5, 1, 0, 2, 4).reshape(4 * outputs, inputs, 2, 2)
    squares = F.conv2d(x, kernel.contiguous(memory_format=torch.channels_last), padding=1).permute(0, 2, 3, 1)
    pixels = squares.reshape(batch, height + 1, width + 1, 2, 2, outputs).permute(0, 1, 3, 2, 4, 5)
    image = pixels.reshape(batch, 2 * height + 2, 2 * width + 2, outputs)[:, 1:-1, 1:-1]
    return image.permute(0, 3, 1, 2)


class Double(torch.autograd.Function):
    """`doubled`, with the gradients of torch's own layer."""

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor) -> Tensor:
        context.save_for_backward(x, weight)
        return doubled(x, weight)

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (x, weight), (slope,) = context.saved_tensors, slopes
        needed = context.needs_input_grad
        of_input = Halve.apply(slope, weight) if needed[0] else None  # type: ignore[no-untyped-call]
        return of_input, _of_weight(x, slope, weight) if needed[1] else None


class Halve(torch.autograd.Function):
    """conv2d with a 4x4 kernel, stride 2 and padding 1, whose gradient in the image is `doubled`."""

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor) -> Tensor:
        context.save_for_backward(x, weight)
        return F.conv2d(x, weight, stride=2, padding=1)

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (x, weight), (slope,) = context.saved_tensors, slopes
        needed = context.needs_input_grad
        of_input = Double.apply(slope, weight) if needed[0] else None  # type: ignore[no-untyped-call]
        return of_input, _of_weight(slope, x, weight) if needed[1] else None


def _of_weight(small: Tensor, image: Tensor, weight: Tensor) -> Tensor:
    """The gradient of the kernel between an image and its half, which is the same both ways."""
    found: Tensor = torch.ops.aten.convolution_backward(
        small, image, weight, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False]
    )[1]
    return found


def _worthwhile(x: Tensor, channels: int) -> bool:
    return channels <= FEW and torch.is_grad_enabled() and x.device.type == "cpu" and x.dim() == 4


def _plus(image: Tensor, bias: Tensor | None) -> Tensor:
    return image if bias is None else image + bias[:, None, None]


class HalvingConv(nn.Conv2d):
    """A convolution that halves an image."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, 4, 2, 1)

    def forward(self, input: Tensor) -> Tensor:
        if not (input.requires_grad and _worthwhile(input, self.in_channels)):
            return super().forward(input)
        return _plus(Halve.apply(input, self.weight), self.bias)  # type: ignore[no-untyped-call]


class DoublingConv(nn.ConvTranspose2d):
    """A transposed convolution that doubles an image."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, 4, 2, 1)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        if output_size is not None or not _worthwhile(input, self.out_channels):
            return super().forward(input, output_size)
        return _plus(Double.apply(input, self.weight), self.bias)  # type: ignore[no-untyped-call]
