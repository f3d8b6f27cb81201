"""The software that a plan runs on: its stack and its attention kernel, looked up in the catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.catalog.stacks import DEFAULT_RUNTIME, AttentionRates, Runtime, SoftwareStack
from ffplan.training.accelerator_rates import accelerator_rates
from ffplan.training.group_collectives import with_sharding_nics
from ffplan.training.memory_margins import MemoryMargins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.design.training import PlanFields
    from ffplan.inputs.document import Document
    from ffplan.training.accelerator_rates import AcceleratorRates
    from ffplan.training.group_collectives import Cluster

GRADIENTS = frozenset({"gradient_bytes", "grad_dtype", "grad_reduce_dtype", "preset"})
"""Fields of a plan that give the widths of gradients, and keep a search from trying others."""


@record
class Software:
    """What a plan runs on."""

    stack: SoftwareStack | None
    """The stack; None if the plan names none."""
    kernels: AttentionRates | None
    """Rates of attention kernels; None if the accelerator names no table."""
    runtime: Runtime
    """The runtime, which has the margins of device memory."""
    named: bool
    """True if the plan names its stack, or its source does."""

    @property
    def settings(self) -> dict[str, Any]:
        """Fields of a plan that the recipes of a named stack write, with their values."""
        return self.stack.settings.fields if self.named and self.stack is not None else {}

    def settled(self, plan: PlanFields) -> PlanFields:
        """Return a plan completed by the settings of its named stack.

        Args:
            plan: the plan. One that writes a width of gradients, or a preset, writes all of them; so
                does one of 32 bits.
        """
        stated = GRADIENTS & plan.model_fields_set or plan.precision == "tf32"
        return plan if stated or not self.settings else plan.model_copy(update=self.settings)

    def as_benchmarked(self, plan: PlanFields, *, experts: bool) -> PlanFields:
        """Return the plan of a measured run: `settled`, with the routing of the stack's benchmarks.

        A run that names no stack has the settings of the one that it is taken to have run under, so that the run, and
        constants fitted on it, are those of `train` with that stack.

        Args:
            plan: the plan of the run. One that names its stack writes its routing, too.
        """
        plan = replace(self, named=True).settled(plan)
        if not (experts and self.named and self.stack) or plan.model_fields_set & {"routing", "stack"}:
            return plan
        return plan.model_copy(update={"routing": self.stack.benchmark_routing})

    def room(self, part: Accelerator) -> float:
        """Return the device memory that tensors may fill on an accelerator [byte]."""
        return part.memory.value - self.runtime.device.value

    @property
    def margins(self) -> MemoryMargins:
        """What the runtime takes of device memory beyond tensors."""
        reserved, taken = self.runtime.reserved, self.runtime.temporary
        over = self.stack.counted_over if self.stack is not None else None
        return MemoryMargins(
            runtime=self.runtime.id,
            device=self.runtime.device.value,
            reserved=reserved.range if reserved else None,
            temporary=float(taken.value) if taken else 0.0,
            counted_over=over.value if over else 0.0,
        )

    def machine(self, system: Cluster) -> Cluster:
        """Return a machine whose ZeRO 3 uses as many NICs of a node as the stack does."""
        nics = self.stack.sharding_nics if self.stack is not None else None
        return with_sharding_nics(system, nics.value if nics else None)

    def rates(self, part: Accelerator, plan: PlanFields) -> AcceleratorRates:
        """Return the rates of an accelerator under a plan.

        Raises:
            UncalibratedError: if it has no constants, or its table has none of the kernel.
        """
        return accelerator_rates(
            part, plan.precision, stack=self.stack, kernels=self.kernels, kernel=plan.attention_kernel
        )


def software_of(
    catalog: Catalog,
    part: Accelerator,
    named: str | None,
    document: Document,
    path: tuple[str | int, ...] = (),
    *,
    usual: bool = False,
) -> Software:
    """Return the software of a plan.

    Args:
        usual: by default take the stack of most published runs on the accelerator, as measured runs do. A prediction
            takes the values that stacks have in common: two accelerators under two stacks would differ by their
            software.

    Raises:
        InputError: if the stack is unknown, or names a table of kernels or a runtime that does not
            exist.
    """
    rates = part.training
    stack = None
    if named is not None:
        stack = catalog.get(SoftwareStack, named, document, path)
    elif usual and rates is not None and rates.stack is not None:
        stack = catalog.get(SoftwareStack, rates.stack, catalog.entry(part.id).document, ("training", "stack"))
    if stack is not None:
        _check_tables(catalog, stack)
    kernels = None
    if rates is not None and rates.kernels is not None:
        kernels = catalog.get(AttentionRates, rates.kernels, catalog.entry(part.id).document, ("training", "kernels"))
    by = stack or part
    name = stack.runtime if stack else DEFAULT_RUNTIME
    runtime = catalog.get(Runtime, name, catalog.entry(by.id).document, ("runtime",))
    return Software(stack, kernels, runtime, named is not None)


def _check_tables(catalog: Catalog, stack: SoftwareStack) -> None:
    known = catalog.ids_of("attention-rates")
    for table in stack.attention:
        if table not in known:
            catalog.get(AttentionRates, table, catalog.entry(stack.id).document, ("attention", table))


def _stacks_of(catalog: Catalog) -> Iterator[SoftwareStack]:
    seen = catalog.fork()
    for name in seen.ids_of("stack"):
        stack = seen.entry(name).part
        assert isinstance(stack, SoftwareStack)
        yield stack


def stack_of_source(catalog: Catalog, title: str) -> str | None:
    """Return the stack whose repository the title of a source names, the last of several.

    A title goes from the place to the particular: `NVIDIA/dgxc-benchmarking READMEs, MaxText and Paxml recipes`.

    Args:
        catalog: the parts; looking at one does not count as reading it.
    """
    best, plain = (-1, 0, ""), title.lower()
    for stack in _stacks_of(catalog):
        for repository in stack.repositories:
            position = plain.rfind(repository.lower())
            best = max(best, (position, len(repository), stack.id)) if position >= 0 else best
    return best[2] or None
