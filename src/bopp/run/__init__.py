"""Running: ask, evaluate and tell, in this process, in others or on other machines."""
