"""System calls through the 32-bit entrance of an x86-64 kernel, where other numbers mean other calls."""

import ctypes
import mmap

from siege import INPUTS, X86, finish, got, os

if X86 and os.fork() == 0:
    # push rbx; mov eax, 20 (getpid of i386); int 0x80; pop rbx; ret
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes([0x53, 0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0x5B, 0xC3]))
    function = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    if function() == os.getpid():
        got("a 32-bit call", "getpid")
    os._exit(0)
if X86:
    os.wait()
    try:
        import siege

        ctypes.set_errno(0)
        if siege.libc.syscall(ctypes.c_long(0x40000000 + 39)) > 0:
            got("an x32 call", "getpid")
    except OSError:
        pass
finish()
