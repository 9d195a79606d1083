"""Two-level dispatch: signatures, guards, lifted tensors."""

import enum
import gc
import weakref

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import _C
from tensorplay.compiler.capture.places import ANY_TENSOR, same_value

_C.register_same_value(same_value, ANY_TENSOR)


PLACES = {
    "dict": lambda container, key: container[key],
    "sequence": lambda container, key: container[key],
    "attribute": getattr,
    "cell": lambda container, _: container.cell_contents,
}


class Compiled(_C.Dispatcher):
    """Notes what Python is asked, and compiles to `run`."""

    def __init__(self, run, *, lifted=(), guards=(), select=None, check=None):
        self.run, self.lifted, self.guards, self.select, self.check = (
            run,
            lifted,
            guards,
            select,
            check,
        )
        self.asked = []

    def call_miss(self, structure, leaves):
        self.asked.append("miss")
        free = tuple(PLACES[kind](container, key) for kind, container, key in self.lifted)
        tensors = tuple(i for i, leaf in enumerate(leaves) if isinstance(leaf, _C.TensorBase))
        entry = _C.Entry(
            self.run,
            tensors,
            self.signature(structure, leaves + free),
            tuple(self.lifted),
            tuple(self.guards),
            self.select,
            self.check,
        )
        self.add(self.signature(structure, leaves), entry)
        return self.dispatch(structure, leaves)

    def call_slow(self, args, kwargs=None):
        self.asked.append("slow")
        return args, kwargs


def tensor(n=8, dtype=np.float32):
    return _C.wrap(np.arange(n).astype(dtype))


def misses(*calls, run=lambda *tensors: len(tensors)):
    """How many entries these calls need."""
    compiled = Compiled(run)
    for leaves in (*calls, *calls):
        compiled(*leaves)
    return compiled.misses


# ---- levels ---------------------------------------------------------------------------------------


def test_levels(affine):
    compiled = Compiled(affine(8), select=0)
    x, y = tensor(), tensor()
    assert compiled(x).array.tolist() == compiled(x).array.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    assert (compiled.misses, compiled.signature_hits, compiled.identity_hits) == (1, 1, 1)
    compiled(y)
    compiled(y)
    assert (compiled.misses, compiled.signature_hits, compiled.identity_hits) == (1, 2, 2)
    assert compiled.asked == ["miss"]


def test_a_new_tensor_at_an_old_address_is_not_the_old_one(affine):
    compiled = Compiled(affine(8), select=0)
    for n in (8, 8, 8):
        compiled(tensor(n))
    assert compiled.identity_hits == 0
    assert compiled.misses == 1


def test_level_one_holds_no_tensor():
    compiled = Compiled(lambda x: None)
    x = tensor()
    compiled(x)
    compiled(x)
    dead = weakref.ref(x)
    del x
    assert dead() is None


@pytest.mark.parametrize(
    "change",
    [
        lambda x: setattr(x, "requires_grad", True),
        lambda x: setattr(x, "array", x.array.reshape(2, 4)),
        lambda x: setattr(x, "array", x.array[::2]),
        lambda x: setattr(x, "array", x.array.astype(np.float64)),
        lambda x: (setattr(x, "requires_grad", True), setattr(x, "grad_fn", object())),
        lambda x: x.array.setflags(write=False) or setattr(x, "array", x.array[:]),
    ],
)
def test_a_changed_tensor_is_seen(change):
    compiled = Compiled(lambda x: x)
    x = tensor()
    compiled(x)
    compiled(x)
    change(x)
    assert compiled(x) is x
    assert compiled.misses == 2


# ---- signatures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (2, 2.0), (1, True), (0, False), (2, 3), (0.0, -0.0), (None, 0), (1 + 2j, 1 - 2j), ("a", "b"), ("ab", "abc"),
        ("", None), (2**70, 2**71), (2**63 - 1, -(2**63)), (..., None), (1.5, np.nextafter(1.5, 2).item()),
    ],
)  # fmt: skip
def test_scalars_by_type_and_value(a, b):
    x = tensor()
    assert misses((x, a), (x, b), (x, a)) == 2


@pytest.mark.parametrize("value", [float("nan"), 2**70, "name", 3.25, -1, None])
def test_equal_scalars_need_one_entry(value):
    x = tensor()
    same = (
        float(value)
        if isinstance(value, float)
        else int(str(value))
        if isinstance(value, int)
        else value
    )
    assert misses((x, value), (x, same)) == 1


def test_tensors_by_layout():
    square = np.zeros((4, 4), np.float32)
    tensors = [
        square,
        square.T,
        square[:, ::2],
        square[:2],
        square.astype(np.float64),
        square.reshape(2, 8),
        np.zeros(16, np.float32),
    ]
    assert (
        misses(*[(_C.wrap(a),) for a in tensors]) == 6 + 0
        if square.T.strides == square.strides
        else 7
    )
    assert misses((_C.wrap(square.copy()),), (_C.wrap(square.copy()),)) == 1


def test_alias_patterns():
    a, b = tensor(), tensor()
    left, right = _C.wrap(a.array[:4]), _C.wrap(a.array[4:])
    middle, twin = _C.wrap(a.array[2:6]), _C.wrap(a.array[:4])
    other, third = _C.wrap(b.array[:4]), _C.wrap(np.zeros(4, np.float32))
    assert misses((left, other), (left, third), (other, third)) == 1  # three memories
    assert misses((left, right), (left, middle), (left, twin), (left, left), (left, other)) == 5
    assert misses((left, right), (right, left)) == 2
    assert misses((other, left, right), (left, other, right), (left, right, other)) == 3


def test_the_class_counts():
    class Sub(tp.Tensor):
        pass

    sub = Sub.__new__(Sub)
    x = tensor()
    sub.array, sub.storage, sub.dtype = x.array, x.storage, x.dtype
    assert misses((x,), (sub,)) == 2


def test_the_key_of_the_first_leaves_is_a_prefix():
    compiled = Compiled(None)
    x, y = tensor(), tensor(3)
    whole = compiled.signature(None, (x, 2, "name", y, x))
    for n in range(5):
        assert whole.startswith(compiled.signature(None, (x, 2, "name", y, x)[:n]))


def test_structures():
    compiled = Compiled(lambda *tensors: tensors)
    x = tensor()
    for structure in (("list", 1), ("list", 1), ("tuple", 1), None):
        assert compiled.dispatch(structure, (x,)) == (x,)
    assert compiled.misses == 3
    with pytest.raises(TypeError, match="unhashable"):
        compiled.dispatch([], (x,))
    with pytest.raises(TypeError, match="takes tensors with data"):
        compiled.dispatch(None, ([x],))


def test_many_signatures():
    compiled = Compiled(lambda x: x.shape)
    tensors = [tensor(n) for n in range(300)]
    for _ in range(2):
        assert all(compiled(x) == x.shape for x in tensors)
    assert compiled.misses == 300
    assert len(compiled.entries()) == 300
    compiled.clear()
    assert compiled.entries() == []
    compiled(tensors[0])
    assert compiled.misses == 301


# ---- what goes to Python --------------------------------------------------------------------------


def test_calls_that_are_no_plain_calls():
    compiled = Compiled(lambda x: x)
    x, without_data = tensor(), tensor()
    without_data.array = None
    for args, kwargs in [
        ((x,), {"y": 1}),
        (([x],), {}),
        ((x, {}), {}),
        ((without_data,), {}),
        ((x, np.float32(3)), {}),
    ]:
        assert compiled(*args, **kwargs) == (args, kwargs)
    assert compiled.asked == ["slow"] * 5


def test_grad_mode_and_modes():
    compiled = Compiled(lambda x: x)
    x = tensor()
    compiled(x)
    with tp.no_grad():
        compiled(x)
        compiled(x)
    compiled(x)
    assert compiled.misses == 2

    from tensorplay.dispatch import OperatorMode

    with OperatorMode():
        compiled(x)
    assert compiled.asked == ["miss", "miss", "slow"]


def test_errors_pass_through():
    def fail(x):
        raise ZeroDivisionError

    compiled = Compiled(fail)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            compiled(tensor())
    wrong = Compiled(lambda x: 3, select=0)
    with pytest.raises(TypeError, match="must return a tuple with item 0"):
        wrong(tensor())


# ---- guards ---------------------------------------------------------------------------------------


class Mode(enum.Enum):
    A = 1
    B = 2


@pytest.mark.parametrize(
    ("old", "same", "other"),
    [
        (3, 3, 4), (1, 1, True), (2.5, 2.5, 2), (float("nan"), float("nan"), 0.0), (0.0, 0.0, -0.0), ("a", "a", "b"),
        (Mode.A, Mode.A, Mode.B), (b"x", b"x", b"y"), (None, None, 0), ((1, 2.0), (1, 2.0), (1, 2)),
        (frozenset({1}), frozenset({1}), frozenset({2})), (10**30, 10**30, 10**31),
    ],
)  # fmt: skip
def test_equality_guards(old, same, other):
    scope = {"k": old}
    compiled = Compiled(lambda x: x, guards=[("equals", "dict", scope, "k", old)])
    x = tensor()
    compiled(x)
    scope["k"] = same
    compiled(x)
    assert compiled.misses == 1
    scope["k"] = other
    compiled.guards = [("equals", "dict", scope, "k", other)]
    compiled(x)
    assert compiled.misses == 2
    scope["k"] = same
    compiled(x)
    assert compiled.misses == 2  # the first entry is still there
    del scope["k"]
    compiled.guards = []
    compiled(x)
    assert compiled.misses == 3


@pytest.mark.parametrize("kind", ["attribute", "sequence", "dict", "cell"])
def test_identity_guards_on_every_kind_of_place(kind):
    class Owner:
        name = "first"

    def function():
        return cell

    cell = object()
    container, key, write = {
        "attribute": (Owner, "name", lambda value: setattr(Owner, "name", value)),
        "sequence": (items := [1, object()], 1, lambda value: items.__setitem__(1, value)),
        "dict": (scope := {"k": object()}, "k", lambda value: scope.update(k=value)),
        "cell": (
            function.__closure__[0],
            None,
            lambda value: setattr(function.__closure__[0], "cell_contents", value),
        ),
    }[kind]
    known = PLACES[kind](container, key)
    compiled = Compiled(lambda x: x, guards=[("is", kind, container, key, known)])
    x = tensor()
    compiled(x)
    compiled(x)
    assert compiled.misses == 1
    write(object())
    compiled.guards = []
    compiled(x)
    assert compiled.misses == 2
    write(known)
    compiled(x)
    assert compiled.misses == 2


def test_places_that_are_gone():
    scope, items = {"k": 3}, [1, 2, 3]
    compiled = Compiled(
        lambda x: x,
        guards=[("is", "dict", scope, "k", 3), ("is", "sequence", items, 2, 3)],
    )
    x = tensor()
    compiled(x)
    compiled.guards = []
    items.pop()
    compiled(x)
    assert compiled.misses == 2


def test_container_guards():
    x = tensor()
    items, mapping = [1, "a", x], {"p": 2, "q": x}
    compiled = Compiled(
        lambda t: t,
        guards=[
            ("items", "itself", items, None, (1, "a", ANY_TENSOR)),
            ("items", "itself", mapping, None, ("p", "q", 2, x)),
        ],
    )
    compiled(x)
    items[1] = bytes([97]).decode()  # equal to "a", another object
    items[2] = tensor()
    compiled(x)
    assert compiled.misses == 1
    compiled.run = lambda t: "changed"
    compiled.guards = []
    for change, undo in [
        (lambda: items.append(3), items.pop),
        (lambda: items.__setitem__(0, 1.0), lambda: items.__setitem__(0, 1)),
        (lambda: mapping.__setitem__("p", 3), lambda: mapping.__setitem__("p", 2)),
        (lambda: mapping.__setitem__("r", 3), lambda: mapping.pop("r")),
    ]:
        key, entries = compiled.entries()[0]
        change()
        assert compiled(x) == "changed"
        undo()
        compiled.clear()
        compiled.add(key, entries[-1])
        assert compiled(x) is x


def test_called_guards_may_fail():
    answers = [True, True, False, True]

    def ask():
        return answers.pop(0) if answers else 1 // 0

    compiled = Compiled(lambda x: x, guards=[("call", ask)])
    x = tensor()
    compiled(x)
    compiled(x)
    assert compiled.misses == 1
    compiled(x)
    assert (compiled.misses, answers) == (1, [])  # level 1 said no, level 2 yes
    with pytest.raises(ZeroDivisionError):
        compiled(x)


@pytest.mark.parametrize(
    "guard",
    [
        ("is", "dict", 3, "k", 1),
        ("what", "dict", {}, "k", 1),
        ("is", "cell", {}, "k", 1),
        ("is", "sequence", [], -1, 1),
        ("items", "dict", {}, "k", 1),
        3,
    ],
)
def test_guards_that_are_refused(guard):
    with pytest.raises(ValueError, match=r"a guard is|a place is"):
        _C.Entry(print, (), b"", (), (guard,))


# ---- lifted tensors, gates --------------------------------------------------------------------------


def test_lifted_tensors_are_read_at_each_call():
    scope = {"w": tensor()}
    compiled = Compiled(lambda x, w: w, lifted=[("dict", scope, "w")])
    x = tensor()
    assert compiled(x) is scope["w"]
    scope["w"] = tensor()
    assert compiled(x) is scope["w"]
    assert compiled.misses == 1
    scope["w"] = x  # now an alias
    assert compiled(x) is x
    assert compiled.misses == 2
    scope["w"] = tensor()
    assert compiled(x) is scope["w"]
    scope["w"].requires_grad = True
    assert compiled(x) is scope["w"]
    assert compiled.misses == 3
    scope["w"].requires_grad = False
    compiled(x)
    assert compiled.misses == 3
    scope["w"] = 3
    compiled.lifted = []
    compiled.run = lambda x: "none"
    assert compiled(x) == "none"


def test_gates_are_asked_unless_nothing_changed():
    asked = []

    def gate(x):
        asked.append(x)
        return x.array[0] >= 0

    compiled = Compiled(lambda x: "positive", check=gate)
    x = tensor()
    assert [compiled(x), compiled(x), compiled(x)] == ["positive"] * 3
    assert len(asked) == 1
    x.array[0] = -1
    x.storage.bump()
    compiled.run, compiled.check = (lambda x: "negative"), lambda x: x.array[0] < 0
    assert compiled(x) == "negative"
    assert compiled(x) == "negative"
    assert len(asked) == 2


def test_many_lifted_tensors():
    weights = [tensor() for _ in range(100)]
    compiled = Compiled(
        lambda *tensors: len(tensors), lifted=[("sequence", weights, i) for i in range(100)]
    )
    x = tensor()
    assert compiled(x) == compiled(x) == compiled(tensor()) == 101
    weights[50] = weights[49]
    assert compiled(x) == 101
    assert compiled.misses == 2


def test_cycles_through_entries_are_collected():
    compiled = Compiled(None)
    compiled.run = compiled.call_slow
    x = tensor()
    compiled(x)
    compiled(x)
    dead = weakref.ref(compiled)
    del compiled
    gc.collect()
    assert dead() is None


def test_an_entry_may_forget_all_entries_while_it_runs():
    compiled = Compiled(None)
    x = tensor()

    def run(t):
        compiled.clear()
        gc.collect()
        return t

    compiled.run = run
    for _ in range(4):
        assert compiled(x) is x
    assert compiled.misses == 4
