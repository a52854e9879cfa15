"""Stands in for the vendor's package in tests of emitted TBE; see cce.py."""
