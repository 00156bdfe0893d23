print("rates is run")
counter = 0
