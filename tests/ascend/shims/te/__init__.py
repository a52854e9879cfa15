"""Stands in for the vendor's package in tests of emitted TIK; see tik.py."""
