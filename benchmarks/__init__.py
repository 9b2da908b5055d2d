"""Measurements: ratios against a floor in the same run, since machines are noisy."""
