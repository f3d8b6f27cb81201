"""XML of other programs as a tree of located elements."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from ffplan.base.errors import InputError, located
from ffplan.base.files import PACKED
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 4 * 2**20
"""Largest file read [byte]."""
_MOST_DEPTH = 40
_CUT = tuple(
    expat.errors.codes[text] for text in (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN)
)
"""Errors of a parser that meets the end of a file inside of an element."""


@record
class _Element:
    tag: str
    attributes: dict[str, str]
    line: int
    column: int
    children: list[_Element]
    texts: list[str]
    """Pieces of text directly inside it."""

    @property
    def text(self) -> str:
        """The text directly inside it, without blanks around it."""
        return "".join(self.texts).strip()

    def below(self) -> Iterator[_Element]:
        """Yield it and all elements inside it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.below()

    def named(self, tag: str) -> list[_Element]:
        return [child for child in self.children if child.tag == tag]


def _fault(file: str, place: _Element | tuple[int, int], message: str, remedy: str) -> InputError:
    where = (place.line, place.column) if isinstance(place, _Element) else place
    return located("file-nccl-xml", file, where, message, remedy)


def _parse(
    data: bytes, file: str, *, rule: str = "file-nccl-xml", what: str = "the topology file of one server"
) -> _Element:
    def wrong(place: tuple[int, int], message: str, remedy: str) -> InputError:
        return located(rule, file, place, message, remedy)

    if len(data) > MOST_BYTES:
        raise wrong((1, 1), f"larger than {MOST_BYTES // 2**20} MiB", f"give {what}")
    top = _Element(tag="", attributes={}, line=1, column=1, children=[], texts=[])
    stack = [top]
    parser = expat.ParserCreate()

    def here() -> tuple[int, int]:
        return parser.CurrentLineNumber, parser.CurrentColumnNumber + 1

    def refuse(*_: object) -> None:
        remedy = "remove it: such files have none, and entities can be an attack"
        raise wrong(here(), "a document type is declared", remedy)

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > _MOST_DEPTH:
            raise wrong(here(), "elements nest too deeply", f"stay below {_MOST_DEPTH} levels")
        line, column = here()
        element = _Element(tag=tag, attributes=attributes, line=line, column=column, children=[], texts=[])
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartElementHandler = start
    parser.CharacterDataHandler = lambda text: stack[-1].texts.append(text)
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data.lstrip() if data.lstrip().startswith(b"<?xml") else data, True)
    except expat.ExpatError as error:
        place = (error.lineno, error.offset + 1)
        if len(stack) > 1 and error.code in _CUT:
            problem = f"the file ends inside of `{stack[-1].tag[:40]}`: it is cut off"
            raise wrong(place, problem, f"give all of {what}") from None
        message = "it is packed" if data.startswith(PACKED) else expat.ErrorString(error.code)
        remedy = "unpack it first" if data.startswith(PACKED) else "correct the file"
        raise wrong(place, f"not valid XML: {message}", remedy) from None
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        raise wrong((1, 1), f"not valid XML: {error}", "correct the file") from None
    return top.children[0]
