from memfoil.tables import markdown

print(markdown(), end="")  # noqa: T201
