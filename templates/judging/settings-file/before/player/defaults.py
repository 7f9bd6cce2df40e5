DEFAULTS = {"volume": 50, "theme": "light"}
