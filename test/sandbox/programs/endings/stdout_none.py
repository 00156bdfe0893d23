import sys

print("last words")
sys.stdout = sys.stderr = None
print("nowhere")
