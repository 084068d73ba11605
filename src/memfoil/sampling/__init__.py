"""Passages by date, drawn into pools by one rule, and cut into sequences by a tokenizer.

Import from the modules: a stage reruns when a module changes that its script imports.
"""
