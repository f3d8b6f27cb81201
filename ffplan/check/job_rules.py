"""Rules enforced while the purpose of a design or a fleet is read: training jobs, served models, demand."""

from __future__ import annotations

JOB_ROWS = (
    (
        "design-workload",
        "The workload contradicts itself, or is too large for the design",
        "Limits on step, tokens and their cost are held against it.",
        "workload: {model: resnet-50}  # no transformer",
        "workload: {model: llama3-70b}",
        "Name a transformer, and as many accelerators as one job can span.",
    ),
    (
        "design-serving",
        "`serving` has no load, two loads, or an engine that nobody knows",
        "Limits on latency and on the cost of tokens are held against it.",
        "serving: {model: llama3.1-70b, rate: 5/s, concurrency: 64}",
        "serving: {model: llama3.1-70b, rate: 5/s}",
        "Name a model, one engine, and a rate or a concurrency.",
    ),
    (
        "design-fleet",
        "A fleet file contradicts itself, or a cluster cannot do what it is used for",
        "A fleet is planned for all of its demand, on clusters that can meet it.",
        "use: {pretraining: 70 %, chat: 50 %}",
        "use: {pretraining: 70 %, chat: 30 %}",
        "Follow the hint; `ffplan catalog schema fleet` describes the format.",
    ),
)
"""Id, title, why, wrong and right example, and remedy of each rule."""
