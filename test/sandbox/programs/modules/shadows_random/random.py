OWN = "my random"
