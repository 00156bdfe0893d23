__version__ = "2"
print("shop is loaded")
