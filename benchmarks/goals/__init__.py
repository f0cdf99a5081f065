"""Goals: bopp and its peers on problems with constraints, and on problems with several objectives."""
