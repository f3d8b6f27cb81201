"""Optional sections of a design file, whose models are imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

    from ffplan.inputs.model import Frozen


class _Section:
    """Marker of a field whose model is imported when the section is read."""

    def __init__(self, home: str, name: str) -> None:
        self.home, self.name = f"ffplan.design.{home}", name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Accept anything: `resolve` validates the section."""
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        from pydantic import TypeAdapter

        return handler(TypeAdapter(self.model()).core_schema)

    def model(self) -> type[Frozen]:
        model: type[Frozen] = getattr(import_module(self.home), self.name)
        return model


OwnershipSection = Annotated[Any, _Section("ownership_schema", "Ownership")]
RentSection = Annotated[Any, _Section("ownership_schema", "Rent")]
ReliabilitySection = Annotated[Any, _Section("reliability_schema", "Reliability")]
ServingSection = Annotated[Any, _Section("serving_schema", "Serving")]
WorkloadSection = Annotated[Any, _Section("training", "Workload")]
