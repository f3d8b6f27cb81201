"""Closed forms of fabrics: families, tiers, planes, rails, and their capacity."""
