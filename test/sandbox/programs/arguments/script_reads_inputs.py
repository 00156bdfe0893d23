import json

with open("inputs.json") as file:
    inputs = json.load(file)
print(sorted(inputs.items()))
print(open(inputs["table"]).read())
with open("outputs/seen.json", "w") as file:
    json.dump(inputs, file)
