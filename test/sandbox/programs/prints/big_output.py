for number in range(8_000):
    print(number, "x" * 40)
print("y" * 200_000)
