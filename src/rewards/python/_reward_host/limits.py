"""Limits that the process sets on itself before any user code runs."""

import os


def limit_memory(megabytes):
    """
    Makes an allocation far beyond the limit raise MemoryError. What counts is resident memory, which the starter of this
    process watches; this catches what grows faster than it looks. Private writable memory (RLIMIT_DATA) and not address
    space: CUDA reserves terabytes of that. Stacks and buffers of numeric libraries' threads are reserved, not used.
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
