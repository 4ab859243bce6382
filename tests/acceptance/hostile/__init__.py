"""Hostile inputs by kind, as any tenant, agent or passer-by could send them: functions of a Tenant."""
