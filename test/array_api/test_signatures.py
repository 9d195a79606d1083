"""Names and signatures are the standard's: parameters, which are positional or keyword-only, and their defaults."""

import inspect
from inspect import Parameter

import pytest

import tensorplay as tp
from tensorplay import array_api as xp

strict = pytest.importorskip("array_api_strict", minversion="2.5")
FLAGS = frozenset(
    name
    for name in strict.__all__
    if "array_api_strict" in name.lower() or "ArrayAPIStrict" in name
)
OWN = frozenset({"Device", "__version__"})
"""Names of the oracle that are no part of the standard."""
OPERATORS = (
    ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
)  # fmt: skip
METHODS = [
    *["__abs__", "__array_namespace__", "__bool__", "__complex__", "__dlpack__", "__dlpack_device__", "__float__", "__getitem__", "__index__", "__int__", "__invert__", "__neg__", "__pos__", "__setitem__", "to_device", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"],
    *(f"__{prefix}{name}__" for prefix in ("", "i", "r") for name in OPERATORS),
]  # fmt: skip


def _expand_dims(x, /, axis=0): ...


STANDARD = {"expand_dims": inspect.signature(_expand_dims)}
"""Signatures that the oracle has from the next version; this one serves both."""


def names():
    found = [(name, strict, xp) for name in strict.__all__ if name not in FLAGS and name not in OWN]
    found += [(name, strict.linalg, xp.linalg) for name in strict.linalg.__all__]
    found += [(name, strict.fft, xp.fft) for name in strict.fft.__all__]
    return found


@pytest.mark.parametrize(("name", "theirs", "ours"), names())
def test_the_namespace_has_every_name_of_the_standard(name, theirs, ours):
    assert hasattr(ours, name)
    if inspect.isfunction(getattr(theirs, name)):
        compare(
            inspect.signature(getattr(ours, name)),
            STANDARD.get(name) or inspect.signature(getattr(theirs, name)),
        )
        compiled = tp.compile(getattr(ours, name))
        assert inspect.signature(compiled) == inspect.signature(getattr(ours, name))


def compare(ours, theirs):
    """Every parameter of theirs is one of ours, at its place or by its name, with its default."""
    mine = list(ours.parameters.values())
    positional = [p for p in theirs.parameters.values() if p.kind is not Parameter.KEYWORD_ONLY]
    for place, parameter in enumerate(positional):
        assert mine[place].kind is parameter.kind
        if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            assert mine[place].name == parameter.name
    for parameter in theirs.parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            assert ours.parameters[parameter.name].kind is Parameter.KEYWORD_ONLY
            assert ours.parameters[parameter.name].default == plain_default(parameter)
    required = [
        p for p in mine if p.default is Parameter.empty and p.kind is not Parameter.VAR_POSITIONAL
    ]
    theirs_required = [
        p
        for p in theirs.parameters.values()
        if p.default is Parameter.empty and p.kind is not Parameter.VAR_POSITIONAL
    ]
    assert len(required) == len(theirs_required)


def plain_default(parameter):
    """The oracle marks arguments of later versions and defaults that depend on flags with objects of its own."""
    return (
        None
        if type(parameter.default).__module__.startswith("array_api_strict")
        else parameter.default
    )


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("cls", [tp.Tensor, xp.Array])
def test_arrays_have_every_method(cls, name):
    if cls is tp.Tensor and name == "__imatmul__":
        pytest.skip("a @= b is a = a @ b for tensors, as in PyTorch")
    compare_methods(
        inspect.signature(getattr(cls, name)),
        SHAPES_OF.get(name) or inspect.signature(shape_of(name)),
    )


def compare_methods(ours, theirs):
    """As many positional parameters, and the same keyword-only ones with the same defaults."""
    for kind in (
        (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD),
        (Parameter.KEYWORD_ONLY,),
    ):
        mine, wanted = (
            [p for p in each.parameters.values() if p.kind in kind] for each in (ours, theirs)
        )
        assert [p.default for p in mine] == [p.default for p in wanted]
        if kind == (Parameter.KEYWORD_ONLY,):
            assert {p.name for p in mine} == {p.name for p in wanted}


def shape_of(name):
    if name == "__setitem__":
        return lambda self, key, value: None
    if name == "__getitem__" or name.lstrip("_").rstrip("_") in {
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
    }:
        return lambda self, other: None
    is_binary = any(
        name == f"__{prefix}{each}__" for prefix in ("", "i", "r") for each in OPERATORS
    )
    return (lambda self, other: None) if is_binary else (lambda self: None)


def _namespace(self, *, api_version=None): ...
def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None): ...
def _to_device(self, device, /, *, stream=None): ...


SHAPES_OF = {
    "__array_namespace__": inspect.signature(_namespace),
    "__dlpack__": inspect.signature(_dlpack),
    "to_device": inspect.signature(_to_device),
}


@pytest.mark.parametrize("name", ["dtype", "device", "mT", "ndim", "shape", "size", "T"])
def test_arrays_have_every_attribute(name):
    assert getattr(xp.ones((2, 2)), name) is not None
    assert getattr(tp.ones(2, 2), name) is not None


def test_the_size_is_a_number_that_can_be_called():
    x = tp.ones(2, 3)
    assert x.size == 6
    assert isinstance(x.size, int)
    assert x.size() == (2, 3)
    assert x.size(0) == x.size(dim=-2) == 2
    assert tp.ones(()).size == 1
    with pytest.raises(IndexError, match="dimension 2 does not exist"):
        x.size(2)
    assert tp.compile(lambda x: x * x.size + x.size(0))(x)[0, 0].item() == 8.0
