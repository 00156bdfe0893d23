for number in range(4_000):
    print("line", number)
open("outputs/end", "w").write("reached")
