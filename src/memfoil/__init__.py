"""memfoil: is a sequence likelier than matched text the model never saw?"""

__version__ = "0.1.0"
