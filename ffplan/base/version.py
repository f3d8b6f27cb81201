"""The version of ffplan, which results and pages carry."""

__version__ = "0.2.0"
