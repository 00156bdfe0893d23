OWN = "my pathlib"
