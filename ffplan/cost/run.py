"""A training run: its days, accelerator-hours, energy and carbon."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.base.array_math import Number

HOUR = 3600.0
DAY = 24 * HOUR
MILLION = 1e6
PETAFLOP_DAY = 1e15 * DAY
"""Operations of a petaFLOP/s kept up for a day [1]."""


def run_seconds(tokens: Number, tokens_s: Number, effective: Number, effort: Number = 1.0) -> Number:
    """Return the time of a training run [s].

    Args:
        tokens: tokens to train on [1].
        tokens_s: tokens a second at the model's step time [1/s].
        effective: progress over time, after restarts and checkpoints [1].
        effort: time of a real run over the modelled time, without failures [1].

    Equation:
        tokens / (tokens_s * effective) * effort

    Source:
        Definition. DeepSeek-V3: 180,000 H800 hours a trillion tokens on 2,048 are 3.7 days (arXiv 2412.19437).
    """
    seconds: Number = tokens / (tokens_s * effective) * effort
    return seconds


def run_operations(tokens: Number, tokens_s_gpu: Number, tflops_gpu: Number) -> Number:
    """Return the floating-point operations of a run's model, each token counted once [FLOP].

    Args:
        tokens: tokens to train on [1].
        tokens_s_gpu: tokens a second and accelerator [1/s].
        tflops_gpu: model operations a second and accelerator [TFLOP/s].

    Equation:
        tokens * TFLOP/s * 1e12 / (tokens/s)

    Source:
        Definition. GPT-3 on 300 B tokens: 3.14e23, 3,640 petaFLOP/s-days (arXiv 2005.14165, Table D.1), which leaves
        attention out.
    """
    operations: Number = tokens * tflops_gpu * 1e12 / tokens_s_gpu
    return operations


def accelerator_hours(accelerators: Number, seconds: Number) -> Number:
    """Return the accelerator-hours of a run [h].

    Args:
        accelerators: accelerators held by the job, idle ones included [1].
        seconds: time of the run [s].

    Equation:
        accelerators * seconds / 3600

    Source:
        Definition.
    """
    hours: Number = accelerators * seconds / HOUR
    return hours


def run_cost(hours: Number, price: Number) -> Number:
    """Return the cost of a run [currency].

    Args:
        hours: accelerator-hours [h].
        price: cost of an accelerator-hour in use [currency].

    Equation:
        hours * price

    Source:
        Definition. DeepSeek-V3: 2.788 M H800 hours at 2 USD are 5.576 M USD (arXiv 2412.19437, Table 1).
    """
    cost: Number = hours * price
    return cost


def run_energy(hours: Number, watts: Number, pue: Number) -> Number:
    """Return the energy of a run at the meter [MWh].

    Args:
        hours: accelerator-hours [h].
        watts: IT power per accelerator, with its share of servers, network and storage [W].
        pue: power usage effectiveness [1].

    Equation:
        hours * watts * PUE / 1e6

    Source:
        Definition. BLOOM: 1,082,990 h at 400 W are 433 MWh before PUE (arXiv 2211.02001); LLaMA, Table 15 of
        arXiv 2302.13971, takes PUE 1.1 and 400 W: 449 MWh for 65B.
    """
    megawatt_hours: Number = hours * watts * pue / MILLION
    return megawatt_hours


def run_carbon(energy: Number, intensity: Number) -> Number:
    """Return the carbon of a run's energy, location-based [t CO2e].

    Args:
        energy: energy at the meter [MWh].
        intensity: carbon intensity of the grid [g CO2e per kWh].

    Equation:
        MWh * 1000 kWh * g / 1e6

    Source:
        GHG Protocol, scope 2, location-based. Llama 2 70B: 1,720,320 h * 400 W * 1.1 * 385 g/kWh = 291.4 t, as its
        model card prints.
    """
    # MWh to kWh is 1e3, grams to tonnes 1e-6
    tonnes: Number = energy * intensity / 1e3
    return tonnes


def _embodied_carbon(kilograms: Number, hours: Number, life_hours: Number) -> Number:
    """Return a run's share of the hardware's embodied carbon [t CO2e].

    Args:
        kilograms: embodied carbon of the hardware of one accelerator [kg CO2e].
        hours: accelerator-hours of the run [h].
        life_hours: hours in use over its life [h].

    Equation:
        kg * hours / life hours / 1000

    Source:
        ISO 14067 by use: spread over the hours in use.
    """
    tonnes: Number = kilograms * hours / life_hours / 1e3
    return tonnes


def _site_water(energy: Number, intensity: Number) -> Number:
    """Return the water evaporated by a site [m3].

    Args:
        energy: IT energy [MWh].
        intensity: water over IT energy [l per kWh].

    Equation:
        MWh * 1000 * l / 1000

    Source:
        The Green Grid, definition of WUE; the water of power stations is not in it.
    """
    # MWh to kWh and litres to cubic metres cancel
    cubic_metres: Number = energy * intensity
    return cubic_metres
