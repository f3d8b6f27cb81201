"""Figures for buying, building, running and retiring a cluster that belong to no part, each with its range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import Figure
from ffplan.catalog.parts import Cooling, Part
from ffplan.catalog.prices import Currency
from ffplan.inputs.model import Frozen
from ffplan.inputs.part_ids import LinkId, PriceBookId, StorageServerId, SwitchId
from ffplan.inputs.quantities import Area, Duration, Money, Power, Share, Years, money_per

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

Distribution = Literal["triangular", "pert", "uniform", "normal", "lognormal"]
"""Shape of an uncertain input between its low and high end. For `normal` and `lognormal` the ends are P5 and P95."""


def _rule(message: str, remedy: str) -> PydanticCustomError:
    """Return the error of an estimate that types do not catch."""
    return PydanticCustomError("rule", "{message}", {"rule": "number-range", "message": message, "remedy": remedy})


class Estimate(Figure):
    """A value with range and distribution, written as one value or as `low`, `likely` and `high`."""

    source: str = ""
    """Key under `sources` of the same file; a design needs none."""
    distribution: Distribution | None = None
    """Shape between `low` and `high`; triangular if omitted."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        """Return the schema of a single value, or of its fields with `likely` for `value`."""
        schema = handler(core_schema)
        fields = handler.resolve_ref_schema(schema)
        value = fields["properties"]["value"]
        fields["properties"]["likely"] = {**value, "title": "Likely"}
        fields["required"] = [name for name in fields.get("required", []) if name != "value"]
        whole = dict(fields)
        fields.clear()
        fields.update({"title": whole["title"], "anyOf": [{k: v for k, v in value.items() if k != "title"}, whole]})
        return schema

    @model_validator(mode="before")
    @classmethod
    def _written(cls, data: Any) -> Any:
        """Accept a single value, and `likely` for `value`."""
        if not isinstance(data, dict):
            return {"value": data}
        if "value" in data and "likely" in data:
            raise _rule("`value` and `likely` are one figure, written twice", "keep one of the two")
        return {("value" if key == "likely" else key): value for key, value in data.items()}

    @model_validator(mode="after")
    def _wide(self) -> Estimate:
        low, high = self.range
        if len({end.currency for end in (low, self.value, high) if isinstance(end, Money)}) > 1:
            raise _rule("one range in two currencies", "write all of it in one currency")
        if self.distribution is not None and not low < high:
            fault = f"a {self.distribution} distribution without width"
            raise _rule(fault, "give `low` below `high`, or remove `distribution`")
        if self.distribution == "lognormal" and not (low.amount if isinstance(low, Money) else low) > 0:
            raise _rule("a lognormal distribution from 0", "give `low` above 0, or another `distribution`")
        return self


class ShareEstimate(Estimate):
    """A share of a whole, 0 to 1."""

    value: Share
    low: Share | None = None
    high: Share | None = None


class YearsEstimate(Estimate):
    """A span [year]."""

    value: Years
    low: Years | None = None
    high: Years | None = None


class SecondsEstimate(Estimate):
    """A time [s]."""

    value: Duration
    low: Duration | None = None
    high: Duration | None = None


Plain = Annotated[float, Field(ge=0, le=1e9, strict=False)]


class PowerEstimate(Estimate):
    """A power [W]."""

    value: Power
    low: Power | None = None
    high: Power | None = None


class AreaEstimate(Estimate):
    """An area [m2]."""

    value: Area
    low: Area | None = None
    high: Area | None = None


class PlainEstimate(Estimate):
    """A number of at least 0."""

    value: Plain
    low: Plain | None = None
    high: Plain | None = None


PueValue = Annotated[float, Field(ge=1, le=5, strict=False)]


class PueEstimate(Estimate):
    """A power usage effectiveness."""

    value: PueValue
    low: PueValue | None = None
    high: PueValue | None = None


MoneyValue = Annotated[Money, *money_per(None)]
PerKwh = Annotated[Money, *money_per("kWh")]
PerKwMonth = Annotated[Money, *money_per("kW-month")]
PerWatt = Annotated[Money, *money_per("W")]
PerYear = Annotated[Money, *money_per("year")]
PerHour = Annotated[Money, *money_per("hour")]
PerMonth = Annotated[Money, *money_per("month")]


class MoneyEstimate(Estimate):
    """An amount of money."""

    value: MoneyValue
    low: MoneyValue | None = None
    high: MoneyValue | None = None


class PerKwhEstimate(Estimate):
    """A price of energy."""

    value: PerKwh
    low: PerKwh | None = None
    high: PerKwh | None = None


class PerKwMonthEstimate(Estimate):
    """A price of power by the month."""

    value: PerKwMonth
    low: PerKwMonth | None = None
    high: PerKwMonth | None = None


class PerWattEstimate(Estimate):
    """A price of a watt."""

    value: PerWatt
    low: PerWatt | None = None
    high: PerWatt | None = None


class PerYearEstimate(Estimate):
    """An amount of money a year."""

    value: PerYear
    low: PerYear | None = None
    high: PerYear | None = None


class PerHourEstimate(Estimate):
    """A price of an hour."""

    value: PerHour
    low: PerHour | None = None
    high: PerHour | None = None


class PerMonthEstimate(Estimate):
    """A price of a month."""

    value: PerMonth
    low: PerMonth | None = None
    high: PerMonth | None = None


class OwnershipFields(Frozen):
    """Inputs of ownership; a design overrides single fields of its profile."""

    discount: ShareEstimate | None = None
    """Volume discount on the price book, for every part [1]."""
    freight: ShareEstimate | None = None
    """Freight, insurance and duty, over the price of the hardware [1]."""
    installation: ShareEstimate | None = None
    """Racking, cabling and commissioning by the integrator, over the price of the hardware [1]."""
    cabling_labour: MoneyEstimate | None = None
    """Labour to lay and label one cable [currency]."""
    rack: MoneyEstimate | None = None
    """A rack cabinet with cable management [currency]."""
    rack_pdu: MoneyEstimate | None = None
    """A rack power distribution unit; two for each rack [currency]."""
    liquid_cooling: PerWattEstimate | None = None
    """Coolant distribution units and manifolds, per watt removed by liquid [currency per W]."""
    spare_nodes: ShareEstimate | None = None
    """Spare servers bought per server in use, rounded [1]."""
    spare_switches: ShareEstimate | None = None
    """Spare switches bought per switch in use, rounded [1]."""
    spare_links: ShareEstimate | None = None
    """Spare cables and optics bought per piece in use, rounded [1]."""
    rack_power: PowerEstimate | None = None
    """Rated power of a rack, for designs without a limit; a server above it gets its own
    rack [W]."""
    switches_per_rack: PlainEstimate | None = None
    """Switches of all networks that share a rack [1]."""
    rack_area: AreaEstimate | None = None
    """Floor area of a rack with its share of aisles, for designs without a floor plan; rooms for power and cooling are
    not included [m2]."""
    accelerators_per_storage_server: PlainEstimate | None = None
    """Accelerators per storage server; sizes the storage of designs without any; 0 for no storage
    [1]."""
    support: ShareEstimate | None = None
    """Support and maintenance a year, over the price of the hardware [1]."""
    licence: PerYearEstimate | None = None
    """Software licence of an accelerator [currency per year]."""
    staff: PlainEstimate | None = None
    """Full-time staff for a thousand accelerators [1]."""
    salary: PerYearEstimate | None = None
    """Loaded cost of one employee [currency per year]."""
    life: YearsEstimate | None = None
    """Years over which the hardware is written off [year]."""
    residual: ShareEstimate | None = None
    """Value of the hardware at the end of its life, over its price [1]."""
    capital: ShareEstimate | None = None
    """Cost of capital a year [1]."""
    utilisation: ShareEstimate | None = None
    """Hours with jobs over hours in production, per accelerator [1]."""
    effective: ShareEstimate | None = None
    """Progress of a job over its time, after restarts, checkpoints and slow nodes [1]."""
    electricity: PerKwhEstimate | None = None
    """Price of electrical energy if the site names none [currency per kWh]."""
    pue: PueEstimate | None = None
    """Power usage effectiveness: its relative range holds for the site's own figure [1]."""
    colocation: PerKwMonthEstimate | None = None
    """Colocation without energy, per kW of rated IT power [currency per kW and month]."""
    rack_rent: PerMonthEstimate | None = None
    """Rent of a rack without energy, multiplied by PUE as energy is [currency per month]."""
    building: PerWattEstimate | None = None
    """Shell, power and cooling of a site to be built, per watt of rated IT power [currency per W]."""
    building_life: YearsEstimate | None = None
    """Years over which the building is written off [year]."""
    idle: ShareEstimate | None = None
    """Idle power of a server over its rated maximum, if its file gives no idle power [1]."""
    power: PlainEstimate | None = None
    """Power in training over the power report's expectation [1]."""
    lead_time: YearsEstimate | None = None
    """From order to delivery [year]."""
    commissioning: YearsEstimate | None = None
    """From delivery to the first job [year]."""
    grid: PlainEstimate | None = None
    """Carbon intensity of the grid, location-based [g CO2e per kWh]."""
    water: PlainEstimate | None = None
    """Water evaporated on site per IT energy [l per kWh]."""
    embodied_accelerator: PlainEstimate | None = None
    """Embodied carbon of an accelerator [kg CO2e]."""
    embodied_server: PlainEstimate | None = None
    """Embodied carbon of a server without its accelerators [kg CO2e]."""
    embodied_switch: PlainEstimate | None = None
    """Embodied carbon of a switch [kg CO2e]."""
    embodied_link: PlainEstimate | None = None
    """Embodied carbon of a cable with both its ends [kg CO2e]."""


class SideNetwork(Frozen):
    """A side network, sized from the design: one switch layer, or two if one switch is too small."""

    switch: SwitchId
    """Catalogue id of the switch."""
    ports: Annotated[int, Field(ge=2, le=1024)]
    """Ports of a switch for hosts."""
    uplinks: Annotated[int, Field(ge=0, le=512)] = 0
    """Uplinks of a leaf switch to the second layer."""
    link: LinkId
    """Catalogue id of its cables."""
    per_node: Annotated[int, Field(ge=0, le=16)] = 0
    """Ports that a compute or management node takes."""
    per_storage: Annotated[int, Field(ge=0, le=16)] = 0
    """Ports that a storage server takes."""
    per_switch: Annotated[int, Field(ge=0, le=4)] = 0
    """Ports that a switch of another network takes, for its management."""
    per_rack: Annotated[int, Field(ge=0, le=16)] = 0
    """Ports that a rack takes, for its power distribution."""


Effort = Literal["tuned", "typical", "first-run"]
"""How well a training run is tuned: as its fastest plan, as published runs were, or as a team's first of its size."""


class OwnershipProfile(Part, OwnershipFields):
    """Defaults of ownership: a design names a profile, and overrides single fields."""

    kind_words: ClassVar[str] = "ownership profile"

    kind: Literal["ownership"]
    currency: Currency
    """Currency of every amount."""
    price_book: PriceBookId | None = None
    """Catalogue id of the price book for storage and side networks missing in the design's own book."""
    storage_server: StorageServerId | None = None
    """Catalogue id of the storage server for designs that plan no storage."""
    storage_network: SideNetwork | None = None
    """Storage network, if the fabric does not carry storage."""
    pue_by_cooling: dict[Cooling, PueEstimate] = Field(default_factory=dict)
    """Power usage effectiveness of a site by cooling, for designs that give `site.cooling` instead of a PUE [1]."""
    effort: dict[Effort, PlainEstimate] = Field(default_factory=dict)
    """Time of a training run over its fastest plan's, without failures, by how well it is tuned [1]."""
    in_band: SideNetwork | None = None
    """Management network that jobs and logins use."""
    out_of_band: SideNetwork | None = None
    """Network of the management processors."""


ESTIMATE_UNITS: dict[type[Figure], tuple[str, float]] = {
    ShareEstimate: ("%", 0.01),
    YearsEstimate: ("years", 1.0),
    PowerEstimate: ("W", 1.0),
    AreaEstimate: ("m2", 1.0),
}
"""Display unit of each estimate, and its size in canonical units."""
PER_WORDS: dict[type[Figure], str] = {
    PerKwhEstimate: "/kWh",
    PerKwMonthEstimate: "/kW-month",
    PerWattEstimate: "/W",
    PerYearEstimate: "/year",
    PerHourEstimate: "/h",
    PerMonthEstimate: "/month",
}
"""Unit of each price after its currency."""


def plain_amount(value: Any) -> float:
    """Return an amount of money without its currency [currency], or a number as it is [same unit]."""
    return value.amount if isinstance(value, Money) else float(value)
