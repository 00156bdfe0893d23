import matplotlib
import matplotlib.pyplot as plt


def main():
    figure, axes = plt.subplots(figsize=(2, 1))
    axes.plot([1, 2, 3], [3, 1, 2])
    axes.set_title("Umsätze")
    return {"figure": figure, "backend": matplotlib.get_backend(), "open": plt.get_fignums(), "config": matplotlib.get_configdir().startswith("/tmp")}
