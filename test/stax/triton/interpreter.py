"""Runs printed Triton kernels on NumPy arrays in Triton's interpreter, in a process of its own.

The interpreter replaces parts of `triton.language` for good, and is chosen when Triton is first imported: so it lives in
a child, which serves pickled requests. It needs no GPU and no other framework. What the interpreter lacks is added
here: `libdevice` by NumPy and SciPy, and reductions and scans by any function, on whole slices at once.
"""

import importlib.util
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np


class Interpreter:
    """The parent's end: `run(kernel, arrays)` returns the arrays as the kernel left them."""

    def __init__(self, folder):
        self.folder = folder
        self.child = subprocess.Popen(
            [sys.executable, __file__],
            env={**os.environ, "TRITON_INTERPRET": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, kernel, arrays, blocks=None):
        """`arrays` by buffer name ("" for the checks' number); each is copied, changed, and returned."""
        blocks = {**kernel.blocks, **(blocks or {})}
        path = Path(self.folder) / f"k{abs(hash(kernel.source))}.py"
        path.write_text(kernel.source)
        request = {
            "path": str(path),
            "name": kernel.name,
            "arrays": [(p.type, np.array(arrays[p.buffer])) for p in kernel.parameters],
            "blocks": blocks,
            "grid": kernel.grid_for(blocks),
        }
        send(self.child.stdin, request)
        result = receive(self.child.stdout)
        if isinstance(result, str):
            raise RuntimeError(f"{result}\n{kernel.source}")  # noqa: TRY004  # a traceback from the child
        return dict(zip([p.buffer for p in kernel.parameters], result, strict=True))

    def close(self):
        self.child.stdin.close()
        self.child.wait(timeout=10)
        self.child.stdout.close()


def send(stream, message):
    data = pickle.dumps(message)
    stream.write(struct.pack("<q", len(data)) + data)
    stream.flush()


def receive(stream):
    head = stream.read(8)
    if len(head) < 8:
        return None
    return pickle.loads(stream.read(struct.unpack("<q", head)[0]))  # noqa: S301  # from our own child


# ---- the child ---------------------------------------------------------------------------------------------------


class Pointer:
    """What the interpreter takes for a tensor: it only wants the address of its memory and a dtype."""

    def __init__(self, array, kind):
        self.array = array
        self.dtype = f"triton.{kind.removeprefix('*')}"

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *args, **kwargs):
        return Pointer.__new__(Pointer)

    def set_(self, storage, *args):
        self.__dict__.update(storage.__dict__)

    def copy_(self, other):
        pass

    def storage_offset(self):
        return 0

    def size(self):
        return ()

    stride = size


class Library:
    """`libdevice`: functions by NumPy and SciPy, in double precision for single, then rounded."""

    def __getattr__(self, name):
        import scipy.special
        import triton.language as tl
        from triton.runtime.interpreter import TensorHandle

        names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
        names |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}
        names |= {"lgamma": "gammaln", "normcdf": "ndtr", "normcdfinv": "ndtri"}
        names |= {"cyl_bessel_i0": "i0", "cyl_bessel_i1": "i1"}
        exact = {"fmod", "copysign", "nextafter", "trunc", "rint", "floor", "ceil", "sqrt"}
        name_here = names.get(name, name)
        modules = (scipy.special, np) if name.startswith("cyl_") else (np, scipy.special)
        function = getattr(modules[0], name_here, None) or getattr(modules[1], name_here)

        if name == "lgamma":  # SciPy's is -inf at -inf

            def function(x):
                return scipy.special.gammaln(np.where(x == -np.inf, np.inf, x))

        def call(*operands):
            dtype = operands[0].handle.data.dtype
            wide = dtype if name in exact else np.float64
            result = function(*(o.handle.data.astype(wide) for o in operands)).astype(dtype)
            shape = list(result.shape) if operands[0].type.is_block() else []
            scalar = operands[0].dtype
            kind = tl.block_type(scalar, shape) if shape else scalar
            return tl.tensor(TensorHandle(result, scalar), kind)

        return call


def reduce_slices(self, inputs):
    """Merge by halves: every step is one call of the merging function on blocks."""
    datas = (
        [np.moveaxis(i.handle.data, self.axis or 0, 0) for i in inputs]
        if self.axis is not None
        else [i.handle.data.reshape(-1) for i in inputs]
    )
    while datas[0].shape[0] > 1:
        half = datas[0].shape[0] // 2
        first = [self.to_tensor(d[:half], i.dtype) for d, i in zip(datas, inputs, strict=True)]
        second = [self.to_tensor(d[half:], i.dtype) for d, i in zip(datas, inputs, strict=True)]
        merged = self.combine_fn.fn(*first, *second)
        merged = merged if isinstance(merged, tuple) else (merged,)
        datas = [
            np.asarray(m.handle.data).reshape(d[:half].shape)
            for m, d in zip(merged, datas, strict=True)
        ]
    results = []
    for data, given in zip(datas, inputs, strict=True):
        value = data[0]
        if self.keep_dims:
            value = np.expand_dims(value, self.axis)
        results.append(self.to_tensor(value if np.ndim(value) else value.item(), given.dtype))
    return results


def scan_slices(self, inputs):
    """Merge along the axis, a slice at a time."""
    datas = [np.moveaxis(i.handle.data, self.axis, 0).copy() for i in inputs]
    for k in range(1, datas[0].shape[0]):
        before = [self.to_tensor(d[k - 1 : k], i.dtype) for d, i in zip(datas, inputs, strict=True)]
        now = [self.to_tensor(d[k : k + 1], i.dtype) for d, i in zip(datas, inputs, strict=True)]
        merged = self.combine_fn.fn(*before, *now)
        merged = merged if isinstance(merged, tuple) else (merged,)
        for d, m in zip(datas, merged, strict=True):
            d[k : k + 1] = m.handle.data
    return [
        self.to_tensor(np.moveaxis(d, 0, self.axis), i.dtype)
        for d, i in zip(datas, inputs, strict=True)
    ]


def convert_bfloat16(original):
    """Round to nearest where the interpreter cuts off: the hardware's conversion does."""
    import ml_dtypes
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    def cast(self, source, target):
        kinds = source.dtype.scalar, target.scalar
        if kinds == (tl.float32, tl.bfloat16):
            return TensorHandle(source.data.astype(ml_dtypes.bfloat16).view(np.uint16), tl.bfloat16)
        return original(self, source, target)

    return cast


def serve():
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder
    builder.cast_impl = convert_bfloat16(builder.cast_impl)

    interpreter.ReduceOps.generic_reduce = reduce_slices
    interpreter.ScanOps.generic_scan = scan_slices
    modules = {}
    output = sys.stdout.buffer
    while (request := receive(sys.stdin.buffer)) is not None:
        try:
            path = request["path"]
            if path not in modules:
                spec = importlib.util.spec_from_file_location(f"kernel_{len(modules)}", path)
                modules[path] = module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                module.libdevice = Library()
            arrays = [array for _, array in request["arrays"]]
            pointers = [Pointer(array, kind) for kind, array in request["arrays"]]
            with np.errstate(all="ignore"):
                getattr(modules[path], request["name"])[request["grid"]](
                    *pointers, **request["blocks"]
                )
            send(output, arrays)
        except Exception:  # noqa: BLE001  # the parent reports it
            import traceback

            send(output, traceback.format_exc())


if __name__ == "__main__":
    serve()
