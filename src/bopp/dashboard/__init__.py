"""The dashboard: a web page over a store, to watch studies, understand them and work in them."""
