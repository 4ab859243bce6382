"""What simulated tools do: plans and rules, shown, checked, proposed by a model, tried.

Enter at `check_plans` and `translate_rules`.
"""
