"""A study that survives: kept in SQLite or PostgreSQL, stopped, killed, resumed, shared by many."""
