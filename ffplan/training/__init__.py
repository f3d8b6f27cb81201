"""The training step: model FLOPs and memory, layers, parallel plans, schedules, sharding, the space of plans."""
