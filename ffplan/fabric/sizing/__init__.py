"""Closed forms of fabrics: families, tiers, planes, rails, and what they hold."""
