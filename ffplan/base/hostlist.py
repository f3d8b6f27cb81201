"""Host names in the bracketed form that Slurm and pdsh use: `compute-[0001-0020,0031]`."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"^(.*?)(\d+)$")


def fold(names: list[str]) -> str:
    """Return names as one host list; runs of numbers of one width are folded, the order of first prefixes kept."""
    groups: dict[tuple[str, int], list[int]] = {}
    plain: dict[str, None] = {}
    for name in names:
        match = _NUMBERED.match(name)
        if match:
            groups.setdefault((match.group(1), len(match.group(2))), []).append(int(match.group(2)))
        else:
            plain[name] = None
    parts = list(plain)
    for (prefix, width), numbers in groups.items():
        runs = _runs(sorted(set(numbers)))
        texts = [f"{low:0{width}}" if low == high else f"{low:0{width}}-{high:0{width}}" for low, high in runs]
        single = len(texts) == 1 and "-" not in texts[0]
        parts.append(f"{prefix}{texts[0]}" if single else f"{prefix}[{','.join(texts)}]")
    return ",".join(parts)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def unfold(text: str) -> list[str]:
    """Return the names of a host list.

    Raises:
        ValueError: where brackets do not close or a run is not of numbers.
    """
    names: list[str] = []
    parts = re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text)
    if ",".join(parts) != text:
        raise ValueError(f"`{text[:60]}` is no host list")
    for part in parts:
        match = re.fullmatch(r"(.*?)\[([^\]]*)\]", part)
        if match is None:
            names.append(part)
            continue
        for run in match.group(2).split(","):
            low, _, high = run.partition("-")
            last = high or low
            if not (low.isdigit() and last.isdigit()):
                raise ValueError(f"`{run}` is no run of numbers")
            names += [f"{match.group(1)}{number:0{len(low)}}" for number in range(int(low), int(last) + 1)]
    return names
