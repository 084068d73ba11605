"""What a finished run can still prove: its chain of inputs, its export, its claims."""
