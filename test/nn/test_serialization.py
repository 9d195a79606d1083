"""Saving and loading tensors in the safetensors format."""

import numpy as np
import pytest
from checks import LAYOUTS, REAL, laid_out, same_bits, tensor_of, to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.serialization import FileFormatError, load_metadata


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
    with pytest.raises(TypeError, match="'b' is of type int"):
        tp.save({"b": 3}, tmp_path / "x")
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
