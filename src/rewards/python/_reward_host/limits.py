"""Sets limits on this process before any user code runs."""

import os


def limit_memory(megabytes):
    """
    Makes an allocation far beyond the limit raise MemoryError. The actual limit is on resident memory, which the
    parent process monitors; this one catches memory growth that outpaces the monitoring. Limits private
    writable memory (RLIMIT_DATA) rather than address space, because CUDA reserves terabytes of address space. Allows
    for thread stacks and buffers of numeric libraries, which are reserved but not used.
    """
    if not megabytes:
        return
    try:
        import resource
    except ImportError:  # Windows
        return
    threads = (os.cpu_count() or 1) * 64
    limit = int(megabytes * 1.5 + 512 + threads) * 1024 * 1024
    try:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    except (ValueError, OSError):
        pass
