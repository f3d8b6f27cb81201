"""Constants of serving engines fitted anew to all published runs; `make constants` writes them into the catalogue."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffplan.calibration.leave_one_out import _band
from ffplan.calibration.serving_fit import Fit, _Observation, _observed
from ffplan.calibration.serving_release import _rates_block
from ffplan.catalog.engines import ANY, Engine
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.results.accuracy import HELD
from ffplan.validation.replay import case_files
from ffplan.validation.serving_cases import ServingFile
from ffplan.validation.serving_replay import _served_run, points_of
from tests.support import ROOT

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats

FOLDER = ROOT / "catalogs" / "engines"
_SWEEP = ("inferencex-history", "inferencex-latest", "inferencex-pools")
KIN = dict.fromkeys((*_SWEEP, "aiconfigurator-silicon", "aiconfigurator-pools"), "inferencex")
"""Sources that hold runs of one sweep: one of them left out leaves much of itself in the fit."""


def observations(paths: list[str], catalog: Catalog) -> list[_Observation]:
    """Return what files of runs measure, as far as a fit takes it."""
    found = []
    for path in paths:
        document = read_document(Path(path))
        file = validate(ServingFile, document)
        for position, run in enumerate(file.runs):
            if run.scored and run.speculation is None:
                served = _served_run(run, catalog, document, ("runs", position))
                for point in points_of(served):
                    found += _observed(served, point, file.id)
    return found


def _block(name: str, constants: dict[str, float], rows: int = 0) -> str:
    return _rates_block(name, {key: (value, "calibration") for key, value in constants.items()}, rows)


def fitted(catalog: Catalog) -> dict[Path, str]:
    """Return every engine's file with its constants fitted anew."""
    seen = observations([path for path, _ in case_files("serving")], catalog)
    fit = Fit(seen)
    rows = Counter(one.groups[3] for one in seen)
    accelerators = sorted({one.groups[2] for one in seen})
    made = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        engine = catalog.entry(path.stem).part
        assert isinstance(engine, Engine)
        blocks = [_block(ANY, fit.constants((engine.software, engine.id, None, None)))]
        for name in accelerators:
            cell = f"{engine.id} {name}"
            blocks.append(_block(name, fit.constants((engine.software, engine.id, name, cell)), rows[cell]))
        text = re.sub(r"^rates:\n(?:[ \t].*\n)*", "", path.read_text(), flags=re.MULTILINE)
        made[path] = text + "rates:\n" + "\n".join(blocks) + "\n"
    return made


def left_out(seen: list[_Observation], folds: list[str]) -> Floats:
    """Return model over measured, less one, of every observation by a fit without its fold.

    Args:
        seen: what was measured.
        folds: the fold of each.
    """
    errors = np.zeros(len(seen))
    for fold in sorted(set(folds)):
        out = np.array([one == fold for one in folds])
        fit = Fit([one for one, gone in zip(seen, out, strict=True) if not gone])
        mine = [one for one, gone in zip(seen, out, strict=True) if gone]
        errors[out] = fit.predicted(mine) / [one.seconds for one in mine] - 1
    return errors


def token_errors(
    seen: list[_Observation], errors: Floats, folds: list[str], release: str | None = None
) -> list[Floats]:
    """Return the sizes of the logarithms of model over measured times per token, by fold, of one release or of all."""
    found: dict[str, list[float]] = {}
    for one, error, fold in zip(seen, errors, folds, strict=True):
        if not one.terms["first"] and not one.terms["bound"] and release in (None, one.groups[1]):
            found.setdefault(fold, []).append(abs(float(np.log1p(error))))
    return [np.array(found[fold]) for fold in sorted(found)]


def summary(seen: list[_Observation], errors: Floats) -> str:
    """Return mean and median of absolute errors over configurations, of tokens after the first and of first ones."""
    texts = []
    for first in (False, True):
        cases: dict[tuple[str, str], list[float]] = {}
        for one, error in zip(seen, errors, strict=True):
            if bool(one.terms["first"]) == first and not one.terms["bound"]:
                cases.setdefault((one.source, one.case), []).append(abs(float(error)))
        means = [float(np.mean(values)) for values in cases.values()]
        texts.append(f"mean {100 * np.mean(means):.1f} %, median {100 * np.median(means):.1f} %")
    return f"tokens {texts[0]}; first tokens {texts[1]}"


def fifths(seen: list[_Observation]) -> list[str]:
    names = sorted({(one.source, one.case) for one in seen})
    fifth = dict(zip(names, np.random.default_rng(0).integers(0, 5, len(names)), strict=True))
    return [str(fifth[one.source, one.case]) for one in seen]


def banded(seen: list[_Observation]) -> dict[Path, str]:
    """Return every engine's file with the bands that hold 80 % of a token's times that were left out of a fit.

    Args:
        seen: what was measured.
    """

    own, accelerators = fifths(seen), [one.groups[2] for one in seen]
    parts, kin = left_out(seen, own), _band(token_errors(seen, left_out(seen, accelerators), accelerators), HELD)
    made = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        text = path.read_text()
        groups = token_errors(seen, parts, own, path.stem)
        for name, value in (("band", _band(groups, HELD) if groups else kin), ("band_kin", kin)):
            said = f"{name}: {{value: {100 * value:.0f} %"
            text = re.sub(rf"^{name}: {{value: [\d.]+ %", said, text, flags=re.MULTILINE)
        made[path] = text
    return made


def main() -> None:
    """Write the constants, with `--bands` their bands; with `--left-out` print the errors of docs/model/serving.md."""
    catalog = Catalog()
    if "--left-out" not in sys.argv and "--bands" not in sys.argv:
        for file, text in fitted(catalog).items():
            file.write_text(text)
        return
    seen = observations([path for path, _ in case_files("serving")], catalog)
    if "--bands" in sys.argv:
        for file, text in banded(seen).items():
            file.write_text(text)
        return
    folds = {
        "fifths of the configurations": fifths(seen),
        "accelerators": [one.groups[2] for one in seen],
        "models": [one.model for one in seen],
        "sources": [one.source for one in seen],
        "sources with their kin": [KIN.get(one.source, one.source) for one in seen],
    }
    print("in the fit:", summary(seen, Fit(seen).predicted(seen) / [one.seconds for one in seen] - 1))
    for what, fold in folds.items():
        print(f"{what} left out:", summary(seen, left_out(seen, fold)), flush=True)


if __name__ == "__main__":
    main()
