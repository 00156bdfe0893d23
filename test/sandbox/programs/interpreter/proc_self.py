import os


def main():
    status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
    wanted = ("State", "Tgid", "Pid", "PPid", "TracerPid", "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "NSpid", "Threads")
    return {
        "status": {name: status[name].split() for name in wanted if name in status},
        "cwd": os.readlink("/proc/self/cwd"),
        "root": os.readlink("/proc/self/root"),
        "exe": os.path.basename(os.readlink("/proc/self/exe")),
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "oom": open("/proc/self/oom_score_adj").read().strip(),
        "writable": sorted({line.split()[4] for line in open("/proc/self/mountinfo") if "rw" in line.split()[5].split(",") and os.path.isdir(line.split()[4]) and os.access(line.split()[4], os.W_OK)}),
    }
