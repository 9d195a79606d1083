"""no_grad, enable_grad and inference_mode as blocks and decorators, and what inference tensors refuse."""

import threading

import pytest

import tensorplay as tp
from tensorplay.core.errors import GradientError


@pytest.mark.parametrize("mode", [tp.no_grad, tp.no_grad(), tp.inference_mode, tp.inference_mode()])
def test_decorators_need_no_parentheses(mode):
    @mode
    def double(x):
        return x * 2

    assert double.__name__ == "double"
    assert not double(tp.ones(2, requires_grad=True)).requires_grad
    assert tp.is_grad_enabled()


def test_a_decorated_generator_runs_in_the_mode_and_its_caller_does_not():
    @tp.no_grad
    def steps():
        try:
            for _ in range(2):
                yield tp.is_grad_enabled()
        finally:
            seen.append(tp.is_grad_enabled())

    seen = []
    assert [(inside, tp.is_grad_enabled()) for inside in steps()] == [(False, True)] * 2
    running = steps()
    next(running)
    running.close()
    assert seen == [False, False]


def test_what_inference_mode_makes_is_not_for_autograd():
    w = tp.ones(3, requires_grad=True)
    with tp.inference_mode():
        assert tp.is_inference_mode_enabled()
        made = w * 2
        view = made[:2]
        made.add_(1)
        with tp.enable_grad():
            assert not (w * 2).requires_grad
        with tp.inference_mode(False):
            assert (w * 2).requires_grad
    assert made.is_inference()
    assert view.is_inference()
    assert not w.is_inference()
    assert (made + w).requires_grad
    for refused, words in (
        (lambda: made * w, "saved"),
        (lambda: made.add_(1), "in-place"),
        (made.requires_grad_, "clone"),
    ):
        with pytest.raises(GradientError, match=words):
            refused()
    (made.clone() * w).sum().backward()
    assert w.grad.tolist() == [3.0] * 3


def test_inference_mode_is_of_its_thread():
    found = []
    with tp.inference_mode():
        other = threading.Thread(target=lambda: found.append(tp.ones(1).is_inference()))
        other.start()
        other.join()
    assert found == [False]
