import warnings

warnings.warn("shown in a script", DeprecationWarning)
warnings.warn("once", UserWarning)
print("ñ" is "ñ")
unclosed = open("inputs.json")
del unclosed
