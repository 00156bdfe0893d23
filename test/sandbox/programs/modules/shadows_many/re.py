OWN = "my re"
