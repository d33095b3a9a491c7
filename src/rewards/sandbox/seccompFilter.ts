/**
 * A seccomp filter as classic BPF (linux/filter.h, linux/seccomp.h): system calls that no test program needs and that
 * widen what the kernel exposes are refused. It stands behind the namespaces, in case one of those does not hold.
 */

type Architecture = 'x64' | 'arm64';

/** Refused with EPERM: name, number on x86-64, number on AArch64 (null: not there). */
const refused: readonly (readonly [name: string, x64: number, arm64: number | null])[] = [
	// other processes
	['ptrace', 101, 117],
	['process_vm_readv', 310, 270],
	['process_vm_writev', 311, 271],
	['pidfd_getfd', 438, 438],
	['process_madvise', 440, 440],
	['kcmp', 312, 272],
	['migrate_pages', 256, 238],
	['move_pages', 279, 239],
	// namespaces and mounts
	['unshare', 272, 97],
	['setns', 308, 268],
	['mount', 165, 40],
	['umount2', 166, 39],
	['pivot_root', 155, 41],
	['chroot', 161, 51],
	['open_tree', 428, 428],
	['move_mount', 429, 429],
	['fsopen', 430, 430],
	['fsconfig', 431, 431],
	['fsmount', 432, 432],
	['fspick', 433, 433],
	['mount_setattr', 442, 442],
	['name_to_handle_at', 303, 264],
	['open_by_handle_at', 304, 265],
	['fanotify_init', 300, 262],
	['quotactl', 179, 60],
	['quotactl_fd', 443, 443],
	['acct', 163, 89],
	['swapon', 167, 224],
	['swapoff', 168, 225],
	// large and young parts of the kernel
	['bpf', 321, 280],
	['perf_event_open', 298, 241],
	['userfaultfd', 323, 282],
	['io_uring_setup', 425, 425],
	['io_uring_enter', 426, 426],
	['io_uring_register', 427, 427],
	['keyctl', 250, 219],
	['add_key', 248, 217],
	['request_key', 249, 218],
	// memory that no process's own count shows
	['memfd_create', 319, 279],
	['memfd_secret', 447, 447],
	['shmget', 29, 194],
	['semget', 64, 190],
	['msgget', 68, 186],
	['mq_open', 240, 180],
	// the machine
	['reboot', 169, 142],
	['kexec_load', 246, 104],
	['kexec_file_load', 320, 294],
	['init_module', 175, 105],
	['finit_module', 313, 273],
	['delete_module', 176, 106],
	['syslog', 103, 116],
	['sethostname', 170, 161],
	['setdomainname', 171, 162],
	['settimeofday', 164, 170],
	['clock_settime', 227, 112],
	['clock_adjtime', 305, 266],
	['adjtimex', 159, 171],
	['personality', 135, 92],
	['iopl', 172, null],
	['ioperm', 173, null],
	['modify_ldt', 154, null],
	['lookup_dcookie', 212, 18],
	['vhangup', 153, 58],
];

const special = {
	x64: { audit: 0xc000003e, clone: 56, clone3: 435, socket: 41, socketpair: 53 },
	arm64: { audit: 0xc00000b7, clone: 220, clone3: 435, socket: 198, socketpair: 199 },
} as const;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaceFlags = 0x7e020000;
/** AF_UNIX, AF_INET, AF_INET6. Others reach past a network namespace (AF_VSOCK) or deep into the kernel. */
const socketFamilies = [1, 2, 10];

const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;
const SECCOMP_RET_KILL_PROCESS = 0x80000000;
const SECCOMP_RET_ERRNO = 0x00050000;
const SECCOMP_RET_ALLOW = 0x7fff0000;
const BPF_LD_W_ABS = 0x20;
const BPF_JEQ = 0x15;
const BPF_JGE = 0x35;
const BPF_JSET = 0x45;
const BPF_RET = 0x06;
/** Offsets in struct seccomp_data; arguments are 64 bit, little endian. */
const offsets = { nr: 0, arch: 4, arg0: 16 } as const;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

function program(architecture: Architecture): Instruction[] {
	const numbers = special[architecture];
	const fail = (code: number): Instruction => [BPF_RET, 0, 0, SECCOMP_RET_ERRNO | code];
	const load = (offset: number): Instruction => [BPF_LD_W_ABS, 0, 0, offset];
	const list: Instruction[] = [
		load(offsets.arch),
		// A 32-bit program has other numbers: it is not let in at all.
		[BPF_JEQ, 1, 0, numbers.audit],
		[BPF_RET, 0, 0, SECCOMP_RET_KILL_PROCESS],
		load(offsets.nr),
	];
	// x32 calls on x86-64: the same numbers with a bit set.
	if (architecture === 'x64') list.push([BPF_JGE, 0, 1, 0x40000000], fail(errno.ENOSYS));
	for (const [, x64, arm64] of refused) {
		const number = architecture === 'x64' ? x64 : arm64;
		if (number !== null) list.push([BPF_JEQ, 0, 1, number], fail(errno.EPERM));
	}
	// Its flags lie in memory, where no filter can look; without it, libraries use clone.
	list.push([BPF_JEQ, 0, 1, numbers.clone3], fail(errno.ENOSYS));
	list.push([BPF_JEQ, 0, 4, numbers.clone], load(offsets.arg0), [BPF_JSET, 0, 1, namespaceFlags], fail(errno.EPERM), [
		BPF_RET,
		0,
		0,
		SECCOMP_RET_ALLOW,
	]);
	const families = socketFamilies.length;
	list.push(
		[BPF_JEQ, 1, 0, numbers.socket],
		[BPF_JEQ, 0, families + 2, numbers.socketpair],
		load(offsets.arg0),
		...socketFamilies.map((family, i): Instruction => [BPF_JEQ, families - i, 0, family]),
		fail(errno.EAFNOSUPPORT),
		[BPF_RET, 0, 0, SECCOMP_RET_ALLOW],
	);
	return list;
}

/** The filter as `struct sock_filter[]`; null: there is none for this architecture. */
export function seccompFilter(architecture: string = process.arch): Buffer | null {
	if (architecture !== 'x64' && architecture !== 'arm64') return null;
	const instructions = program(architecture);
	const bytes = Buffer.alloc(instructions.length * 8);
	instructions.forEach(([code, whenTrue, whenFalse, value], i) => {
		bytes.writeUInt16LE(code, i * 8);
		bytes.writeUInt8(whenTrue, i * 8 + 2);
		bytes.writeUInt8(whenFalse, i * 8 + 3);
		bytes.writeUInt32LE(value >>> 0, i * 8 + 4);
	});
	return bytes;
}
