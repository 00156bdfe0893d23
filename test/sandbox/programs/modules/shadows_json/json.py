OWN = "my json"
