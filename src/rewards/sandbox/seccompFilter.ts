import { type Architecture, allowedCalls, newestCall } from './systemCalls.ts';

/**
 * A seccomp filter in classic BPF (linux/filter.h, linux/seccomp.h). Allows the system calls that programs in the
 * supported runtimes need and rejects all others. It is a second line of defense in case a namespace fails, and
 * prevents programs from using kernel memory that no limit covers.
 */

const special = {
	x64: { audit: 0xc000003e, clone: 56, clone3: 435, socket: 41, socketpair: 53, setsockopt: 54, ioctl: 16, fcntl: 72 },
	arm64: {
		audit: 0xc00000b7,
		clone: 220,
		clone3: 435,
		socket: 198,
		socketpair: 199,
		setsockopt: 208,
		ioctl: 29,
		fcntl: 25,
	},
} as const;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaceFlags = 0x7e020000;
/**
 * The only socket family that is allowed. Other families reach beyond a network namespace (AF_VSOCK) or deep into the
 * kernel. Internet sockets cannot reach anything in a sandbox, and their buffers (6 MB per TCP connection), MPTCP and
 * UDP-Lite would only consume kernel memory.
 */
const AF_UNIX = 1;
const SOL_SOCKET = 1;
/** SO_SNDBUF, SO_RCVBUF: sockets must keep the kernel's default size. */
const bufferOptions = [7, 8];
/** TIOCSTI, TIOCLINUX: inject terminal input. */
const terminalRequests = [0x5412, 0x541c];
/** F_SETPIPE_SZ: pipes must keep their size. F_NOTIFY: predecessor of inotify. */
const fileRequests = [1031, 1026];

const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;
const SECCOMP_RET_KILL_PROCESS = 0x80000000;
const SECCOMP_RET_ERRNO = 0x00050000;
const SECCOMP_RET_ALLOW = 0x7fff0000;
const BPF_LD_W_ABS = 0x20;
const BPF_JEQ = 0x15;
const BPF_JGT = 0x25;
const BPF_JGE = 0x35;
const BPF_JSET = 0x45;
const BPF_RET = 0x06;
/** Offsets in struct seccomp_data. Arguments are 64-bit little-endian. */
const offsets = { nr: 0, arch: 4, arg0: 16, arg1: 24, arg2: 32 } as const;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

const fail = (code: number): Instruction => [BPF_RET, 0, 0, SECCOMP_RET_ERRNO | code];
const load = (offset: number): Instruction => [BPF_LD_W_ABS, 0, 0, offset];
const allow: Instruction = [BPF_RET, 0, 0, SECCOMP_RET_ALLOW];

/** Handles a single system call. `body` decides, and must return on every path. */
const forCall = (nr: number, body: readonly Instruction[]): Instruction[] => [[BPF_JEQ, 0, body.length, nr], ...body];

/** Rejects the listed values with `code` and allows all others. */
const allBut = (values: readonly number[], code: number): Instruction[] => [
	...values.map((value, i): Instruction => [BPF_JEQ, values.length - i, 0, value]),
	allow,
	fail(code),
];

/** Groups numbers into contiguous ranges, with both ends inclusive. */
function runs(numbers: readonly number[]): [first: number, last: number][] {
	const list: [number, number][] = [];
	for (const nr of [...numbers].sort((a, b) => a - b)) {
		const last = list.at(-1);
		if (last !== undefined && nr <= last[1] + 1) last[1] = nr;
		else list.push([nr, nr]);
	}
	return list;
}

function program(architecture: Architecture): Instruction[] {
	const numbers = special[architecture];
	const list: Instruction[] = [
		load(offsets.arch),
		// 32-bit programs use different call numbers, so reject them entirely.
		[BPF_JEQ, 1, 0, numbers.audit],
		[BPF_RET, 0, 0, SECCOMP_RET_KILL_PROCESS],
		load(offsets.nr),
	];
	// x32 calls on x86-64 use the same numbers with an additional bit.
	if (architecture === 'x64') list.push([BPF_JGE, 0, 1, 0x40000000], fail(errno.ENOSYS));
	const families: Instruction[] = [
		load(offsets.arg0),
		[BPF_JEQ, 1, 0, AF_UNIX],
		fail(errno.EAFNOSUPPORT),
		// Allow only protocol 0 or PF_UNIX.
		load(offsets.arg2),
		[BPF_JGT, 1, 0, AF_UNIX],
		allow,
		fail(errno.EPERM),
	];
	list.push(
		// clone3 passes its flags in memory, which filters cannot inspect. Libraries fall back to clone.
		...forCall(numbers.clone3, [fail(errno.ENOSYS)]),
		...forCall(numbers.clone, [load(offsets.arg0), [BPF_JSET, 0, 1, namespaceFlags], fail(errno.EPERM), allow]),
		...forCall(numbers.socket, families),
		...forCall(numbers.socketpair, families),
		...forCall(numbers.setsockopt, [
			load(offsets.arg1),
			[BPF_JEQ, 1, 0, SOL_SOCKET],
			allow,
			load(offsets.arg2),
			...allBut(bufferOptions, errno.EPERM),
		]),
		...forCall(numbers.ioctl, [load(offsets.arg1), ...allBut(terminalRequests, errno.EPERM)]),
		...forCall(numbers.fcntl, [load(offsets.arg1), ...allBut(fileRequests, errno.EPERM)]),
	);
	const allowed = allowedCalls.flatMap((call) => call[architecture] ?? []);
	for (const [first, last] of runs(allowed)) list.push([BPF_JGE, 0, 2, first], [BPF_JGT, 1, 0, last], allow);
	list.push([BPF_JGT, 0, 1, newestCall], fail(errno.ENOSYS), fail(errno.EPERM));
	return list;
}

/** Returns the filter as `struct sock_filter[]`, or null if this architecture is not supported. */
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
