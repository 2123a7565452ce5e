"""What the text of compiled members of Tensor (members.py) is made of: how they pass on a call, and what they ask of objects."""

from __future__ import annotations

from .objects import CONTIGUOUS_ALIGNED, DEC_REF, DESCR, FLAGS, LONG_AS_SSIZE, NDARRAY, VECTORCALL, WRITEABLE
from .several import (
    COUNT,
    MOST_DIMS,
    NONE,
    ORDINARY,
    PARAMETER,
    SET_BASE,
    TENSOR,
    TYPE,
    VIEW,
    ZERO,
    Lines,
    Offsets,
)  # fmt: skip

# Places in the table, after those that `several` has.
(TRUE, FALSE, ONE, LEAF, CUT, NODE, OUTPUT, INFERENCE, SIZE, CPU, SAME, MODE, LEVELS, NO_LEVELS, DEVICES, USUAL_DEVICES, TICK,
 USER_FILES, OWN_FILES, GRAD, GRAD_DTYPE, DETACH, DETACH_CALL, IS_SUBTYPE, NEW_INT, GET_ATTR, SET_ATTR, GET_VARIABLE, CALL, FRAME,
 FRAME_BACK, FRAME_CODE, FRAME_LAST, CONTAINS, APPEND, SET_SLICE, DTYPES) = range(SET_BASE + 1, SET_BASE + 38)  # fmt: skip
KNOWN_DTYPES = 16  # at most; pairs of a NumPy dtype and the dtype that tensors have
FALLBACKS = DTYPES + 2 * KNOWN_DTYPES

BASE = 48  # in an array
ITEM_SIZE = 40  # in a NumPy dtype
MOST_BYTES = 1 << 18  # that are written while the GIL is held; more than that is left to threads
SMALL = 65504.0  # fits into every floating-point type

GETTER, SETTER, METHOD, FUNCTION = "getter", "setter", "method", "function"
SIGNATURES = {
    GETTER: "define ptr @{0}(ptr %self, ptr %closure)",
    SETTER: "define i32 @{0}(ptr %self, ptr %value, ptr %closure)",
    METHOD: "define ptr @{0}(ptr %self, ptr %args, i64 %n, ptr %names)",
    FUNCTION: "define ptr @{0}(ptr %self, ptr %args, i64 %n, ptr %names)",
}
# The fallback is called with the same arguments, after `self`.
PASSED_ON = {
    GETTER: """
  %given = alloca ptr
  store ptr %self, ptr %given
  %passed = call ptr %call(ptr %other, ptr %given, i64 1, ptr null)
  ret ptr %passed""",
    SETTER: """
  %given = alloca [2 x ptr]
  store ptr %self, ptr %given
  %second = getelementptr ptr, ptr %given, i64 1
  store ptr %value, ptr %second
  %deleted = icmp eq ptr %value, null
  %count = select i1 %deleted, i64 1, i64 2
  %passed = call ptr %call(ptr %other, ptr %given, i64 %count, ptr null)
  %failed = icmp eq ptr %passed, null
  br i1 %failed, label %error, label %fine
error:
  ret i32 -1
fine:
  call void %drop(ptr %passed)
  ret i32 0""",
    METHOD: """
  %named = icmp ne ptr %names, null
  br i1 %named, label %with_names, label %values_known
with_names:
  %names_at = getelementptr i8, ptr %names, i64 16
  %names_count = load i64, ptr %names_at
  br label %values_known
values_known:
  %more = phi i64 [0, %slow], [%names_count, %with_names]
  %values = add i64 %n, %more
  %count = add i64 %values, 1
  %given = alloca ptr, i64 %count
  store ptr %self, ptr %given
  %rest = getelementptr ptr, ptr %given, i64 1
  %bytes = mul i64 %values, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %positional = add i64 %n, 1
  %passed = call ptr %call(ptr %other, ptr %given, i64 %positional, ptr %names)
  ret ptr %passed""",
    FUNCTION: """
  %passed = call ptr %call(ptr %other, ptr %args, i64 %n, ptr %names)
  ret ptr %passed""",
}


class MemberLines(Lines):
    """Text of a member. Its table is a global of the module."""

    def __init__(self, kind: str, offsets: Offsets) -> None:
        self.lines = []
        self.declared = set()
        self.count = 0
        self.offsets = offsets
        self.error = "ret i32 -1" if kind == SETTER else "ret ptr null"
        self.places = [self.let("alloca ptr") for _ in range(2)]  # for what is found out in different ways
        self.counter = self.let("alloca i64")
        self.sizes = self.let(f"alloca [{MOST_DIMS} x i64]") if kind == FUNCTION else ""
        self.facts = self.let("load ptr, ptr @facts")

    def member(self, kind: str, symbol: str, fallback: int) -> str:
        body = "\n".join(self.lines)
        facts = {"call": VECTORCALL, "drop": DEC_REF, "other": fallback}
        read = "".join(
            f"\n  %{name}_at = getelementptr ptr, ptr %table, i64 {at}\n  %{name} = load ptr, ptr %{name}_at" for name, at in facts.items()
        )
        return f"{SIGNATURES[kind].format(symbol)} {{\nentry:\n{body}\nslow:\n  %table = load ptr, ptr @facts{read}{PASSED_ON[kind]}\n}}\n"

    def label(self, name: str) -> None:
        self.do(f"br label %{name}")
        self.lines.append(f"{name}:")

    def made(self, call: str) -> str:
        result = self.let(call)
        self.count += 1
        mark = self.count
        self.branch(self.let(f"icmp eq ptr {result}, null"), f"failed{mark}", f"made{mark}")
        self.lines += [f"failed{mark}:", f"  {self.error}", f"made{mark}:"]
        return result

    def called(self, place: int, *args: str, result: str = "ptr") -> str:
        """The result of a function in the table."""
        call = f"call {result} {self.fact(place, 'ptr')}({', '.join(args)})"
        return self.made(call) if result == "ptr" else self.let(call)

    def new_int(self, value: str) -> str:
        return self.called(NEW_INT, f"i64 {value}")

    def drop(self, obj: str) -> None:
        self.do(f"call void {self.fact(DEC_REF, 'ptr')}(ptr {obj})")

    def replace(self, obj: str, name: str, value: str) -> None:
        """Give a slot another value, which is not referred to elsewhere."""
        before = self.field(obj, self.offsets[name], "ptr")
        self.store(value, self.beyond(obj, self.offsets[name]), "ptr")
        self.drop(before)

    def slot(self, obj: str, name: str) -> str:
        """What an object keeps in a slot, if anything."""
        found = self.field(obj, self.offsets[name], "ptr")
        self.require(self.let(f"icmp ne ptr {found}, null"))
        return found

    def array(self, tensor: str = "%self") -> str:
        found = self.slot(tensor, "tensor._data")
        self.require_type(found, NDARRAY)
        return found

    def is_(self, obj: str, place: int) -> str:
        return self.let(f"icmp eq ptr {obj}, {self.fact(place, 'ptr')}")

    def has_type(self, obj: str, place: int) -> str:
        return self.calc("icmp eq", self.field(obj, TYPE, "i64"), self.fact(place))

    def any(self, *conditions: str) -> str:
        found = "false"
        for condition in conditions:
            found = self.let(f"or i1 {found}, {condition}")
        return found

    def history(self, tensor: str = "%self", mark: str = "") -> str:
        """Where the gradient of a tensor goes, as in Note [Edges]. Of a view: its node, or what its base has, if that is no history."""
        at = self.places[1]
        own = self.slot(tensor, "tensor._fn")
        self.store(own, at, "ptr")
        self.branch(self.has_type(own, VIEW), f"view{mark}", f"resolved{mark}")
        self.lines.append(f"view{mark}:")
        self.require(self.is_(self.slot(own, "view.creation"), ORDINARY))
        below, node = self.slot(self.slot(own, "view.base"), "tensor._fn"), self.slot(own, "view.node")
        self.require(self.let(f"icmp eq ptr {below}, {self.slot(own, 'view.made_for')}"))
        self.store(node, at, "ptr")
        self.branch(self.is_(node, NONE), f"unrecorded_view{mark}", f"resolved{mark}")
        self.lines.append(f"unrecorded_view{mark}:")
        self.require(self.is_constant(below))
        self.store(below, at, "ptr")
        self.label(f"resolved{mark}")
        return self.load(at, "ptr")

    def is_constant(self, fn: str) -> str:
        """Whether a history says that there is none."""
        return self.any(self.is_(fn, NONE), self.has_type(fn, CUT))

    def variable(self, place: int) -> str:
        """The value of a context variable, which others keep."""
        self.called(GET_VARIABLE, f"ptr {self.fact(place, 'ptr')}", "ptr null", f"ptr {self.places[0]}", result="i32")
        found = self.load(self.places[0], "ptr")
        self.drop(found)
        return found

    def is_node(self, fn: str) -> str:
        derived = self.called(IS_SUBTYPE, f"ptr {self.field(fn, TYPE, 'ptr')}", f"ptr {self.fact(NODE, 'ptr')}", result="i32")
        return self.any(self.let(f"icmp ne i32 {derived}, 0"), self.has_type(fn, OUTPUT))

    def give(self, obj: str) -> None:
        self.do(f"ret ptr {self.kept(obj)}")

    def give_if(self, condition: str, obj: str) -> None:
        self.count += 1
        mark = self.count
        self.branch(condition, f"give{mark}", f"go{mark}")
        self.lines.append(f"give{mark}:")
        self.give(obj)
        self.lines.append(f"go{mark}:")

    def new_tensor(self, array: str, versions: str, fn: str) -> str:
        tensor = self.new(TENSOR)
        for name, value in (("_data", array), ("_vc", versions), ("_fn", fn)):
            self.put(tensor, self.offsets[f"tensor.{name}"], value)
        return tensor

    def require_call(self, count: int) -> None:
        """So many arguments, and none by name."""
        self.require(self.calc("icmp eq", "%n", str(count)))
        self.require(self.let("icmp eq ptr %names, null"))

    def require_same_shape(self, array: str, other: str) -> None:
        ndim, shape, _ = self.geometry(array, MOST_DIMS)
        other_ndim, other_shape, _ = self.geometry(other, MOST_DIMS)
        self.require(self.calc("icmp eq", ndim, other_ndim))
        with self.loop(ndim, self.counter) as i:
            self.require(self.calc("icmp eq", self.load(self.at(shape, i)), self.load(self.at(other_shape, i))))

    def require_flags(self, array: str, flags: int) -> None:
        found = self.let(f"and i32 {self.field(array, FLAGS, 'i32')}, {flags}")
        self.require(self.let(f"icmp eq i32 {found}, {flags}"))

    def elements(self, array: str) -> str:
        """How many an array has."""
        ndim, shape, _ = self.geometry(array, MOST_DIMS)
        total = self.places[0]
        self.store("1", total)
        with self.loop(ndim, self.counter) as i:
            self.store(self.calc("mul", self.load(total), self.load(self.at(shape, i))), total)
        return self.load(total)

    # ---- writes ---------------------------------------------------------------------------------------------------------------------

    def require_unrecorded(self, tensor: str, mark: str) -> None:
        """As `plain_array` has it: an ordinary mode, and a tensor without history, or nothing is recorded."""
        self.require_type(tensor, TENSOR, PARAMETER)
        mode = self.variable(MODE)
        off = self.is_(mode, ZERO)
        self.require(self.any(off, self.is_(mode, ONE)))
        self.branch(off, f"unrecorded{mark}", f"recording{mark}")
        self.lines.append(f"recording{mark}:")
        self.require(self.is_constant(self.history(tensor, mark)))
        self.label(f"unrecorded{mark}")

    def target(self) -> tuple[str, str]:
        """The array of `self`, which may be written to as a whole, and how many bytes it has."""
        self.require_unrecorded("%self", "_target")
        versions = self.slot("%self", "tensor._vc")
        self.require(self.let(f"xor i1 {self.is_(versions, INFERENCE)}, true"))
        array = self.array()
        self.require_flags(array, CONTIGUOUS_ALIGNED | WRITEABLE)
        size = self.calc("mul", self.elements(array), self.field(self.field(array, DESCR, "ptr"), ITEM_SIZE, "i64"))
        self.require(self.calc("icmp ule", size, str(MOST_BYTES)))
        return array, size

    def user_line(self) -> tuple[str, str]:
        """The line of user code that is running, as its code and the place in it."""
        at = self.places[1]
        self.store(self.let(f"call ptr {self.fact(FRAME, 'ptr')}()"), at, "ptr")
        self.label("search")
        frame = self.load(at, "ptr")
        self.require(self.let(f"icmp ne ptr {frame}, null"))
        code = self.called(FRAME_CODE, f"ptr {frame}")
        self.drop(code)  # which the frame keeps
        name = f"ptr {self.field(code, self.offsets['code.co_filename'], 'ptr')}"
        users, own = (self.called(CONTAINS, f"ptr {self.fact(files, 'ptr')}", name, result="i32") for files in (USER_FILES, OWN_FILES))
        self.branch(self.let(f"icmp eq i32 {users}, 1"), "found", "passing")
        self.lines.append("passing:")
        self.require(self.let(f"icmp eq i32 {own}, 1"))
        back = self.let(f"call ptr {self.fact(FRAME_BACK, 'ptr')}(ptr {frame})")
        self.require(self.let(f"icmp ne ptr {back}, null"))
        self.drop(back)  # it is running
        self.store(back, at, "ptr")
        self.do("br label %search")
        self.lines.append("found:")
        return code, self.let(f"sext i32 {self.called(FRAME_LAST, f'ptr {frame}', result='i32')} to i64")

    def counted(self) -> str:
        """The version counter of `self`, which it may get now."""
        self.store(self.slot("%self", "tensor._vc"), self.places[0], "ptr")
        self.branch(self.is_(self.load(self.places[0], "ptr"), NONE), "uncounted", "counted")
        self.lines.append("uncounted:")
        made = self.new_counter(self.offsets)
        self.replace("%self", "tensor._vc", made)
        self.store(made, self.places[0], "ptr")
        self.label("counted")
        return self.load(self.places[0], "ptr")

    def count_write(self, code: str, last: str) -> None:
        """As `VersionCounter.bump` does."""
        versions = self.counted()
        before = self.called(LONG_AS_SSIZE, f"ptr {self.field(versions, self.offsets['counter.version'], 'ptr')}", result="i64")
        self.replace(versions, "counter.version", self.new_int(self.calc("add", before, "1")))
        stamp = self.called(CALL, f"ptr {self.fact(TICK, 'ptr')}")
        line, parts = self.new_tuple("2")
        self.store(self.kept(code), parts, "ptr")
        self.store(self.new_int(last), self.at(parts, "1"), "ptr")
        write, parts = self.new_tuple("2")
        self.store(self.kept(stamp), parts, "ptr")
        self.store(line, self.at(parts, "1"), "ptr")
        self.replace(versions, "counter.stamp", stamp)
        writes = self.field(versions, self.offsets["counter.writes"], "ptr")
        self.called(APPEND, f"ptr {writes}", f"ptr {write}", result="i32")
        self.drop(write)
        kept = self.offsets["kept"]
        self.branch(self.calc("icmp sgt", self.field(writes, COUNT, "i64"), str(2 * kept)), "many", "few")
        self.lines.append("many:")
        self.called(SET_SLICE, f"ptr {writes}", "i64 0", f"i64 {kept}", "ptr null", result="i32")
        self.label("few")
        self.give("%self")


