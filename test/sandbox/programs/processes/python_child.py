import subprocess
import sys

CODE = "import sys; print(sys.argv[1:], sys.flags.isolated, sys.stdin.read()); print('err', file=sys.stderr); sys.exit(3)"


def main():
    done = subprocess.run([sys.executable, "-c", CODE, "a b"], input="from the parent", capture_output=True, text=True)
    print("inherited", flush=True)
    subprocess.run([sys.executable, "-c", "print('by the child')"], check=True)
    return [done.returncode, done.stdout, done.stderr]
