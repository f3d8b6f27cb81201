"""Tables of measured kernels."""

from __future__ import annotations

from ffplan.measuring.kernels import _tiny_plan
from ffplan.report.calibrate import measured_document, plan_document
from ffplan.report.document import Grid, Remarks
from ffplan.results.measurement import KernelError, KernelGroupError, MeasuredConstant, MeasuredFit
from ffplan.studies.trust.measurement import measure_plan


def kernel(group: str, **more: object) -> KernelError:
    values: dict[str, object] = {
        "group": group,
        "kernel": "k",
        "measured_us": 1234.5,
        "spread": None,
        "rate": 500.0,
        "unit": "TFLOP/s",
        "fitted_us": None,
        "error": None,
        "catalogue_us": None,
        "catalogue_error": None,
    }
    return KernelError(**(values | more))  # type: ignore[arg-type]


def report(
    *constants: MeasuredConstant, kernels: tuple[KernelError, ...] = (), doubts: tuple[str, ...] = ()
) -> MeasuredFit:
    return MeasuredFit(
        schema_version="4",
        accelerator="h100-sxm-80gb",
        recording="r",
        date="2026-11",
        origin="measured",
        load="sustained",
        device="H100",
        constants=constants,
        groups=(KernelGroupError(group="gemm bf16", n=1, before=0.1, after=0.02, max_error=0.05),),
        kernels=kernels,
        remarks=(),
        doubts=doubts,
    )


def constant(name: str, unit: str, value: float, note: str | None = None) -> MeasuredConstant:
    return MeasuredConstant(
        name=name,
        unit=unit,
        before=None if name == "gemm" else value * 2,
        after=value,
        low=value * 0.9,
        high=value * 1.1,
        rows=7,
        written=name != "gemm",
        note=note,
    )


def test_constants_have_their_units_and_ranges() -> None:
    made = report(
        constant("stream", "1", 0.4), constant("gemm", "s", 5e-6), constant("pcie", "GB/s", 50.0, "both ways")
    )
    blocks = measured_document(made).body().blocks
    grid = blocks[0]
    assert isinstance(grid, Grid)
    assert grid.rows == (
        ("stream", "80 %", "40 %", "36 to 44", "7", "yes"),
        ("a GEMM alone", "-", "5 us", "4.5 to 5.5", "7", ""),
        ("PCIe, slower way", "100 GB/s", "50 GB/s", "45 to 55", "7", "yes"),
    )
    last = blocks[-1]
    assert isinstance(last, Remarks)
    assert last.lines == ("PCIe, slower way: both ways.",)


def test_columns_without_a_value_are_left_out() -> None:
    rows = (kernel("attention fa2", catalogue_error=0.051), kernel("gemm bf16", error=-0.01, spread=0.034))
    blocks = measured_document(report(kernels=rows, doubts=("d",))).body().blocks
    grids = [block for block in blocks if isinstance(block, Grid)]
    assert grids[0].rows == (("GEMM bf16", "1", "10.0", "2.0", "5.0"),)
    assert (grids[1].title, grids[1].header) == ("Attention fa2", ("", "us", "TFLOP/s", "catalogue %"))
    assert grids[1].rows == (("k", "1,234", "500", "+5.1"),)
    assert grids[2].header == ("", "us", "spread %", "TFLOP/s", "fitted %")
    last = blocks[-1]
    assert isinstance(last, Remarks)
    assert last.lines == ("Doubt: d.",)


def test_a_plan_lists_each_kernel_and_the_time_of_all() -> None:
    document = plan_document(measure_plan(_tiny_plan()))
    body = document.body()
    assert body.title == "measure: tiny sizes, 14 kernels, 0.0 minutes"
    grids = [block for block in body.blocks if isinstance(block, Grid)]
    assert [grid.title for grid in grids] == ["Kernels", "GEMM", "Attention", "Memory", "PCIe"]
    assert [len(grid.rows) for grid in grids[1:]] == [2, 4, 5, 3]
    assert grids[0].rows[-1][:2] == ("all", "14")
    assert document.rows is not None
    assert len(document.rows()) == 4
