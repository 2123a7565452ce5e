"""Machine code that runs wherever it is put: an object file whose sections have found their places beside each other.

LLVM's own linker takes half a millisecond for a kernel, after an import of fifty. An image needs neither: it is copied into memory of its
own, told the addresses of the C library's functions that it calls, and made executable. Only object files of the kind that LLVM writes
for x86-64 on ELF systems are turned into images; `link` gives None for all others, and LLVM links those.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import Any, NamedTuple

from .lifetime import forever

_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_ELF64, _X86_64 = b"\x7fELF\x02\x01\x01", 62
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8  # types of sections
_WRITTEN, _ALLOCATED = 1, 2  # flags of sections
_GLOBAL = 1
# Relocations: the address itself; its distance, in 32 and 64 bits; that of a word which holds it; and that of a function.
_ABSOLUTE, _DISTANCE, _LONG_DISTANCE, _FUNCTION, _BY_WORD = 1, 2, 24, 4, (9, 41, 42)
_PAGE = 4096  # on every x86-64
_JUMP = b"\xff\x25"  # through the word whose distance follows
_EXECUTABLE = 5  # PROT_READ | PROT_EXEC


class Image(NamedTuple):
    """Bytes, of which the first `code` are executed and the rest can be written to. Places are counted from the first byte."""

    content: bytes
    code: int
    symbols: dict[str, int]
    imports: dict[str, int]  # words that get the address of a function elsewhere
    pointers: dict[int, int]  # words that get the address of another place

    def pack(self) -> bytes:
        names = (("symbol", self.symbols), ("import", self.imports), ("pointer", self.pointers))
        facts = [f"{kind} {name} {place}" for kind, known in names for name, place in known.items()]
        return "\n".join([f"code {self.code} .", *facts, ""]).encode() + b"\n" + self.content

    @classmethod
    def unpack(cls, packed: bytes) -> Image:
        facts, _, content = packed.partition(b"\n\n")
        found: dict[str, dict[Any, Any]] = {"symbol": {}, "import": {}, "pointer": {}}
        code = 0
        for line in facts.decode().split("\n"):
            kind, name, place = line.split(" ")
            if kind == "code":
                code = int(name)
            else:
                found[kind][int(name) if kind == "pointer" else name] = int(place)
        return cls(content, code, found["symbol"], found["import"], found["pointer"])


# ---- from an object file ------------------------------------------------------------------------------------------------------------


class _OtherError(Exception):
    """An object file of another kind."""


def link(code: bytes) -> Image | None:
    """The image of an object file; None if that is not of a kind that is known here."""
    try:
        return _Linker(code).image()
    except (_OtherError, struct.error):
        return None


class _Linker:
    def __init__(self, code: bytes) -> None:
        if not code.startswith(_ELF64):
            raise _OtherError
        self.file = code
        header = _HEADER.unpack_from(code)
        machine, table, size, count, names = header[2], header[6], header[11], header[12], header[13]
        if machine != _X86_64 or size != _SECTION.size:
            raise _OtherError
        self.sections = [_SECTION.unpack_from(code, table + size * i) for i in range(count)]
        self.names = self.sections[names][4]
        self.symbols = self.read_symbols()
        self.places: dict[int, int] = {}  # of sections
        self.content = bytearray()
        self.words: dict[int, int] = {}  # which hold the address of a symbol
        self.jumps: dict[int, int] = {}  # to a symbol that is elsewhere
        self.imports: dict[str, int] = {}
        self.pointers: dict[int, int] = {}

    def text(self, place: int) -> str:
        return self.file[place : self.file.index(b"\0", place)].decode()

    def read_symbols(self) -> list[tuple[str, int, int, int]]:
        """The name, binding, section and place of each symbol."""
        found = []
        for section in self.sections:
            if section[1] == _SYMBOLS:
                texts = self.sections[section[6]][4]
                for at in range(section[4], section[4] + section[5], _SYMBOL.size):
                    name, info, _, where, value, _ = _SYMBOL.unpack_from(self.file, at)
                    found.append((self.text(texts + name), info >> 4, where, value))
        return found

    def image(self) -> Image:
        relocations = [
            (section[7], *_RELOCATION.unpack_from(self.file, at))
            for section in self.sections
            if section[1] == _RELOCATIONS and self.is_kept(self.sections[section[7]])
            for at in range(section[4], section[4] + section[5], _RELOCATION.size)
        ]
        self.lay_out(written=False)
        for _, _, info, _ in relocations:
            if info & 0xFFFFFFFF == _FUNCTION and not self.symbols[info >> 32][2]:
                self.jumps.setdefault(info >> 32, self.room(8, 8))
        code = self.align(_PAGE)
        self.lay_out(written=True)
        for symbol, jump in self.jumps.items():
            self.content[jump : jump + 6] = _JUMP + struct.pack("<i", self.word(symbol) - (jump + 6))
        for section, offset, info, addend in relocations:
            self.relocate(self.places[section] + offset, info & 0xFFFFFFFF, info >> 32, addend)
        exported = {name: self.places[where] + at for name, binding, where, at in self.symbols if binding == _GLOBAL and where}
        return Image(bytes(self.content), code, exported, self.imports, self.pointers)

    def is_kept(self, section: tuple[int, ...]) -> bool:
        """Whether a section takes part: nobody unwinds through kernels."""
        return bool(section[2] & _ALLOCATED) and self.text(self.names + section[0]) != ".eh_frame"

    def lay_out(self, written: bool) -> None:
        for number, section in enumerate(self.sections):
            if self.is_kept(section) and bool(section[2] & _WRITTEN) == written:
                self.places[number] = at = self.room(section[5], section[8])
                if section[1] != _NO_BITS:
                    self.content[at : at + section[5]] = self.file[section[4] : section[4] + section[5]]

    def align(self, to: int) -> int:
        self.content.extend(bytes(-len(self.content) % max(to, 1)))
        return len(self.content)

    def room(self, size: int, alignment: int) -> int:
        at = self.align(alignment)
        self.content.extend(bytes(size))
        return at

    def target(self, symbol: int) -> int | None:
        """The place of a symbol; None if it is elsewhere."""
        _, _, where, value = self.symbols[symbol]
        if not where:
            return None
        if where not in self.places:
            raise _OtherError
        return self.places[where] + value

    def word(self, symbol: int) -> int:
        """The place of the word that holds the address of a symbol."""
        if symbol not in self.words:
            self.words[symbol] = at = self.room(8, 8)
            self.point(at, symbol, 0)
        return self.words[symbol]

    def point(self, at: int, symbol: int, addend: int) -> None:
        to = self.target(symbol)
        if to is not None:
            self.pointers[at] = to + addend
        elif addend or self.symbols[symbol][0] in self.imports:
            raise _OtherError
        else:
            self.imports[self.symbols[symbol][0]] = at

    def relocate(self, at: int, how: int, symbol: int, addend: int) -> None:
        if how == _ABSOLUTE:
            self.point(at, symbol, addend)
            return
        if how in _BY_WORD:
            to: int | None = self.word(symbol)
        elif how == _FUNCTION and symbol in self.jumps:
            to = self.jumps[symbol]
        elif how in (_DISTANCE, _LONG_DISTANCE, _FUNCTION):
            to = self.target(symbol)
        else:
            to = None
        if to is None:
            raise _OtherError
        struct.pack_into("<q" if how == _LONG_DISTANCE else "<i", self.content, at, to + addend - at)


# ---- into memory --------------------------------------------------------------------------------------------------------------------

_memory: list[Any] = forever([])  # which must live as long as the functions in it


def place(image: Image, called: dict[str, int]) -> dict[str, int]:
    """Put an image into memory; the addresses of its functions. Those that it calls and `called` lacks are in the C library."""
    try:
        area = mmap.mmap(-1, len(image.content), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:  # there is no other reason
        raise MemoryError(f"no memory for a kernel of {len(image.content)} bytes") from error
    area[:] = image.content
    base = ctypes.addressof(ctypes.c_char.from_buffer(area))
    _memory.append(area)
    for name, at in image.imports.items():
        struct.pack_into("<q", area, at, called[name] if name in called else c_function(name))
    for at, to in image.pointers.items():
        struct.pack_into("<q", area, at, base + to)
    protect = c_library().mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(base, image.code, _EXECUTABLE):
        raise OSError("memory may not be made executable here")
    return {name: base + at for name, at in image.symbols.items()}


def c_library() -> Any:
    return ctypes.CDLL(None)


def c_function(name: str) -> int:
    """The address of a function of the C library."""
    found = ctypes.cast(getattr(c_library(), name), ctypes.c_void_p).value
    assert found is not None
    return found
