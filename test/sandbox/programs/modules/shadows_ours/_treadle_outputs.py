OWN = 2
