"""Saving and loading tensors in the safetensors format."""

import io

import numpy as np
import pytest
from checks import LAYOUTS, REAL, laid_out, same_bits, tensor_of, to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.core.errors import ArgumentError, DTypeError
from tensorplay.serialization import _DTYPES, FileFormatError, load_metadata


@pytest.mark.parametrize("dtype", [*REAL, "complex64"])
def test_all_dtypes_and_shapes_come_back(tmp_path, dtype):
    tensors = {
        "scalar": tensor_of(1, dtype),
        "empty": tensor_of(np.zeros((0, 3)), dtype),
        "matrix": tensor_of([[0, 1], [2, 3]], dtype),
    }
    tp.save(tensors, tmp_path / "t.safetensors")
    found = tp.load(tmp_path / "t.safetensors")
    assert sorted(found) == sorted(tensors)
    for name, tensor in tensors.items():
        assert same_bits(to_array(found[name]), to_array(tensor))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_layouts_are_written_in_order(tmp_path, layout):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tp.save({"x": laid_out(values, layout)}, tmp_path / "x")
    assert same_bits(to_array(tp.load(tmp_path / "x")["x"]), values)


def test_a_model_comes_back(tmp_path):
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    tp.save(net.state_dict(), tmp_path / "net.safetensors", {"epoch": "3"})
    other = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    other.load_state_dict(tp.load(tmp_path / "net.safetensors"))
    x = tp.randn(4, 2)
    assert same_bits(to_array(net.eval()(x)), to_array(other.eval()(x)))
    assert load_metadata(tmp_path / "net.safetensors") == {"epoch": "3"}


def test_loaded_tensors_have_memory_of_their_own(tmp_path):
    tp.save({"a": tp.ones(2), "b": tp.ones(2)}, tmp_path / "x")
    found = tp.load(tmp_path / "x")
    found["a"].zero_()
    assert found["b"].tolist() == [1.0, 1.0]
    assert tp.load(tmp_path / "x")["a"].tolist() == [1.0, 1.0]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    tp.save({"a": tp.ones(2)}, tmp_path / "x")
    with pytest.raises(TypeError, match="'b' is of type set"):
        tp.save({"b": {3}}, tmp_path / "x")
    with pytest.raises(TypeError, match="complex128"):
        tp.save({"c": tp.ones(1, dtype=tp.complex128)}, tmp_path / "x")
    assert list(tp.load(tmp_path / "x")) == ["a"]
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_foreign_and_truncated_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("these are not tensors, not at all")
    with pytest.raises(FileFormatError, match="no safetensors file"):
        tp.load(tmp_path / "text")
    tp.save({"a": tp.ones(100)}, tmp_path / "x")
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match="no safetensors file"):
        tp.load(tmp_path / "half")
    with pytest.raises(FileNotFoundError):
        tp.load(tmp_path / "missing")


def test_training_resumes_where_it_was_saved(tmp_path):
    def training():
        net = tp.nn.Linear(2, 1)
        optimizer = tp.optim.Adam(net.parameters(), lr=0.1)
        return net, optimizer, tp.optim.lr_scheduler.StepLR(optimizer, 2)

    def steps(net, optimizer, schedule):
        for _ in range(3):
            optimizer.zero_grad()
            net(tp.ones(4, 2)).square().mean().backward()
            optimizer.step()
            schedule.step()

    first, second = training(), training()
    steps(*first)
    tp.save([each.state_dict() for each in first], tmp_path / "x")
    for each, state in zip(second, tp.load(tmp_path / "x"), strict=True):
        each.load_state_dict(state)
    for parts in (first, second):
        steps(*parts)
    assert tp.equal(first[0].weight, second[0].weight)
    assert first[1].param_groups[0]["lr"] == second[1].param_groups[0]["lr"]


@pytest.mark.parametrize(
    "tree",
    [
        3.5,
        {1: ("a", None, [True, float("inf")]), "empty": {}},
        {"a.b": 1, "a": {"b": [()]}},
    ],
)
def test_structures_come_back_as_they_were(tmp_path, tree):
    tp.save({"tree": tree, "x": tp.ones(1)}, tmp_path / "x")
    assert tp.load(tmp_path / "x")["tree"] == tree


def test_tensors_of_equal_paths_are_kept_apart(tmp_path):
    tp.save({"a.b": tp.zeros(1), "a": {"b": tp.ones(1)}}, tmp_path / "x")
    found = tp.load(tmp_path / "x")
    assert found["a.b"].tolist() == [0.0]
    assert found["a"]["b"].tolist() == [1.0]


@pytest.mark.parametrize("dtype", sorted(_DTYPES))
def test_a_file_in_memory_has_every_dtype(dtype):
    file = io.BytesIO()
    saved = tp.tensor([[0, 1, 2]]).to(_DTYPES[dtype])
    tp.save({"a": saved, "none": saved[:0]}, file)
    found = tp.load(io.BytesIO(file.getvalue()))
    assert found["a"].dtype is saved.dtype
    assert found["a"].tolist() == saved.tolist()
    assert found["none"].shape == (0, 3)


def test_a_dtype_that_is_not_known_is_named():
    header = b'{"a":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}}'
    file = io.BytesIO(len(header).to_bytes(8, "little") + header + b"0")
    with pytest.raises(DTypeError, match="F8_E5M2"):
        tp.load(file)


def test_a_container_in_itself_is_refused():
    cycle = {"a": [1]}
    cycle["a"].append(cycle)
    with pytest.raises(ArgumentError, match=r"'a\.1' is a container that it lies in"):
        tp.save(cycle, io.BytesIO())


def test_a_file_in_memory_is_read_and_written():
    file = io.BytesIO()
    tp.save({"x": tp.ones(2)}, file, {"epoch": "3"})
    assert tp.load(io.BytesIO(file.getvalue()))["x"].tolist() == [1.0, 1.0]
    assert load_metadata(io.BytesIO(file.getvalue())) == {"epoch": "3"}
    with pytest.raises(FileFormatError, match="the file is no safetensors file"):
        tp.load(io.BytesIO(b"nothing of the kind"))
