"""coverage(): what it says of an operator agrees with what compiling and differentiating it does."""

import pytest

import tensorplay as tp
from tensorplay.autograd import forward_ad
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.registry import tp as registry


@pytest.fixture(scope="module")
def found():
    return tp.compiler.coverage()


def test_every_operator_has_a_record(found):
    assert set(found) == {each.name for each in registry}
    counts = found.counts()
    assert counts["operators"] == len(found)
    assert counts["native"] + counts["kernel"] == len(found)
    assert sum(counts[kind] for kind in {each.kind for each in found.values()}) == len(found)


def test_composites_are_what_their_parts_are(found):
    assert found["softmax"].lowering == "native"
    assert found["linalg_solve"].lowering == "kernel"
    assert set(found["linalg_solve"].kernels) <= set(found.kernels)
    assert found["argwhere"].kernels == ("nonzero",)
    assert not found["argwhere"].differentiable
    assert found["masked_select"].differentiable


def test_native_means_a_program_without_calls_of_kernels(found):
    x = tp.randn(4, 5)
    for name in ("gelu", "softmax", "cumprod", "permute", "amax", "masked_fill"):
        assert found[name].lowering == "native", name
    program = tp.compile(lambda x: tp.softmax(x, 1), strict_native=True).explain(x)
    assert "ExternBuffer" not in program.buffers.text()
    program = tp.compile(lambda x: tp.linalg.qr(x)[0]).explain(x)
    assert "ExternBuffer" in program.buffers.text()
    assert found["linalg_qr"].lowering == "kernel"


def test_forward_mode_is_what_dual_numbers_do(found):
    x = tp.randn(3, 4)
    for name in ("sum", "softmax", "permute"):
        assert found[name].forward_mode, name
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x)
            arguments = {"sum": (), "softmax": (1,), "permute": ((1, 0),)}[name]
            result = getattr(tp, name)(dual, *arguments)
            assert forward_ad.unpack_dual(result).tangent is not None


def test_an_operator_declared_later_is_there():
    @structured(meta=lambda meta: meta.contiguous(), not_differentiable="a test")
    def coverage_probe(input: "Array"):  # noqa: F821  # annotations are the schema
        return input.copy()

    @composite()
    def coverage_probe_twice(input: "Tensor"):  # noqa: F821  # the registry reads this text
        return registry.coverage_probe(registry.coverage_probe(input))

    from tensorplay.ops.samples import Arg, sample

    for operator in (coverage_probe, coverage_probe_twice):
        operator.sample(lambda: iter([sample(Arg((3,)))]))
    try:
        found = tp.compiler.coverage()
        assert found["coverage_probe_twice"].kernels == ("coverage_probe",)
        assert found["coverage_probe"].reason == "a test"
        assert not found["coverage_probe_twice"].differentiable
    finally:
        for name in ("coverage_probe", "coverage_probe_twice"):
            del registry._operators[name]


def test_the_text_has_a_row_for_each_and_the_counts(found):
    text = found.text()
    rows = text.split("\n\n")[0].splitlines()[1:]
    assert [row.split()[0] for row in rows] == list(found)
    assert f"operators: {len(found)}" in text
    assert "kernels: " in text
    row = next(row for row in rows if row.startswith("linalg_solve "))
    assert "solve_matrices" in row
