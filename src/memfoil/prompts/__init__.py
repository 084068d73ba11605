"""Prompts that make a model say a given sequence: searched for, counted, compressed, parroted.

Import from the modules: a stage reruns when a module changes that its script imports.
"""
