"""Tracing generations to the text a model was trained on."""
