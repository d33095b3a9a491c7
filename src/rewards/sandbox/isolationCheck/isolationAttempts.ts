import type { SandboxOutput } from '../sandbox.ts';
import { atMost, type EscapeAttempt, endOf, type Said, stoppedBy, untried, type Verdict } from './escapeAttempt.ts';

const maxProcesses = 24;

const maxMemory = 128;

const maxDisk = 24;

const maxFile = 8;

export const escapeAttempts: readonly EscapeAttempt[] = [
	{
		id: 'tcp-loopback',
		mild: true,
		area: 'network',
		tried: 'Connect to a server on this machine via each of its addresses',
		expected: 'no response',
	},
	{
		id: 'udp-loopback',
		mild: true,
		area: 'network',
		tried: 'Exchange a datagram with this machine',
		expected: 'no response',
	},
	{
		id: 'abstract-socket',
		mild: true,
		area: 'network',
		tried: 'Connect to an abstract Unix socket on this machine',
		expected: 'not found',
	},
	{
		id: 'unix-socket',
		area: 'network',
		tried: 'Connect to Unix sockets in the file system, including those of Docker and the SSH agent',
		expected: 'not found',
	},
	{ id: 'interfaces', area: 'network', tried: 'List network interfaces', expected: 'loopback only' },
	{ id: 'dns', area: 'network', tried: 'Resolve an internet host name', expected: 'no response' },
	{
		id: 'vsock',
		area: 'network',
		tried: 'Open a socket to the host of a virtual machine (AF_VSOCK)',
		expected: 'refused',
	},
	{
		id: 'socket-protocols',
		area: 'network',
		tried: 'Open sockets for other protocols and families (MPTCP, UDP-Lite, SCTP, AF_ALG, AF_PACKET, AF_SMC)',
		expected: 'refused',
	},
	{ id: 'netlink', area: 'network', tried: 'Open a socket to the kernel (AF_NETLINK)', expected: 'refused' },

	{ id: 'read-home', mild: true, area: 'files', tried: 'Read a file in the home folder', expected: 'not found' },
	{
		id: 'read-workspace',
		mild: true,
		area: 'files',
		tried: 'Read a file in the workspace',
		expected: 'not found',
	},
	{
		id: 'read-tmp',
		mild: true,
		area: 'files',
		tried: "Read a file in this machine's /tmp",
		expected: 'not found',
	},
	{ id: 'read-shadow', area: 'files', tried: 'Read the system password hashes', expected: 'refused' },
	{
		id: 'write-system',
		area: 'files',
		tried: 'Write to /usr, /etc and /',
		expected: 'read-only',
		judge: (said, run, { appeared }) => fromOutside(said, run, appeared),
	},
	{
		id: 'write-home',
		area: 'files',
		tried: 'Write to the home folder and the workspace',
		expected: 'nothing appears on the host',
		judge: (said, run, { appeared }) => fromOutside(said, run, appeared),
	},
	{
		id: 'links',
		area: 'files',
		tried: 'Access files on this machine through links, ../ and /proc/self/root',
		expected: 'not found',
	},
	{
		id: 'proc-root',
		area: 'files',
		tried: "Access files through other processes' /proc/<pid>/root",
		expected: 'refused',
	},
	{ id: 'devices', area: 'files', tried: 'Open or create devices: disks, memory, the kernel log', expected: 'refused' },
	{
		id: 'watch-files',
		area: 'files',
		tried: 'Watch file activity on this machine (inotify, dnotify)',
		expected: 'refused',
	},
	{
		id: 'sysctl',
		area: 'files',
		tried: 'Open kernel settings for writing (core_pattern, sysrq-trigger)',
		expected: 'read-only',
	},
	{
		id: 'descriptors',
		area: 'files',
		tried: 'Find leaked open file descriptors',
		expected: 'only input and output',
	},

	{
		id: 'see-processes',
		mild: true,
		area: 'processes',
		tried: 'See processes on this machine',
		expected: 'none visible',
	},
	{
		id: 'kill-outside',
		mild: true,
		// If this attempt succeeds, other attempts would look for a process that no longer exists.
		alone: true,
		area: 'processes',
		tried: 'Kill a process on this machine',
		expected: 'the process survives',
		judge: async (said, run, { victimLives }) => {
			const lives = await victimLives(said?.escaped === true);
			if (said === null && lives) return untried(run);
			return { outcome: lives ? 'held' : 'escaped', evidence: said?.evidence ?? 'the process was killed' };
		},
	},
	{ id: 'ptrace', area: 'processes', tried: 'Take control of other processes (ptrace)', expected: 'refused' },
	{ id: 'read-memory', area: 'processes', tried: 'Read the memory of other processes', expected: 'refused' },
	{
		id: 'fork-bomb',
		area: 'processes',
		tried: 'Start 200 processes',
		expected: `stopped at ${maxProcesses}`,
		limits: { processes: maxProcesses },
		alone: true,
		judge: (said, run) =>
			run.end === 'processes' ? { outcome: 'held', evidence: endOf(run) } : atMost(maxProcesses)(said, run),
	},
	{
		id: 'thread-bomb',
		area: 'processes',
		tried: 'Start 200 threads',
		expected: `stopped at ${maxProcesses}`,
		limits: { processes: maxProcesses },
		alone: true,
		judge: (said, run) =>
			run.end === 'processes' ? { outcome: 'held', evidence: endOf(run) } : atMost(maxProcesses)(said, run),
	},
	{
		id: 'zombies',
		area: 'processes',
		tried: 'Leave 200 zombie processes',
		expected: `stopped at ${maxProcesses}`,
		limits: { processes: maxProcesses },
		alone: true,
		judge: (said, run) =>
			run.end === 'processes' ? { outcome: 'held', evidence: endOf(run) } : atMost(maxProcesses)(said, run),
	},
	{
		id: 'orphans',
		area: 'processes',
		tried: 'Leave 200 orphaned zombie processes',
		expected: 'all are reaped',
		alone: true,
	},
	{
		id: 'outlive',
		mild: true,
		area: 'processes',
		tried: 'Leave a process behind in a separate session',
		expected: 'the process ends with the sandbox',
		judge: async (said, run, { findLeft }) => {
			const left = await findLeft();
			if (left.length > 0) return { outcome: 'escaped', evidence: `left process ${left.join(', ')} behind` };
			return said === null ? untried(run) : { outcome: 'held', evidence: 'no process was left behind' };
		},
	},

	{
		id: 'memory',
		area: 'resources',
		tried: 'Use 1 GB of memory',
		expected: `stopped at about ${maxMemory} MB`,
		limits: { memoryMb: maxMemory },
		alone: true,
		judge: atMost(maxMemory * 3),
	},
	{
		id: 'memory-of-many',
		area: 'resources',
		tried: 'Use 1 GB of memory in eight processes',
		expected: `stopped at about ${maxMemory} MB in total`,
		limits: { memoryMb: maxMemory },
		alone: true,
		judge: atMost(maxMemory * 3),
	},
	{
		id: 'memory-outside-of-processes',
		area: 'resources',
		tried: 'Use memory that is not charged to a process (memfd, shared segments, message queues)',
		expected: 'refused',
	},
	{
		id: 'page-tables',
		area: 'resources',
		tried: 'Use 1.2 GB of page tables with almost no resident memory',
		expected: `stopped at about ${maxMemory} MB`,
		limits: { memoryMb: maxMemory },
		alone: true,
		judge: atMost(maxMemory * 2),
	},
	{
		id: 'socket-buffers',
		area: 'resources',
		tried: 'Fill unread sockets with 1 GB of data',
		expected: `stopped at about ${maxMemory} MB`,
		limits: { memoryMb: maxMemory },
		alone: true,
		judge: atMost(maxMemory * 2),
	},
	{
		id: 'pipe-buffers',
		area: 'resources',
		tried: 'Fill unread pipes with 1 GB of data',
		expected: 'at most 64 kB each',
		limits: { memoryMb: maxMemory },
		alone: true,
		judge: atMost(maxMemory),
	},
	{
		id: 'disk',
		area: 'resources',
		tried: 'Write up to 512 MB in total to /tmp, the work folder and /dev/shm',
		expected: `at most ${maxDisk} MB each`,
		limits: { diskMb: maxDisk },
		alone: true,
		judge: atMost(maxDisk * 4),
	},
	{
		id: 'file-size',
		area: 'resources',
		tried: 'Write a 256 MB file',
		expected: `at most ${maxFile} MB`,
		limits: { fileMb: maxFile, diskMb: 64 },
		alone: true,
		judge: atMost(maxFile),
	},
	{
		id: 'cpu',
		mild: true,
		area: 'resources',
		tried: "Compute for 20 s and ignore the kernel's warning signal",
		expected: 'killed after 1 s of CPU time',
		limits: { cpuSeconds: 1 },
		judge: stoppedBy('cpu', 'signal'),
	},
	{
		id: 'wall',
		mild: true,
		area: 'resources',
		tried: 'Sleep for 20 s',
		expected: 'killed after 1 s',
		limits: { wallMs: 1000 },
		judge: stoppedBy('wall'),
	},
	{
		id: 'output',
		area: 'resources',
		tried: 'Write 1 GB of output',
		expected: 'killed after 1 MB',
		limits: { outputBytes: 1_000_000 },
		alone: true,
		judge: (_, run) => {
			const all = run.stderr.includes('all written');
			if (run.end === 'exited' && !all) return untried(run);
			return { outcome: run.end === 'output' && !all ? 'held' : 'escaped', evidence: endOf(run) };
		},
	},

	{
		id: 'environment',
		mild: true,
		area: 'environment',
		tried: 'Find secrets in the environment',
		expected: 'only variables that programs need',
	},
	{
		id: 'proc-environ',
		area: 'environment',
		tried: 'Find secrets in the environment of any process',
		expected: 'none',
	},
	{
		id: 'identity',
		mild: true,
		area: 'environment',
		tried: 'Have root privileges, or gain them through a program',
		expected: 'none',
	},
	{ id: 'terminal', area: 'environment', tried: 'Open the terminal', expected: 'no terminal' },

	{
		id: 'user-namespace',
		area: 'kernel',
		tried: 'Create a user namespace to become root in it',
		expected: 'refused',
	},
	{
		id: 'mount',
		area: 'kernel',
		tried: 'Mount, remount or unmount a file system, or change the root',
		expected: 'refused',
	},
	{
		id: 'file-handles',
		area: 'kernel',
		tried: 'Open files by handle, bypassing folder permissions',
		expected: 'refused',
	},
	{ id: 'kernel-keys', area: 'kernel', tried: 'Use kernel keyrings', expected: 'refused' },
	{
		id: 'kernel-interfaces',
		area: 'kernel',
		tried: 'Use io_uring, AIO, bpf, perf, userfaultfd and modules',
		expected: 'refused',
	},
];

/** Checks from outside the sandbox, because files written inside it might be in a location that exists only there. */
async function fromOutside(said: Said, run: SandboxOutput, appeared: () => Promise<string[]>): Promise<Verdict> {
	const found = await appeared();
	if (found.length > 0) return { outcome: 'escaped', evidence: `${found.join(', ')} appeared` };
	if (said === null) return untried(run);
	return { outcome: 'held', evidence: said.evidence };
}
