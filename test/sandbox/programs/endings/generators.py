def numbers():
    try:
        yield 1
    finally:
        print("a generator is closed")


running = numbers()
next(running)
print("end of the script")
