import { allowedCalls } from './systemCalls.ts';

/** Flags of clone: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaceFlags = 0x7e020000;
const ENOSYS = 38;

type Comparison = 'SCMP_CMP_EQ' | 'SCMP_CMP_LT' | 'SCMP_CMP_LE' | 'SCMP_CMP_GT' | 'SCMP_CMP_MASKED_EQ';
interface Argument {
	readonly index: number;
	readonly value: number;
	readonly valueTwo?: number;
	readonly op: Comparison;
}

const allow = (names: readonly string[], ...args: readonly Argument[]) => ({ names, action: 'SCMP_ACT_ALLOW', args });
const is = (index: number, value: number): Argument => ({ index, value, op: 'SCMP_CMP_EQ' });
const below = (index: number, value: number): Argument => ({ index, value, op: 'SCMP_CMP_LT' });
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/**
 * Returns a profile for container engines that allows the same calls as seccompFilter.ts, in the format of `docker run
 * --security-opt seccomp=FILE`, which Podman supports as well. The engines' default profiles allow more: Podman's lets
 * an unprivileged program create user namespaces. The profile compares 64 bits even where the kernel looks at only 32,
 * so values are allowed individually or below a bound.
 */
export function seccompProfile(): string {
	const names = allowedCalls.map(({ name }) => name);
	return JSON.stringify({
		defaultAction: 'SCMP_ACT_ERRNO',
		defaultErrnoRet: 1,
		syscalls: [
			allow(names),
			// The terminal requests that the other filter rejects are harmless here, because no terminal is accessible.
			allow(['ioctl']),
			allow(['clone'], { index: 0, value: namespaceFlags, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }),
			// clone3 passes its flags in memory, which filters cannot inspect. Libraries fall back to clone.
			{ names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS, args: [] },
			// Allow only Unix sockets, whose buffers keep the kernel's default size.
			allow(['socket', 'socketpair'], is(0, 1), { index: 2, value: 1, op: 'SCMP_CMP_LE' }),
			allow(['setsockopt'], is(1, 1), below(2, 7)),
			...range(9, 21).map((option) => allow(['setsockopt'], is(1, 1), is(2, option))),
			// Excludes F_NOTIFY (1026) and F_SETPIPE_SZ (1031).
			allow(['fcntl'], below(1, 1026)),
			...[1030, 1032].map((command) => allow(['fcntl'], is(1, command))),
		],
	});
}
