"""Text of tensors: PyTorch's, so that examples look familiar."""

import pytest

import tensorplay as tp

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    "tensor, text",
    [
        (tp.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (tp.tensor([1.5, -2.0]), "tensor([ 1.5000, -2.0000])"),
        (tp.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (tp.tensor([NAN, 1.0]), "tensor([nan, 1.])"),
        (tp.tensor([INF, -2.5]), "tensor([    inf, -2.5000])"),
        (tp.tensor(3.25), "tensor(3.2500)"),
        (tp.tensor([True, False]), "tensor([ True, False])"),
        (tp.tensor([1, 2, -300]), "tensor([   1,    2, -300])"),
        (tp.tensor([]), "tensor([])"),
        (tp.zeros(2, 0), "tensor([], size=(2, 0))"),
        (tp.tensor([1], dtype=tp.int32), "tensor([1], dtype=tensorplay.int32)"),
        (tp.tensor([1.5], dtype=tp.bfloat16), "tensor([1.5000], dtype=tensorplay.bfloat16)"),
        (tp.zeros(2, requires_grad=True), "tensor([0., 0.], requires_grad=True)"),
        (tp.tensor([1 + 2j, -1.5 - 0.25j]), "tensor([ 1.0000+2.0000j, -1.5000-0.2500j])"),
        (tp.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
        (tp.tensor([[1.0, -2.0], [3.0, 100.0]]), "tensor([[  1.,  -2.],\n        [  3., 100.]])"),
    ],
)
def test_text(tensor, text):
    assert repr(tensor) == text


def test_long_rows_wrap():
    lines = repr(tp.arange(40)).splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith("        18, 19")


def test_blocks_are_set_apart():
    assert "]],\n\n        [[" in repr(tp.zeros(2, 2, 2))


def test_grad_fn_is_named():
    x = tp.ones(2, requires_grad=True)
    assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward>)"


@pytest.fixture
def printing():
    """Print options as they are by default, afterwards too."""
    yield
    tp.set_printoptions(profile="default")


@pytest.mark.usefixtures("printing")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"precision": 2}, "tensor([0.50, 0.25, 0.12, 0.06, 0.03, 0.02])"),
        ({"sci_mode": True, "precision": 1, "threshold": 5, "edgeitems": 1}, "tensor([5.0e-01,  ..., 1.6e-02])"),
        ({"profile": "short", "linewidth": 30}, "tensor([0.50, 0.25, 0.12,\n        0.06, 0.03, 0.02])"),
    ],
)  # fmt: skip
def test_print_options(options, text):
    tp.set_printoptions(**options)
    assert repr(2.0 ** -tp.arange(1.0, 7.0)) == text


@pytest.mark.usefixtures("printing")
def test_print_options_that_make_no_sense_change_nothing():
    with pytest.raises(ValueError, match="profile must be one of"):
        tp.set_printoptions(precision=1, profile="long")
    with pytest.raises(ValueError, match="linewidth must be at least 1, found 0"):
        tp.set_printoptions(linewidth=0)
    with pytest.raises(ValueError, match="edgeitems"):
        tp.set_printoptions(precision=1, edgeitems=-1)
    assert tp.get_printoptions().precision == 4
