"""How much of one document is memorized, held against one matched document not trained on."""
