"""The ground truth: a small model trained here on known text with planted repetitions."""

from memfoil.testbed.corpus import corpus, train_tokenizer
from memfoil.testbed.split import split
from memfoil.testbed.train import Settings, train

__all__ = ["Settings", "corpus", "split", "train", "train_tokenizer"]
