"""Attempts to escape from a sandbox: `escapes.py NAME`, with parameters as JSON in `about.json`.

Prints one line of JSON with the outcome and the evidence. The sandbox may be broken, so a successful attempt must do
no harm: signals are sent only to a process created for that purpose, files and mounts use names created for that
purpose and are removed immediately, and nothing is written to files that are opened for writing.
"""

import ctypes
import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

with open("about.json", encoding="utf-8") as file:
    about = json.load(file)
libc = ctypes.CDLL(None, use_errno=True)
attempts = {}


def attempt(function):
    attempts[function.__name__.replace("_", "-")] = function
    return function


def say(escaped, evidence):
    print(json.dumps({"escaped": escaped, "evidence": str(evidence)[:300]}), flush=True)
    sys.exit(0)


def first(tries):
    """Runs (name, function) pairs in order. The attempt counts as an escape as soon as a function returns. Otherwise, it
    counts as contained, and all error messages are reported.
    """
    words = []
    for name, function in tries:
        try:
            value = function()
        except Exception as error:
            words.append(f"{name}: {os.strerror(error.errno) if getattr(error, 'errno', None) else error}")
        else:
            say(True, f"{name}: {value}")
    say(False, "; ".join(words) or "nothing to try")


def syscall(name, *args):
    """Returns the result of a raw system call. Raises OSError on failure."""
    numbers = {
        "x86_64": {
            "ptrace": 101, "process_vm_readv": 310, "unshare": 272, "keyctl": 250, "add_key": 248, "bpf": 321,
            "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "memfd_create": 319, "shmget": 29,
            "clone3": 435, "open_by_handle_at": 304, "kexec_load": 246, "init_module": 175, "setns": 308, "fsopen": 430,
            "io_setup": 206, "inotify_init1": 294, "msgget": 68, "semget": 64, "vmsplice": 278,
        },
        "aarch64": {
            "ptrace": 117, "process_vm_readv": 270, "unshare": 97, "keyctl": 219, "add_key": 217, "bpf": 280,
            "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425, "memfd_create": 279, "shmget": 194,
            "clone3": 435, "open_by_handle_at": 265, "kexec_load": 104, "init_module": 105, "setns": 268, "fsopen": 430,
            "io_setup": 0, "inotify_init1": 26, "msgget": 186, "semget": 190, "vmsplice": 75,
        },
    }
    number = numbers[os.uname().machine][name]
    ctypes.set_errno(0)
    libc.syscall.restype = ctypes.c_long
    value = libc.syscall(ctypes.c_long(number), *args)
    if value < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return value


def read(path):
    with open(path, "rb") as file:
        return f"read {len(file.read(4096))} bytes from {path}"


def number(value):
    return ctypes.c_long(value)


# network


def connect(family, kind, address):
    with socket.socket(family, kind) as connection:
        connection.settimeout(2)
        connection.connect(address)
        connection.sendall(b"escaped")
        return f"received {connection.recv(100)!r}"


@attempt
def tcp_loopback():
    port = about["port"]
    tries = [(f"127.0.0.1:{port}", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)))]
    for address in about["addresses"]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        tries.append((address, lambda f=family, a=address: connect(f, socket.SOCK_STREAM, (a, port))))
    first(tries)


@attempt
def udp_loopback():
    port = about["udpPort"]
    first([(f"udp 127.0.0.1:{port}", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port)))])


@attempt
def abstract_socket():
    name = about["abstract"]
    if name is None:
        return print(json.dumps({"skipped": True, "evidence": "the check could not open an abstract socket"}))
    first([(f"@{name}", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + name))])


@attempt
def unix_socket():
    first([(path, lambda p=path: connect(socket.AF_UNIX, socket.SOCK_STREAM, p)) for path in about["sockets"]])


@attempt
def interfaces():
    try:
        with open("/proc/net/dev", encoding="ascii") as file:
            names = [line.split(":")[0].strip() for line in file if ":" in line]
    except OSError:
        names = [name for _, name in socket.if_nameindex()]
    say(any(name != "lo" for name in names), f"interfaces: {', '.join(names) or 'none'}")


@attempt
def dns():
    socket.setdefaulttimeout(3)
    first([("example.com", lambda: socket.getaddrinfo("example.com", 80)[0][4])])


@attempt
def vsock():
    first([("AF_VSOCK", lambda: socket.socket(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM).fileno())])


@attempt
def socket_protocols():
    kinds = [
        ("MPTCP", socket.AF_INET, socket.SOCK_STREAM, 262),
        ("UDP-Lite", socket.AF_INET, socket.SOCK_DGRAM, 136),
        ("SCTP", socket.AF_INET, socket.SOCK_STREAM, 132),
        ("ICMP", socket.AF_INET, socket.SOCK_DGRAM, 1),
        ("AF_ALG", 38, socket.SOCK_SEQPACKET, 0),
        ("AF_PACKET", 17, socket.SOCK_RAW, 0),
        ("AF_XDP", 44, socket.SOCK_RAW, 0),
        ("AF_SMC", 43, socket.SOCK_STREAM, 0),
        ("AF_RDS", 21, socket.SOCK_SEQPACKET, 0),
        ("AF_TIPC", 30, socket.SOCK_RDM, 0),
        ("AF_BLUETOOTH", 31, socket.SOCK_RAW, 0),
    ]
    first([(name, lambda k=kind: f"opened {socket.socket(*k).fileno()}") for name, *kind in kinds])


@attempt
def netlink():
    first([("AF_NETLINK", lambda: f"opened {socket.socket(16, socket.SOCK_RAW, 0).fileno()}")])


# files


@attempt
def read_home():
    first([(path, lambda p=path: read(p)) for path in about["homeFiles"]])


@attempt
def read_workspace():
    first([(path, lambda p=path: read(p)) for path in about["workspaceFiles"]])


@attempt
def read_tmp():
    first([(path, lambda p=path: read(p)) for path in about["tmpFiles"]])


@attempt
def read_shadow():
    first([("/etc/shadow", lambda: read("/etc/shadow")), ("/etc/gshadow", lambda: read("/etc/gshadow"))])


def create(path):
    with open(path, "wb") as file:
        file.write(b"escaped")
    return f"wrote {path}"


@attempt
def write_system():
    first([(folder, lambda f=folder: create(f"{f}/{about['token']}")) for folder in ("/usr", "/usr/lib", "/etc", "/")])


@attempt
def write_home():
    first([(path, lambda p=path: create(p)) for path in about["writes"]])


@attempt
def links():
    ways = []
    made = []
    for target in [*about["homeFiles"], *about["tmpFiles"]]:
        up = "../" * 24 + target.lstrip("/")
        ways.append((up, lambda p=up: read(p)))
        link = f"/tmp/{about['token']}-link{len(ways)}"
        os.symlink(target, link)
        made.append(link)
        ways.append((f"link to {target}", lambda p=link: read(p)))
        ways.append((f"/proc/self/root{target}", lambda p=f"/proc/self/root{target}": read(p)))
        ways.append((f"/proc/self/cwd/{up}", lambda p=f"/proc/self/cwd/{up}": read(p)))
    try:
        first(ways)
    finally:
        for link in made:
            os.unlink(link)


@attempt
def proc_root():
    pids = ["1", str(os.getppid()), str(about["pid"])]
    first([(f"/proc/{pid}/root", lambda p=pid: read(f"/proc/{p}/root{about['tmpFiles'][0]}")) for pid in pids])


@attempt
def proc_environ():
    found = []
    for pid in {*(name for name in os.listdir("/proc") if name.isdigit()), str(about["pid"])}:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if about["secret"].encode() in file.read():
                    found.append(pid)
        except OSError:
            continue
    say(bool(found), f"in the environment of {found}" if found else "no process exposes it")


@attempt
def devices():
    def node(path, kind, device):
        os.mknod(path, kind | 0o600, device)
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            return "created and opened"
        finally:
            os.unlink(path)

    tries = [(path, lambda p=path: os.close(os.open(p, os.O_RDONLY | os.O_NONBLOCK))) for path in about["devices"]]
    tries.append(("mknod of a disk", lambda: node(f"/tmp/{about['token']}-disk", 0o060000, os.makedev(8, 0))))
    tries.append(("mknod of /dev/mem", lambda: node(f"/tmp/{about['token']}-mem", 0o020000, os.makedev(1, 1))))
    first(tries)


@attempt
def watch_files():
    """Subscribes to other processes' activity in system files."""
    import fcntl

    def dnotify():
        folder = os.open("/usr", os.O_RDONLY)
        fcntl.fcntl(folder, fcntl.F_NOTIFY, 0x1)

    first([("inotify", lambda: syscall("inotify_init1", number(0))), ("dnotify", dnotify)])


@attempt
def sysctl():
    def open_for_writing(path):
        os.close(os.open(path, os.O_WRONLY))
        return "opened for writing"

    paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper"]
    first([(path, lambda p=path: open_for_writing(p)) for path in paths])


@attempt
def descriptors():
    leaked = []
    for descriptor in range(3, 256):
        try:
            status = os.fstat(descriptor)
        except OSError:
            continue
        # A closed file is replaced with this device.
        if status.st_rdev == os.makedev(1, 3):
            continue
        try:
            leaked.append(f"{descriptor}: {os.readlink(f'/proc/self/fd/{descriptor}')}")
        except OSError:
            leaked.append(str(descriptor))
    say(bool(leaked), "; ".join(leaked) or "none except standard input and output")


# processes


@attempt
def see_processes():
    known = []
    for pid in (about["pid"], about["victim"]):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                known.append(f"{pid}: {file.read(4096)!r}")
        except OSError:
            continue
    # Process IDs in the sandbox are small, so a matching ID can be a coincidence and does not identify the process.
    same = [words[:100] for words in known if about["token"] in words]
    say(bool(same), "; ".join(same) or f"{sum(name.isdigit() for name in os.listdir('/proc'))} processes are visible, none from outside")


@attempt
def kill_outside():
    victim = about["victim"]

    def end():
        os.kill(victim, signal.SIGKILL)
        return "the signal was delivered"

    first([(f"kill {victim}", end)])


@attempt
def ptrace():
    victim = about["victim"]
    PTRACE_SEIZE = 0x4206
    first(
        [
            ("attach to another process", lambda: syscall("ptrace", number(PTRACE_SEIZE), number(victim), number(0), number(0))),
            ("attach to its parent process", lambda: syscall("ptrace", number(PTRACE_SEIZE), number(os.getppid()), number(0), number(0))),
        ]
    )


def rights(pid):
    """Returns a process's privileges: its user, its capabilities and its system call filter."""
    names = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters")
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return [line.split() for line in file if line.split(":")[0] in names]


@attempt
def read_memory():
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    buffer = ctypes.create_string_buffer(16)
    local = Vector(ctypes.addressof(buffer), 16)

    def peek(pid):
        far = Vector(0x400000, 16)
        return syscall("process_vm_readv", number(pid), ctypes.byref(local), number(1), ctypes.byref(far), number(1), number(0))

    def memory(pid):
        with open(f"/proc/{pid}/mem", "rb") as file:
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                raise ValueError("an empty device is in its place")
            if rights(pid) == rights("self"):
                raise ValueError("opened, but it has the same privileges and filter as this program")
            return f"opened as {file.fileno()}"

    # EFAULT would mean that the process was accessible.
    first(
        [
            ("victim", lambda: peek(about["victim"])),
            ("process 1", lambda: peek(1)),
            ("/proc/1/mem", lambda: memory(1)),
            ("/proc/victim/mem", lambda: memory(about["victim"])),
        ]
    )


@attempt
def fork_bomb():
    """Creates at most 200 processes, regardless of the limit. Each one reports that it has started and waits."""
    made = 0
    for _ in range(200):
        try:
            pid = os.fork()
        except OSError as error:
            print(json.dumps({"made": made, "evidence": f"{made} processes, then: {error.strerror}"}), flush=True)
            time.sleep(1)
            sys.exit(0)
        if pid == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
    print(json.dumps({"made": made, "evidence": f"{made} processes"}), flush=True)
    time.sleep(5)


@attempt
def thread_bomb():
    made = 0
    for _ in range(200):
        try:
            threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        except RuntimeError as error:
            print(json.dumps({"made": made, "evidence": f"{made} threads, then: {error}"}), flush=True)
            os._exit(0)
        made += 1
    print(json.dumps({"made": made, "evidence": f"{made} threads"}), flush=True)
    time.sleep(5)


@attempt
def outlive():
    """Starts a grandchild in a separate session, with no parent and no open descriptors."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in range(3):
                os.close(descriptor)
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(20)", about["token"]])
        os._exit(0)
    time.sleep(0.3)
    say(False, "left a process behind")


# resources


@attempt
def memory():
    """Allocates at most 1 GB."""
    blocks = []
    for size in range(16, 1025, 16):
        blocks.append(bytearray(16 << 20))
        for at in range(0, len(blocks[-1]), 4096):
            blocks[-1][at] = 1
        print(json.dumps({"made": size, "evidence": f"{size} MB"}), flush=True)


@attempt
def memory_of_many():
    """Starts eight processes that are each within the limit and use at most 1 GB in total."""
    children = []
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            block = bytearray(128 << 20)
            for at in range(0, len(block), 4096):
                block[at] = 1
            time.sleep(10)
            os._exit(0)
        children.append(pid)
    time.sleep(2)
    alive = sum(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in children)
    print(json.dumps({"made": 128 * alive, "evidence": f"{128 * alive} MB in {alive} processes"}), flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


@attempt
def memory_outside_of_processes():
    """Uses memory that is not charged to any process: in-memory files and shared segments."""
    first(
        [
            ("memfd_create", lambda: syscall("memfd_create", ctypes.c_char_p(b"x"), number(0))),
            ("shmget", lambda: syscall("shmget", number(0), number(1 << 30), number(0o1600))),
            ("msgget", lambda: syscall("msgget", number(0), number(0o1600))),
            ("semget", lambda: syscall("semget", number(0), number(100), number(0o1600))),
        ]
    )


def made(size, words):
    print(json.dumps({"made": round(size), "evidence": words}), flush=True)


@attempt
def page_tables():
    """Reads single bytes across up to 600 GB of empty memory. The pages are not charged, but their page tables take up
    1.2 GB.
    """
    import mmap

    MAP_NORESERVE = 0x4000
    kept = []
    tables = 0.0
    for _ in range(75):
        try:
            region = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
        except (OSError, MemoryError, ValueError) as error:
            made(tables, f"{tables:.0f} MB of page tables, then: {error}")
            sys.exit(0)
        region.madvise(15)  # MADV_NOHUGEPAGE
        kept.append(region)
        for at in range(0, len(region), 2 << 20):
            region[at]
        with open("/proc/self/status", encoding="ascii") as file:
            tables = next(int(line.split()[1]) / 1000 for line in file if line.startswith("VmPTE"))
        made(tables, f"{tables:.0f} MB of page tables")


def fill(descriptor):
    """Writes to a descriptor until it is full, and returns the number of bytes written."""
    os.set_blocking(descriptor, False)
    size = 0
    try:
        while True:
            size += os.write(descriptor, b"x" * 65536)
    except OSError:
        return size


@attempt
def socket_buffers():
    """Fills unread sockets with at most 1 GB of data. Sockets passed inside other sockets need no descriptor."""
    kept = []
    size = 0
    words = ""
    try:
        while size < 1 << 30:
            pair = socket.socketpair()
            for end in pair:
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    try:
                        end.setsockopt(socket.SOL_SOCKET, option, 1 << 24)
                    except OSError:
                        pass
            size += fill(pair[0].fileno()) + fill(pair[1].fileno())
            if len(kept) > 0:
                try:
                    socket.send_fds(kept[0][0], [b"x"], [end.fileno() for end in pair])
                    for end in pair:
                        end.close()
                    continue
                except OSError:
                    pass
            else:
                pair = socket.socketpair()
            kept.append(pair)
            made(size / 1e6, f"{size / 1e6:.0f} MB")
    except OSError as error:
        words = f", then: {error.strerror}"
    made(size / 1e6, f"{size / 1e6:.0f} MB{words}")
    # Give the supervisor time for one or two checks.
    time.sleep(0.3)


@attempt
def pipe_buffers():
    """Fills pipes of maximum size with at most 1 GB of data."""
    import fcntl

    kept = []
    size = 0
    words = ""
    try:
        while size < 1 << 30:
            kept.append(os.pipe())
            try:
                fcntl.fcntl(kept[-1][1], 1031, 1 << 20)
            except OSError:
                pass
            size += fill(kept[-1][1])
    except OSError as error:
        words = f", then: {error.strerror}"
    made(size / 1e6, f"{size / 1e6:.0f} MB{words}")


@attempt
def zombies():
    """Leaves at most 200 exited processes that are not waited for, and 200 whose parent is gone."""
    ended = 0
    try:
        for _ in range(200):
            if os.fork() == 0:
                os._exit(0)
            ended += 1
    except OSError as error:
        made(ended, f"{ended} zombies, then: {error.strerror}")
        sys.exit(0)
    made(ended, f"{ended} zombies")
    time.sleep(1)


@attempt
def orphans():
    """Starts 200 processes whose parent exits before they do, so another process must reap them."""
    for _ in range(200):
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                os._exit(0)
            os._exit(0)
        os.waitpid(pid, 0)
    time.sleep(0.2)
    left = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="latin1") as file:
                    left += file.read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                continue
    say(left > 2, f"{left} of 200 were not reaped")


@attempt
def disk():
    """Writes at most 512 MB in files of 8 MB."""
    written = []
    words = []
    for folder in ("/tmp", "/work", "/dev/shm", "."):
        try:
            while len(written) < 64:
                path = f"{folder}/{about['token']}-{len(written)}"
                with open(path, "xb") as file:
                    written.append(path)
                    file.write(b"x" * (8 << 20))
        except OSError as error:
            words.append(f"{folder}: {error.strerror}")
    size = 0
    for path in written:
        size += os.stat(path).st_size
        os.unlink(path)
    size = round(size / (1 << 20))
    print(json.dumps({"made": size, "evidence": f"{size} MB; {'; '.join(words)}"}), flush=True)


@attempt
def file_size():
    """Writes a single file of at most 256 MB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    written = 0
    words = ""
    path = f"/tmp/{about['token']}-big"
    try:
        with open(path, "xb", buffering=0) as file:
            while written < 256:
                written += file.write(b"x" * (1 << 20)) / (1 << 20)
    except OSError as error:
        words = f", then: {error.strerror}"
    finally:
        os.unlink(path)
    print(json.dumps({"made": round(written), "evidence": f"{round(written)} MB{words}"}), flush=True)


@attempt
def cpu():
    for name in ("SIGXCPU", "SIGTERM", "SIGHUP", "SIGINT"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    end = time.process_time() + 20
    while time.process_time() < end:
        pass
    print(json.dumps({"made": 20, "evidence": "20 s of CPU time"}), flush=True)


@attempt
def wall():
    for name in ("SIGALRM", "SIGTERM", "SIGHUP", "SIGINT"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    time.sleep(20)
    print(json.dumps({"made": 20, "evidence": "20 s"}), flush=True)


@attempt
def output():
    """Prints at most 1 GB."""
    block = b"x" * (1 << 20)
    for _ in range(1024):
        os.write(1, block)
    os.write(2, b"all written")


# environment


@attempt
def environment():
    words = [name for name, value in os.environ.items() if about["secret"] in value or about["secretName"] == name]
    names = [name for name in os.environ if any(part in name.upper() for part in ("KEY", "TOKEN", "SECRET", "PASSWORD"))]
    say(bool(words or names), f"variables: {', '.join(sorted({*words, *names}) or sorted(os.environ))}")


@attempt
def identity():
    """Checks for root, capabilities, or programs that would provide them."""
    fields = {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    capabilities = {name: fields.get(name, "") for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")}
    some = [f"{name}={value}" for name, value in capabilities.items() if int(value or "0", 16) != 0]
    if fields.get("NoNewPrivs") != "1":
        some.append("programs can gain privileges")
    say(bool(some), ", ".join(some) or f"user {os.getuid()}, no capabilities and no way to gain any")


@attempt
def terminal():
    first([("/dev/tty", lambda: os.close(os.open("/dev/tty", os.O_RDWR)))])


# kernel

CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000


@attempt
def user_namespace():
    class CloneArguments(ctypes.Structure):
        _fields_ = [(f"field{i}", ctypes.c_uint64) for i in range(11)]

    def clone3():
        arguments = CloneArguments(field0=CLONE_NEWUSER, field4=signal.SIGCHLD)
        pid = syscall("clone3", ctypes.byref(arguments), number(ctypes.sizeof(arguments)))
        if pid == 0:
            os._exit(0)
        return "created one"

    first(
        [
            ("unshare", lambda: syscall("unshare", number(CLONE_NEWUSER))),
            ("unshare including mounts", lambda: syscall("unshare", number(CLONE_NEWUSER | CLONE_NEWNS))),
            ("clone3", clone3),
            ("setns", lambda: syscall("setns", number(os.open("/proc/1/ns/user", os.O_RDONLY)), number(0))),
        ]
    )


@attempt
def mount():
    place = f"/tmp/{about['token']}"
    os.makedirs(f"{place}/over")

    def mounted(source, kind, flags):
        ctypes.set_errno(0)
        if libc.mount(source, f"{place}/over".encode(), kind, ctypes.c_ulong(flags), None) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        libc.umount2(f"{place}/over".encode(), ctypes.c_int(2))
        return "mounted, then unmounted again"

    try:
        first(
            [
                ("an in-memory file system", lambda: mounted(b"none", b"tmpfs", 0)),
                ("a folder in another location", lambda: mounted(place.encode(), None, 4096)),
                ("fsopen", lambda: syscall("fsopen", ctypes.c_char_p(b"tmpfs"), number(0))),
                ("chroot", lambda: os.chroot(place)),
            ]
        )
    finally:
        for path in (f"{place}/over", place):
            try:
                os.rmdir(path)
            except OSError:
                pass


@attempt
def file_handles():
    class Handle(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]

    handle = Handle(size=8, type=1)
    handle.data[0] = 2
    root = os.open("/usr", os.O_RDONLY)
    first([("open_by_handle_at", lambda: syscall("open_by_handle_at", number(root), ctypes.byref(handle), number(0)))])


@attempt
def kernel_keys():
    KEYCTL_GET_KEYRING_ID, USER_KEYRING = 0, -4
    first([("keyctl", lambda: syscall("keyctl", number(KEYCTL_GET_KEYRING_ID), number(USER_KEYRING), number(1)))])


@attempt
def kernel_interfaces():
    parameters = ctypes.create_string_buffer(128)
    first(
        [
            ("io_uring_setup", lambda: syscall("io_uring_setup", number(4), parameters)),
            ("io_setup", lambda: syscall("io_setup", number(60_000), parameters)),
            ("vmsplice", lambda: syscall("vmsplice", number(1), parameters, number(0), number(0))),
            ("bpf", lambda: syscall("bpf", number(0), parameters, number(72))),
            ("perf_event_open", lambda: syscall("perf_event_open", parameters, number(0), number(-1), number(-1), number(0))),
            ("userfaultfd", lambda: syscall("userfaultfd", number(1))),
            ("init_module", lambda: syscall("init_module", parameters, number(0), ctypes.c_char_p(b""))),
        ]
    )


# If this line is missing from the output, nothing was attempted.
print(json.dumps({"started": True}), flush=True)
attempts[sys.argv[1]]()
