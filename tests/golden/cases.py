"""Every way of being wrong that a user can write, with the command that meets it.

A case changes a shipped design, or a part in a catalogue folder of its own, or brings its own bytes.
The message of each is kept on a page of `errors/`, one for each kind of input; `make docs` writes them anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support import ROOT, overlay_part

if TYPE_CHECKING:
    from pathlib import Path

Change = tuple[str, str]


LLAMA = b"""{
  "model_type": "llama",
  "num_hidden_layers": 32,
  "hidden_size": 4096,
  "num_attention_heads": 32
}"""
"""A config.json of Hugging Face; what it leaves out has defaults."""
PAGES = {
    ("import", "nccl"): "nccl-topologies",
    ("fabric", "import"): "model-configs",
    ("accuracy", "communication"): "measured-cases",
    ("accuracy", "training"): "measured-cases",
    ("accuracy", "serving"): "measured-cases",
    ("measure", "fit"): "recordings",
    ("calibrate", "serving"): "serving-runs",
    ("acceptance", "superpod-h100-4su"): "logs",
    ("audit", "fire-flyer-2"): "as-built",
    ("route", "fire-flyer-2"): "traffic",
    ("train", "dgx-a100-10k"): "plans",
    ("cabling",): "design",
    ("export", "--to"): "design",
}
"""Page by the first words of the command, where it is not named after the command."""


@dataclass(frozen=True)
class Case:
    """One wrong input."""

    name: str
    changes: tuple[Change, ...] = ()
    base: str = "fire-flyer-2"
    raw: bytes | None = None
    command: tuple[str, ...] = ("design",)
    """What comes before the file on the command line."""
    file: str = "design.yaml"
    part: str | None = None
    part_changes: tuple[Change, ...] = ()
    part_files: tuple[tuple[str, str], ...] = ()
    """Further files of the catalogue folder: name and text."""

    @property
    def page(self) -> str:
        """Name of the page that keeps its message: what is read where the error is."""
        if self.part is not None:
            return "parts"
        if self.part_files:
            return "price-books"
        return PAGES.get(self.command[:2], self.command[0])

    def write(self, folder: Path) -> list[str]:
        """Write the files of the case; return the arguments of the command that meet them."""
        design = folder / self.file
        if self.raw is not None:
            design.write_bytes(self.raw)
        else:
            text = (ROOT / "designs" / f"{self.base}.yaml").read_text()
            for old, new in self.changes:
                assert old in text, f"{self.name}: {old!r}"
                text = text.replace(old, new)
            design.write_text(text)
        if self.part is None and not self.part_files:
            return [str(design)]
        parts = folder / "parts"
        parts.mkdir(exist_ok=True)
        for name, text in self.part_files:
            (parts / name).write_text(text)
        if self.part is not None:
            overlay_part(parts, self.part, *self.part_changes)
        return [str(design), "--catalog", str(parts)]


RECORDING = """\
{
  "kind": "kernel-recording", "version": "1", "title": "ours", "date": "2026-11-24", "origin": "measured",
  "load": "sustained",
  "device": {"type": "gpu", "name": "H100"},
  "gemms": [{"m": 4096, "n": 4096, "k": 4096, "dtype": "bf16", "median_us": 176.2}]
}
"""

SERVED = """\
{
  "hw": "h100", "tp": 8, "ep": 1, "dp_attention": false, "conc": 16, "framework": "vllm", "precision": "fp8",
  "model": "meta-llama/Llama-3.1-70B-Instruct", "isl": 1024, "osl": 1024,
  "mean_ttft": 0.082, "mean_tpot": 0.0101
}
"""

H100 = ("--accelerator", "h100-sxm-80gb")
VLLM = (*H100, "--engine", "vllm-2026")
AIPERF = """\
{"time_to_first_token": {"unit": "minutes", "avg": 2}, "inter_token_latency": {"unit": "ms", "avg": 11},
 "input_sequence_length": {"unit": "tokens", "avg": 1000}, "output_sequence_length": {"unit": "tokens", "avg": 500}}
"""
LOADGEN = """\
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : SingleStream
Mode     : PerformanceOnly
Tokens per second: 2000.0
Samples per second: 10.0
Result is : VALID
"""

MEASURED = """\
kind: communication-cases
id: cases
name: my cluster
source: {title: "nccl-tests of ours", date: "2026-11", grade: measured, status: V}
collectives:
  - id: sweep
    system: {server: hgx-h100-8nic}
    operation: reduce-scatter
    library: nccl
    gpus: [8, 16]
    sizes: [1 MiB, 1 GiB]
    metric: busbw_gbyte_s
    values: [[65, 440], [62, 450]]
"""


HIERARCHY = """\
hierarchies:
  - {id: pod, server: hgx-h100-8nic, switch: qm9700, unit_nodes: 32, units: 4, leaf_switches: 8, spine_switches: 16,
     speedup: {x: [1]}}
"""

OFFLOAD = """\
offloads:
  - id: one
    parameters: 1000000000
    ranks: 8
    micro_steps: 4
    message: 1 MB
    transports:
      - {name: NVLink, system: {server: hgx-h100-8nic}, wall: 1206 s}
"""

STEPS = """\
kind: training-cases
id: cases
name: my runs
source: {title: "our cluster", date: "2026-11", grade: measured, status: V}
tables:
  - id: gpt
    system: {server: dgx-a100-320gb}
    model: megatron-1.7b
    plan: {recompute: full}
    columns: [gpus, batch, micro_batch, tensor, data, pipeline, seconds]
    rows:
      - [8, 64, 2, 2, 2, 1, 2.5]
"""

RUNS = """\
kind: serving-cases
id: cases
name: my runs
source: {title: "our cluster", date: "2026-11", grade: measured, status: V}
runs:
  - {id: one, model: llama3.1-8b, accelerator: h100-sxm-80gb, engine: vllm-2026, version: "0.12", precision: bf16,
     prompt: 1024, output: 128, columns: [concurrency, tpot_ms], points: [[8, 10.2, 1]]}
"""


OWNED = (
    "\nownership:\n  profile: owned-2026\n  life: 5 years\n  residual: 20 %\n  capital: 10 %\n  rack: $3500\n"
    "  colocation: $150/kW-month\n\ncost:"
)
"""Ownership that a design states."""


def _cost(name: str, old: str, new: str) -> Case:
    """Change what a design says of ownership."""
    assert old in OWNED, f"{name}: {old}"
    changes = (("\ncost:", OWNED.replace(old, new)),)
    return Case(name, changes=changes, base="superpod-h100-4su", command=("cost",))


def _phases(name: str, old: str, new: str) -> Case:
    return Case(name, changes=((old, new),), base="site-h100-100k", command=("cost",))


def _workload(name: str, text: str, command: str = "cost") -> Case:
    return Case(name, (("site:\n", f"workload: {text}\nsite:\n"),), command=(command,))


def _serving(name: str, text: str) -> Case:
    return Case(name, (("site:\n", f"serving: {text}\nsite:\n"),), command=("serve",))


NCCL = b"""\
#  Rank  0 Group  0 Pid  1 on   node01 device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  1 on   node01 device  1 [0000:2a:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid  1 on   node01 device  2 [0000:3a:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid  1 on   node01 device  3 [0000:5d:00] NVIDIA H100 80GB HBM3
#  Rank  4 Group  0 Pid  1 on   node01 device  4 [0000:9a:00] NVIDIA H100 80GB HBM3
#  Rank  5 Group  0 Pid  1 on   node01 device  5 [0000:ab:00] NVIDIA H100 80GB HBM3
#  Rank  6 Group  0 Pid  1 on   node01 device  6 [0000:ba:00] NVIDIA H100 80GB HBM3
#  Rank  7 Group  0 Pid  1 on   node01 device  7 [0000:db:00] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     8388608       2097152     float     sum      -1    105.3   79.66  139.41      0    104.9   79.97  139.94      0
"""
"""Output of nccl-tests that does not name its operation."""
JOB = ("goodput", "--model", "llama3-8b")


def _failing(name: str, text: str) -> Case:
    """Let a design say something of failures and checkpoints."""
    shipped = ("\nreliability: {profile: fire-flyer}\n", "")
    return Case(name, (shipped, ("site:\n", f"reliability: {text}\nsite:\n")), command=JOB)


def _failures(name: str, part: str, old: str, new: str) -> Case:
    """Change a part about failures."""
    return Case(name, part=part, part_changes=((old, new),), command=JOB)


def _rent(name: str, old: str, new: str) -> Case:
    return Case(name, changes=((old, new),), base="aws-p5-64", command=("cost",))


def _design(name: str, old: str, new: str, base: str = "fire-flyer-2") -> Case:
    return Case(name, ((old, new),), base)


def _part(name: str, part: str, old: str, new: str, base: str = "fire-flyer-2") -> Case:
    return Case(name, base=base, part=part, part_changes=((old, new),))


def quotes(name: str, base: str, *items: str, currency: str = "paper-unit") -> tuple[str, str]:
    """Return name and text of a price book that extends another."""
    lines = (
        "kind: price-book",
        f"id: {name}",
        f"extends: {base}",
        "name: our quotes",
        "vendor: various",
        f"currency: {currency}",
        'date: "2026-11"',
        'sources: {quote: {title: "an offer", date: "2026-11", grade: measured, status: V}}',
        "items:" if items else "items: {}",
        *(f"  {item}" for item in items),
    )
    return f"{name}.yaml", "\n".join(lines) + "\n"


def _books(name: str, *files: tuple[str, str]) -> Case:
    change = ("price_book: fire-flyer-2-relative", "price_book: quotes-a")
    return Case(name, (change,), part_files=files)


def _nccl_gpu(attribute: bytes) -> bytes:
    gpu = b'<pci class="0x030200" vendor="0x10de" device="0x20b0" '
    return b"<system><cpu>\n  " + gpu + attribute + b"/></cpu></system>"


def _bomb() -> bytes:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines).encode()


CASES = (
    _design("alias-in-itself", "name: fire-flyer-2\n", "name: &a [*a]\n"),
    _design("alias-without-anchor", "name: fire-flyer-2\n", "name: *a\n"),
    _design("access-points-too-few", "access_points: 1600", "access_points: 100", "pcie-a100-three-tier"),
    _design("boolean-for-a-count", "count: 1250", "count: true"),
    _design("capacity", "count: 135", "count: 180"),
    Case("capacity-access-points", (("access_points: 1600", "access_points: 20000"),), "pcie-a100-three-tier"),
    _design("capacity-inter-zone", "links_per_zone: 40", "links_per_zone: 84"),
    _design("leaf-uplinks-too-many", "scalable_unit: 32", "leaf: {downlinks: 40}", "superpod-h100-4su"),
    _design("choice", "family: fat-tree", "family: fat-tre"),
    _design("communication-library", "libraries: [hfreduce, nccl]", "libraries: [rccl]"),
    _design("communication-nvlink", "libraries: [hfreduce,", "libraries: [hfreduce-nvlink,"),
    Case(
        "communication-one-accelerator",
        (
            ("count: 1250", "count: 1"),
            ("zones: 2\n", "zones: 1\n"),
            (", zones: every", ""),
            (
                "  inter_zone:\n    switches: 2         # inferred: the paper's 122 switches less "
                "2 x (20 spine + 40 leaf)\n"
                "    links_per_zone: 40  # assumed: both switches full\n",
                "",
            ),
        ),
        part="fire-flyer-2-node",
        part_changes=tuple(
            (f"  - {{id: gpu{i}, root_port: cpu{i // 4}-rp{p}}}\n", "")
            for i, p in ((0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (5, 1), (6, 1))
        ),
    ),
    _cost("cost-both", "life: 5 years", "life: {likely: 5 years, value: 4 years}"),
    _cost("cost-capital", "capital: 10 %", "capital: 110 %"),
    _cost("cost-currency", "colocation: $150/kW-month", "colocation: €150/kW-month"),
    Case(
        "cost-exchange",
        changes=(("currency: USD", "currency: USD\n  exchange: {USD: $1, CNY: €0.13, EUR: $0}"),),
        base="superpod-h100-4su",
        command=("cost",),
    ),
    _cost("cost-no-mapping", OWNED, "\nownership: 5\n\ncost:"),
    _cost("cost-life-0", "life: 5 years", "life: 0 years"),
    _cost(
        "cost-lognormal", "residual: 20 %", "residual: {low: 0 %, likely: 10 %, high: 20 %, distribution: lognormal}"
    ),
    _cost("cost-mixed-range", "rack: $3500", "rack: {low: €3000, likely: $3500, high: €4000}"),
    _cost("cost-negative", "rack: $3500", "rack: -$3500"),
    _cost("cost-no-width", "life: 5 years", "life: {likely: 5 years, distribution: pert}"),
    _cost("cost-order", "life: 5 years", "life: {likely: 5 years, low: 6 years, high: 7 years}"),
    _cost("cost-profile", "profile: owned-2026", "profile: owned-2025"),
    _cost("cost-pue", "rack: $3500", "pue: {likely: 1.3, low: 1.2, high: 1.4}"),
    _cost("cost-residual", "residual: 20 %", "residual: 120 %"),
    _cost("cost-span", "life: 5 years", "life: 5"),
    _cost("cost-twice", "rack: $3500", "electricity: $0.07/kWh"),
    _cost("cost-unit", "colocation: $150/kW-month", "colocation: $150"),
    _cost("cost-unknown-field", "rack: $3500", "racks: $3500"),
    _cost("cost-use-0", "residual: 20 %", "utilisation: 0 %\n  effective: {low: 0 %, likely: 90 %, high: 95 %}"),
    _cost("cost-utilisation", "residual: 20 %", "utilisation: 1.2"),
    _phases("phases-empty", "[6272]}\n  - {name: whole, after: 6 months, nodes: [12544]}", "[0]}"),
    _phases("phases-length", "nodes: [6272]", "nodes: [6272, 1]"),
    _phases("phases-late", "after: 0 months", "after: 9 months"),
    _phases(
        "phases-order", "\n  - {name: whole,", "\n  - {name: most, after: 7 months, nodes: [9408]}\n  - {name: whole,"
    ),
    _phases("phases-price", "after: 6 months", "price_change: -95 %, after: 6 months"),
    _phases("phases-shrink", "nodes: [6272]", "nodes: [12545]"),
    _phases("phases-unfinished", "nodes: [12544]", "nodes: [12543]"),
    Case("site-no-pue", (("  pue: 1.25  #", "  # "),)),
    Case("site-two-pues", (("  pue: 1.25", "  cooling: air\n  pue: 1.25"),)),
    Case("site-cooling-of-air", (("  pue: 1.25", "  cooling: cold-plate"),)),
    Case("site-cooling", (("  pue: 1.25", "  cooling: water"),)),
    _workload("workload-field", "{model: llama3-70b, token: 2T}", "design"),
    _workload("workload-tokens", "{model: llama3-70b, tokens: many}", "design"),
    _workload("workload-model", "{model: llama3-71b, tokens: 2T}"),
    _workload("workload-convolutional", "{model: resnet-50, tokens: 2T}"),
    _workload("workload-gpus", "{model: llama3-70b, tokens: 2T, gpus: 10001}"),
    _workload("workload-batch", "{model: llama3-70b, tokens: 2T, batch: 64, plan: {batch: 64}}"),
    _workload("workload-plan", "{model: llama3-70b, tokens: 2T, plan: {zero: 0, shard: 8}}"),
    _serving("serving-load", "{model: llama3.1-8b}"),
    _serving("serving-rate", "{model: llama3.1-8b, rate: fast}"),
    _serving("serving-model", "{model: llama3.1-9b, rate: 5/s}"),
    _serving("serving-precision", "{model: llama3.1-8b, rate: 5/s, precision: fp7}"),
    _rent("rent-accelerator", "aws-p5-h100-3-year", "aws-p6-b200-3-year"),
    _rent("rent-0", "offer: aws-p5-h100-3-year", "price: $0/hour\n  term: spot"),
    _rent("rent-both", "offer: aws-p5-h100-3-year", "offer: aws-p5-h100-3-year\n  price: $2/hour"),
    _rent("rent-neither", "offer: aws-p5-h100-3-year", "extras: $1000/month"),
    _rent("rent-no-term", "offer: aws-p5-h100-3-year", "price: $2/hour"),
    _rent("rent-offer", "aws-p5-h100-3-year", "aws-p5-h100-3-years"),
    _rent("rent-priced", "rent:", "cost:\n  price_book: usd-2026\n\nrent:"),
    _rent("rent-term", "offer: aws-p5-h100-3-year", "offer: aws-p5-h100-3-year\n  term: spot"),
    Case("control-character", raw=b"name: a\x07b\n"),
    _design("currencies", "pue: 1.25", "pue: 1.25\n  currency: EUR"),
    _design("currencies-limit", "it_power: 4 MW", "capex: EUR 11000"),
    Case("deep-nesting", raw=b"[" * 26_000),
    _design("divisibility-inter-zone", "links_per_zone: 40", "links_per_zone: 39"),
    _design("library-twice", "[hfreduce, nccl]", "[nccl, nccl]"),
    _design("divisibility-planes", "planes: 4", "planes: 3", "fire-flyer-next"),
    _design("divisibility-zones", "count: 1250", "count: 1250, zones: every"),
    _design("duplicate-key", "  tiers: 2\n", "  tiers: 2\n  tiers: 3\n"),
    Case("empty", raw=b""),
    Case("binary", raw=bytes(range(256)) * 8),
    Case("bomb", raw=_bomb()),
    Case("complex-key", raw=b"? [a, b]\n: c\n"),
    Case("alias-as-key", raw=b"a: &x b\n*x : c\n"),
    Case("huge", raw=b"# " + b"x" * 100 * 1024 * 1024),
    _design("infinite", "pue: 1.25", "pue: .inf"),
    _design("infinite-quantity", "it_power: 4 MW", "it_power: 1e999 MW"),
    Case("latin-1", raw="name: é\n".encode("latin-1")),
    Case("list-for-a-design", raw=b"- a\n- b\n"),
    _design("list-for-a-mapping", "fabric:\n", "fabric: []\nother:\n"),
    _design("merge-key", "site:\n", "site:\n  <<: {pue: 1}\n"),
    _design("missing-field", "name: fire-flyer-2\n", ""),
    _design("missing-inner-field", "  tiers: 2\n", ""),
    _design("money-without-currency", "it_power: 4 MW", "capex: 11000"),
    _design("misspelt-field", "  tiers: 2\n", "  tier: 2\n"),
    _design("negative-count", "count: 1250", "count: -3"),
    _design("negative-quantity", "it_power: 4 MW", "it_power: -4 MW"),
    _design("no-compute-nodes", "role: compute", "role: management"),
    _design("no-nodes", "nodes:\n", "nodes: []\nother:\n"),
    _design("not-a-number", "pue: 1.25", "pue: .nan"),
    _design("pue-below-one", "pue: 1.25", "pue: 0.8"),
    _design("ratio-for-a-count", "count: 1250", "count: 3:1"),
    _design("reference-kind", "switch: qm8700", "switch: connectx-6-200g"),
    _design("reference-server-kind", "server: fire-flyer-3fs-node", "server: fire-flyer-2-node"),
    _design("reference-unknown", "switch: qm8700", "switch: qm8701"),
    _design("second-document", "name: fire-flyer-2\n", "name: fire-flyer-2\n---\n"),
    _design("syntax", "nodes:\n", "nodes: [\n"),
    _design("tab", "  family: fat-tree", "\tfamily: fat-tree"),
    _design("tag", "count: 1250", "count: !!int 1250"),
    _design("text-for-a-name", "name: fire-flyer-2\n", 'name: "[/foo]"\n'),
    _design("tiers-without-core", "  tiers: 2\n", "  tiers: 2\n  core_policy: minimal\n"),
    _design("tiers-without-spine-uplinks", "  tiers: 2\n", "  tiers: 2\n  spine_oversubscription: 2:1\n"),
    _design("family-planes", "family: fat-tree", "family: rail-only\n  planes: 2"),
    _design("family-stripes", "family: fat-tree", "family: fat-tree\n  planes_by: port"),
    _design("family-units", "family: fat-tree", "family: fat-tree\n  scalable_unit: 16"),
    _design("breakout-beyond-the-switch", "  tiers: 2\n", "  tiers: 2\n  breakout: 4\n", "superpod-h100-4su"),
    Case(
        "breakout-of-a-split-link",
        (
            ("  tiers: 2\n", "  tiers: 2\n  breakout: 2\n"),
            ("endpoint: 400g-dr4, inter_switch: 400g-dr4", "endpoint: hdr-dac, inter_switch: hdr-aoc"),
        ),
        "superpod-h100-4su",
    ),
    _design("family-units-too-large", "family: fat-tree", "family: rail-optimised\n  scalable_unit: 32"),
    Case(
        "family-leaves",
        (
            ("family: fat-tree", "family: rail-optimised\n  scalable_unit: 16"),
            ("tiers: 3", "tiers: 2"),
            ("count: 1250", "count: 96"),
            ("  core_policy: per-rail-whole-pods", "  #"),
        ),
        "dgx-a100-10k",
    ),
    _design("inter-switch-missing", ", inter_switch: hdr-aoc}", "}"),
    _design("quoted-number", "count: 1250", 'count: "1250"'),
    _design("choice-in-a-list", "[hfreduce, nccl]", "[hfreduce, ncl]"),
    _design("money-in-words", "it_power: 4 MW", "capex: $15 million"),
    _design("out-of-range", "it_power: 4 MW", "it_power: 1e300 MW"),
    _design("unit-missing", "it_power: 4 MW", "it_power: 4000000"),
    _design("unit-of-another-quantity", "allreduce_bandwidth: 5 GB/s", "allreduce_bandwidth: 200 GB"),
    _part("library-of-another-method", "nccl", "method: nccl", "method: hfreduce"),
    _design("limit-replaced", "  it_power: 4 MW", "  total_power: 4 MW"),
    _design("unit-without-case", "allreduce_bandwidth: 5 GB/s", "allreduce_bandwidth: 5 gb/s"),
    Case("yaml-1.1", raw=b"%YAML 1.1\n---\nname: a\n"),
    _design("zones-without-zones", "  zones: 2\n", "  zones: 1\n"),
    _part("memory-channels", "fire-flyer-2-node", "channels: {value: 8,", "channels: {value: 16,"),
    _part("nic-without-root-port", "fire-flyer-2-node", "connectx-6-200g, root_port: cpu1-rp3,", "connectx-6-200g,"),
    _part("one-port-switch", "qm8700", "ports: {value: 40,", "ports: {value: 1,"),
    _part("price-date", "fire-flyer-2-relative", 'date: "2024-08"\nsources', "date: yesterday\nsources"),
    _books("price-extends-circle", quotes("quotes-a", "quotes-b"), quotes("quotes-b", "quotes-a")),
    _books("price-extends-itself", quotes("quotes-a", "quotes-a")),
    _books("price-extends-unknown", quotes("quotes-a", "fire-flyer-relative")),
    _books("price-extends-a-switch", quotes("quotes-a", "qm8700")),
    _books("price-extends-currency", quotes("quotes-a", "usd-2024")),
    _part("part-grade", "qm8700", "{value: 253 W,", "{value: 253 W, grade: measured,"),
    _part("part-id", "qm8700", "id: qm8700\n", ""),
    _part("part-kind", "qm8700", "kind: switch", "kind: swich"),
    _part("part-range", "qm8700", "value: 253 W", "value: 253 W, low: 300 W"),
    _part("part-source", "qm8700", "ports: {value: 40, source: paper}", "ports: {value: 40, source: papr}"),
    _part("part-unknown-field", "qm8700", "ports:", "port:"),
    _part("root-port-missing", "fire-flyer-2-node", "gpu6, root_port: cpu1-rp1", "gpu6, root_port: cpu1-rp9"),
    _part(
        "server-scale-up-nodes", "fire-flyer-2-node-nvlink", "nvlink:\n", "nvlink:\n  nodes: 2\n", "fire-flyer-2-nvlink"
    ),
    _part(
        "server-link-counts",
        "fire-flyer-2-node-nvlink",
        "nvlink:\n  pairs: ",
        "nvlink:\n  counts: [2]\n  pairs: ",
        "fire-flyer-2-nvlink",
    ),
    _part("server-part-unknown", "fire-flyer-2-node", "part: connectx-6-200g", "part: connectx-6"),
    _part("server-without-nic", "fire-flyer-2-node", "network: both", "network: storage"),
    _design("floor-heights-without-floor", "count: 1250}", "count: 1250, rack_units: 4}"),
    _design("floor-power", "power_per_rack: 45 kW", "power_per_rack: 30 kW", "superpod-h100-4su"),
    _design("floor-units", "rack_units: 8, per_rack: 4", "rack_units: 16, per_rack: 4", "superpod-h100-4su"),
    _design("floor-switch-racks", "switch_units: 2", "switch_units: 30", "superpod-h100-4su"),
    _design("floor-cable-too-long", "400g-dac, 400g-aoc, 400g-dr4", "400g-dac", "superpod-h100-4su"),
    _design("floor-cable-too-slow", "400g-dac, 400g-aoc, 400g-dr4", "hdr-aoc", "superpod-h100-4su"),
    _design("floor-link-unknown", "links: [400g-dac,", "links: [400g-dak,", "superpod-h100-4su"),
    Case("cabling-without-floor", command=("cabling",)),
    Case(
        "export-racks",
        changes=(("count: 288", "count: 293"),),
        base="gb200-nvl72-16",
        command=("export", "--to", "astra-sim"),
    ),
    Case(
        "export-kinds",
        changes=(("nodes:\n", "nodes:\n  - {role: compute, server: gh200-node, count: 6}\n"),),
        base="gb200-nvl72-16",
        command=("export", "--to", "simai"),
    ),
    _failing("reliability-interval", "{checkpoint_interval: 1 ms}"),
    _failing("reliability-interval-0", "{checkpoint_interval: 0 s}"),
    _failing("reliability-profile", "{profile: reliability-2062}"),
    _failing("reliability-rate", "{fleet: -1}"),
    _failing("reliability-restart", "{restart: redeploy}"),
    _failures("hazard-class", "reliability-2026", "[faulty-gpu,", "[faulty-cpu,"),
    _failures("hazard-exposure", "reliability-2026", "over: nic}", "over: bridge}"),
    _failures("hazard-without-rate", "reliability-2026", "    rate: {value: 1.1042, source: xid74}\n", ""),
    _failures("study-sum", "llama3-2024", "hbm: {value: 72", "hbm: {value: 71"),
    _failures("study-class", "llama3-2024", "unexpected: [faulty-gpu, hbm,", "unexpected: [faulty-gpu, hbn,"),
    *(
        Case(f"log-{name}", raw=raw, command=("acceptance", "superpod-h100-4su", "--measured"), file=file)
        for name, file, raw in (
            ("prose", "notes.txt", b"all is well\n"),
            ("json", "a.json", b'{"nvbandwidth": '),
            ("json-other", "a.json", b'{"results": 3}'),
            ("nccl-operation", "run.txt", re.sub(rb"sum +-1", b"none 0", NCCL.replace(b"139.41", b"69.70"))),
            ("nccl-ranks", "all_reduce.txt", NCCL.replace(b"#  Rank", b"#  Rink").replace(b"139.41", b"158.90")),
            ("nccl-rows", "all_reduce.txt", NCCL.partition(b"  8388608")[0]),
            ("nccl-columns", "all_reduce.txt", NCCL[: NCCL.index(b"79.66")] + b"\n 8 2 float sum -1 1 1 1 0\n"),
            ("nccl-busbw", "run.txt", b"$ ./all_reduce_perf -g 8\n" + NCCL.replace(b"139.41", b"99.00")),
            ("nccl-number", "all_reduce.txt", NCCL.replace(b"105.3", b"1O5.3")),
            ("nccl-size", "all_reduce.txt", NCCL.replace(b"2097152", b"2099000")),
            ("smi", "a.xml", b"<nvidia_smi_log><gpu>"),
            ("smi-entity", "a.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><nvidia_smi_log/>'),
            ("ibdiagnet", "a.db_csv", b"START_PORTS\nNodeGuid,LinkWidthActv,LinkSpeedActv\n0x1,3,2048\nEND_PORTS\n"),
            ("ibdiagnet-row", "a.db_csv", b"START_PORTS\nNodeGuid,LinkWidthActv\n0x1\nEND_PORTS\n"),
            ("fio-error", "a.json", b'{"fio version": "3.38", "jobs": [{"jobname": "a", "error": 5}]}'),
            ("sheet", "a.csv", b"check,measured\nmemory,\n"),
        )
    ),
    *(
        Case(f"nccl-{name}", raw=raw, command=("import", "nccl"), file="topology.xml")
        for name, raw in (
            ("not-xml", b"hello"),
            ("cut-off", b'<system version="1">\n  <cpu numaid="0">\n'),
            ("binary", b"\x00\x01\x02"),
            ("doctype", b'<!DOCTYPE a [<!ENTITY b "c">]>\n<system/>'),
            ("deep", b"<a>" * 100),
            ("other-root", b'<graphs version="1"/>'),
            ("nothing-inside", b'<system version="1"><cpu numaid="0"/></system>'),
            ("bus-ids-alone", b'<system>\n<cpu>\n<pci busid="0000:00:16.0"/>\n</cpu>\n</system>'),
            ("numa-node", _nccl_gpu(b"").replace(b"<cpu", b'<cpu numaid="64"')),
        )
    ),
    *(
        Case(f"as-built-{name}", raw=raw, command=("audit", "fire-flyer-2"), file="built.txt")
        for name, raw in (
            ("empty", b""),
            ("prose", b'Switch 4 "S-1" # "leaf"\nno such file or directory\n'),
            ("port-first", b'[1] "S-1"[2]\n'),
            ("port-beyond", b'Switch 4 "S-1" # "leaf"\n[5] "S-2"[1]\n'),
            ("port-twice", b'Switch 4 "S-1" # "leaf"\n[1] "S-2"[1]\n[1] "S-2"[2]\n'),
            ("device-twice", b'Switch 4 "S-1" # "leaf"\nSwitch 4 "S-1" # "leaf-2"\n'),
            ("digits", b'Switch 4 "S-1" # "leaf"\n[' + b"9" * 5000 + b'] "S-2"[1]\n'),
            ("peer-unknown", b'Switch 4 "S-1" # "leaf"\n[1] "S-2"[1]\n'),
            ("ends-disagree", b'Switch 4 "S-1" # "a"\n[1] "S-2"[1]\nSwitch 4 "S-2" # "b"\n[1] "S-1"[2]\n'),
        )
    ),
    *(
        Case(
            f"cases-{name}",
            raw=MEASURED.replace(old, new).encode(),
            command=("accuracy", "communication", "--cases"),
            file="cases.yaml",
        )
        for name, old, new in (
            ("nodes", "gpus: [8, 16]", "gpus: [8, 17]"),
            ("shape", "[[65, 440], [62, 450]]", "[[65, 440]]"),
            ("server", "server: hgx-h100-8nic", "server: hgx-h100"),
            ("library", "library: nccl", "library: hfreduce-nvlink\n    algorithm: nvls"),
            ("kind", "kind: communication-cases", "kind: price-book"),
            ("value", "[62, 450]", "[62, fast]"),
            ("unit", "sizes: [1 MiB, 1 GiB]", "sizes: [1 MiB, 1024]"),
        )
    ),
    _part("pci-id", "connectx-6-200g", 'pci_ids: ["15b3:101b"]', "pci_ids: [xyz]"),
    Case(
        "cases-transports",
        raw=(MEASURED + OFFLOAD).encode(),
        command=("accuracy", "communication", "--cases"),
        file="cases.yaml",
    ),
    Case(
        "cases-speedup",
        raw=(MEASURED + HIERARCHY).encode(),
        command=("accuracy", "communication", "--cases"),
        file="cases.yaml",
    ),
    Case("no-final-newline", raw=b"name: one\nfoo: {a: [1"),
    Case("line-separator", raw='name: one\ndescription: "a\u2028b\u2029c\u0085d"\nfabrik: {}\n'.encode()),
    Case(
        "plan-heads",
        raw=b"kind: training-plan\npipeline: 2\ntensor: 7\n",
        command=("train", "dgx-a100-10k", "--model", "gpt3-175b", "--gpus", "112", "--batch", "64", "--plan"),
        file="plan.yaml",
    ),
    Case(
        "training-cases",
        raw=MEASURED.replace("communication-cases", "training-cases").encode(),
        command=("accuracy", "communication", "--cases"),
        file="cases.yaml",
    ),
    Case("serving-row", raw=RUNS.encode(), command=("accuracy", "serving", "--cases"), file="cases.yaml"),
    Case(
        "hours-twice",
        raw=b"hour,requests\n0,1200\n0,1100\n",
        command=("recommend", "--model", "llama3-8b", "--serve", "5/s", "--ttft", "2s", "--day"),
        file="hours.csv",
    ),
    Case(
        "requests",
        raw=b"prompt,output\n1024,128\n1024,x\n",
        command=("serve", "fire-flyer-2", "--model", "llama3-8b", "--lengths"),
        file="lengths.csv",
    ),
    *(
        Case(f"config-{name}", raw=raw, command=("fabric", "import", "model"), file=file)
        for name, file, raw in (
            ("cut", "config.json", b'{"model_type": "llama",\n "hidden_size": 40'),
            ("empty", "config.json", b""),
            ("list", "config.json", b"[]"),
            ("twice", "config.json", b'{"model_type": "llama",\n "hidden_size": 1,\n "hidden_size": 2}'),
            ("adapter", "adapter_config.json", b'{"peft_type": "LORA", "base_model_name_or_path": "meta/Llama-3-8B"}'),
            ("gguf", "model.gguf", b"GGUF\x03\x00\x00\x00"),
            ("safetensors", "model.safetensors", b'\x10\x00\x00\x00\x00\x00\x00\x00{"__metadata__": {}}'),
            ("index", "model.safetensors.index.json", b'{"weight_map": {}}'),
            ("untyped", "config.json", b'{"hidden_size": 4096}'),
            ("unknown", "config.json", b'{"model_type": "lama"}'),
            ("vision", "config.json", b'{"model_type": "vit", "hidden_size": 768}'),
            ("mamba", "config.json", b'{"model_type": "mamba", "hidden_size": 768}'),
            ("encoder", "config.json", b'{"model_type": "t5", "is_encoder_decoder": true}'),
            ("missing", "config.json", b'{"model_type": "llama"}'),
            ("text", "config.json", LLAMA.replace(b"4096", b'"4096"')),
            ("zero", "config.json", LLAMA.replace(b"4096", b"0")),
            ("heads", "config.json", LLAMA.replace(b'_heads": 32', b'_heads": 30')),
            ("linear", "config.json", LLAMA.replace(b"}", b', "layer_types": ["linear_attention"]}')),
            ("wrapped", "config.json", b'{"model_type": "llava",\n "text_config": {"model_type": "llama"}}'),
        )
    ),
    Case("training-row", raw=STEPS.encode(), command=("accuracy", "training", "--cases"), file="cases.yaml"),
    Case(
        "training-plan",
        raw=b"kind: training-plan\ntensor: 8\norder: [tensor, data, pipeline]\n",
        command=("train", "dgx-a100-10k", "--model", "gpt3-175b", "--plan"),
        file="plan.yaml",
    ),
    Case(
        "training-plan-field",
        raw=b"kind: training-plan\ntensor: 8\nrecompute: all\n",
        command=("train", "dgx-a100-10k", "--model", "gpt3-175b", "--plan"),
        file="plan.yaml",
    ),
    *(
        Case(
            f"fleet-{name}",
            raw=(ROOT / "designs/fleets/two-sites.yaml").read_bytes().replace(old, new, 1),
            command=("fleet",),
            file="fleet.yaml",
        )
        for name, old, new in (
            ("share", b"chat: 20 %", b"chat: 30 %"),
            ("demand", b"{chat: 100 %}", b"{chatt: 100 %}"),
            ("site", b"site: north", b"site: south"),
            ("quarters", b"quarters: 8", b"quarters: 7"),
            ("retire", b"retire: 2028-07", b"retire: 2024-07"),
            ("month", b"order: 2027-04", b"order: 2027-13"),
            ("twice", b"name: l40s", b"name: b200"),
            ("model", b"train: llama3.1-70b", b"train: llama3.1-700b"),
            ("image", b"train: llama3.1-70b", b"train: resnet-50"),
            ("both", b"    osl: 500\n", b"    train: llama3.1-8b\n"),
            ("target", b"    ttft: 2 s\n    tpot: 50 ms\n", b""),
            ("slow", b"ttft: 2 s", b"ttft: 1 ms"),
            ("engine", b"    osl: 500\n", b"    engine: vlm\n"),
            ("rate", b"- 150/s", b"- 0/s"),
            ("shortfall", b"quarters: 8", b"quarters: 8\nshortfall: EUR 3/hour"),
            ("gone", b"design: l40s-8-roce", b"design: l40s.yaml"),
            ("field", b"    count: 12", b"    number: 12"),
            ("version", b"schema_version: 1", b"schema_version: 2"),
        )
    ),
    *(
        Case(f"matrix-{name}", raw=raw, command=("route", "fire-flyer-2", "--traffic"), file="traffic.csv")
        for name, raw in (
            ("header", b"from,to,bytes\n"),
            ("host", b"src,dst,bytes\ncompute-0001,compute-2,5\n"),
            ("amount", b"src,dst,bytes\ncompute-0001,compute-0002,much\n"),
            ("negative", b"src,dst,bytes\ncompute-0001,compute-0002,-1\n"),
            ("cells", b"src,dst,bytes\ncompute-0001,compute-0002\n"),
            ("empty", b"src,dst,bytes\n"),
            ("zeros", b"src,dst,bytes\ncompute-0001,compute-0002,0\n"),
        )
    ),
    *(
        Case(
            f"serving-run-{name}",
            raw=(SERVED.replace(old, new) if old else new).encode(),
            command=("calibrate", "serving", *options),
            file="run.json",
        )
        for name, old, new, options in (
            ("accelerator", "", SERVED, ("--engine", "vllm-2026")),
            ("release", "", SERVED, ("--accelerator", "h100-sxm-80gb")),
            ("other-accelerator", "", SERVED, ("--accelerator", "b200", "--engine", "vllm-2026")),
            ("other-engine", "", SERVED, (*H100, "--engine", "sglang-2026")),
            ("other-plan", "", SERVED, (*VLLM, "--tp", "4")),
            ("silent", '"tp": 8, "ep": 1, "dp_attention": false, ', "", VLLM),
            ("model", "meta-llama/Llama-3.1-70B-Instruct", "chat", VLLM),
            ("heads", '"tp": 8', '"tp": 7', VLLM),
            ("number", "0.0101", '"fast"', VLLM),
            ("negative", "0.0101", "-0.0101", VLLM),
            ("cut", "0.0101\n}", "0.0101", VLLM),
            ("unknown", "", '{"speed": 12}', VLLM),
            ("text", "", "12 tokens/s\n", VLLM),
            ("list", "", "[1, 2]", VLLM),
            ("unit", "", AIPERF, VLLM),
            ("scenario", "", LOADGEN, VLLM),
            ("refused", '"conc": 16', '"conc": 16, "spec_decoding": "mtp"', VLLM),
        )
    ),
    *(
        Case(
            f"recording-{name}",
            raw=RECORDING.replace(old, new).encode(),
            command=("measure", "fit", "--accelerator", "a100-sxm-80gb"),
            file="run.json",
        )
        for name, old, new in (
            ("cpu", '"gpu"', '"cpu"'),
            ("device", '"H100"', '"H100", "pci_id": "10de:2330"'),
            ("empty", RECORDING[RECORDING.index('"m"') - 1 : RECORDING.index("]")], ""),
            ("version", '"version": "1"', '"version": "2"'),
            ("size", '"m": 4096', '"m": 0'),
            ("time", "176.2", "-176.2"),
            ("no-time", "176.2", "NaN"),
            ("spread", "176.2", '176.2, "low_us": 180'),
            ("peak", "176.2", "400"),
            ("cut", "}]\n}", "}"),
        )
    ),
)
