"""What the use cases need of the outside; one Protocol a file, its docstring is the contract."""
