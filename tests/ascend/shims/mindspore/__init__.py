"""Stands in for MindSpore in tests of emitted registrations; see ops.py."""
