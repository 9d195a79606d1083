"""Convolution, pooling, padding and rearranging layers: settings, texts, and that they are their functions."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn import functional

X1, X2, X3 = tp.randn(2, 4, 8), tp.randn(2, 4, 8, 8), tp.randn(2, 4, 6, 6, 6)

CASES = [
    (nn.Conv1d(4, 6, 3, groups=2), X1, "Conv1d(4, 6, kernel_size=(3,), stride=(1,), groups=2)"),
    (nn.Conv3d(4, 2, 2, bias=False), X3,
     "Conv3d(4, 2, kernel_size=(2, 2, 2), stride=(1, 1, 1), bias=False)"),
    (nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode="reflect"), X2,
     "Conv2d(4, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 2), padding_mode=reflect)"),
    (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), X2,
     ("ConvTranspose2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), "
      "output_padding=(1, 1), groups=2)")),
    (nn.MaxPool3d(2), X3,
     "MaxPool3d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
    (nn.AvgPool1d(2), X1, "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    (nn.LPPool2d(2, 3), X2, "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"),
    (nn.AdaptiveMaxPool2d((3, None)), X2, "AdaptiveMaxPool2d(output_size=(3, None))"),
    (nn.ConstantPad1d(2, 3.5), X1, "ConstantPad1d(padding=(2, 2), value=3.5)"),
    (nn.ZeroPad2d((1, 0, 2, 0)), X2, "ZeroPad2d((1, 0, 2, 0))"),
    (nn.CircularPad3d(1), X3, "CircularPad3d((1, 1, 1, 1, 1, 1))"),
    (nn.Unfold(3, padding=1), X2, "Unfold(kernel_size=3, dilation=1, padding=1, stride=1)"),
    (nn.PixelShuffle(2), X2, "PixelShuffle(upscale_factor=2)"),
    (nn.ChannelShuffle(2), X2, "ChannelShuffle(groups=2)"),
    (nn.Upsample(scale_factor=2), X2, "Upsample(scale_factor=2.0, mode='nearest')"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case[0]).__name__)
def test_layers_are_as_printed_and_train(case):
    layer, x, text = case
    assert repr(layer) == text
    x = x.clone().requires_grad_()
    layer(x).sum().backward()
    assert x.grad.shape == x.shape
    assert all(each.grad is not None for each in layer.parameters())


def test_weights_have_the_layout_of_their_kind():
    assert nn.Conv2d(4, 6, (3, 2), groups=2).weight.shape == (6, 2, 3, 2)
    assert nn.ConvTranspose2d(4, 6, (3, 2), groups=2).weight.shape == (4, 3, 3, 2)
    assert list(nn.Conv1d(1, 1, 1).state_dict()) == ["weight", "bias"]


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes_pad_first(mode):
    layer = nn.Conv2d(4, 3, (3, 4), padding="same", padding_mode=mode)
    padded = functional.pad(X2, (1, 2, 1, 1), mode)
    right = functional.conv2d(padded, layer.weight, layer.bias)
    np.testing.assert_allclose(
        layer(X2).detach().numpy(), right.detach().numpy(), rtol=1e-5, atol=1e-5
    )


def test_the_size_of_a_transposed_convolution_is_chosen():
    layer = nn.ConvTranspose1d(4, 2, 3, stride=2)
    assert [layer(X1, output_size=(n,)).shape[-1] for n in (17, 18)] == [17, 18]
    with pytest.raises(ValueError, match="not possible"):
        layer(X1, output_size=(19,))


def test_unpooled_elements_are_where_they_were():
    found, places = nn.MaxPool2d(2, return_indices=True)(X2)
    back = nn.MaxUnpool2d(2)(found, places)
    mask = back != 0
    np.testing.assert_array_equal(back[mask].numpy(), X2[mask].numpy())
    assert mask.sum().item() == found.numel()


def test_settings_that_do_not_fit_are_refused():
    for match, make in (
        ("must divide", lambda: nn.Conv1d(4, 6, 3, groups=3)),
        ("padding_mode", lambda: nn.Conv1d(4, 6, 3, padding_mode="mirror")),
        ("padding_mode", lambda: nn.ConvTranspose1d(4, 6, 3, padding_mode="reflect")),
        ("stride 1", lambda: nn.Conv1d(4, 6, 3, stride=2, padding="same")),
        ("'full'", lambda: nn.Conv1d(4, 6, 3, padding="full")),
    ):
        with pytest.raises(ValueError, match=match):
            make()
