import type { Readable, Writable } from 'node:stream';

export const sandboxKinds = ['bubblewrap', 'container', 'unsafe'] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

/** Interpreters that a sandbox knows by name; where they lie is its own matter. */
export const sandboxPrograms = ['python', 'node', 'sh'] as const;
export type SandboxProgram = (typeof sandboxPrograms)[number];

export interface SandboxLimits {
	/** Wall clock, milliseconds. */
	readonly wallMs: number;
	/** Processor time of one process, seconds. */
	readonly cpuSeconds: number;
	/** Resident memory, page tables and buffers of sockets of all processes together, MB. */
	readonly memoryMb: number;
	/** Address space of one process, MB: bounds page tables even between two looks. */
	readonly addressSpaceMb: number;
	/** Size of one file, MB. */
	readonly fileMb: number;
	/** Room of each of the work folder and /tmp, MB. */
	readonly diskMb: number;
	/** What may be written to stdout and stderr together, bytes. */
	readonly outputBytes: number;
	/** Processes and threads together. */
	readonly processes: number;
	/** Open files of one process. */
	readonly openFiles: number;
}

/**
 * V8 reserves far more than it uses: 1.3 GB, 0.7 GB more for each worker, 9 GB for a memory of WebAssembly. Page tables for
 * all of this are 64 MB.
 */
const defaultAddressSpaceMb = 32_768;

export const defaultSandboxLimits: SandboxLimits = {
	wallMs: 10_000,
	cpuSeconds: 10,
	memoryMb: 256,
	addressSpaceMb: defaultAddressSpaceMb,
	fileMb: 16,
	diskMb: 32,
	outputBytes: 1 << 20,
	processes: 32,
	openFiles: 256,
};

export interface SandboxCommand {
	readonly program: SandboxProgram;
	readonly args: readonly string[];
	/** Text files of the work folder, which is the working directory; names without folders. The program cannot change them. */
	readonly files?: Readonly<Record<string, string>>;
	/** Default: `defaultSandboxLimits`. */
	readonly limits?: Partial<SandboxLimits>;
}

/**
 * How a program in a sandbox ended.
 * - `exited`: by itself, see `status`; `signal`: by a signal, see `signal`
 * - `wall`, `cpu`, `memory`, `processes`, `output`: ended because it went beyond that limit
 * - `cancelled`: ended on request
 */
export const sandboxEnds = ['exited', 'signal', 'wall', 'cpu', 'memory', 'processes', 'output', 'cancelled'] as const;
export type SandboxEnd = (typeof sandboxEnds)[number];

export interface SandboxOutcome {
	readonly end: SandboxEnd;
	readonly status: number | null;
	readonly signal: string | null;
	readonly durationMs: number;
	/** Most that was seen while it ran, inspected every few milliseconds; 0: it ended before the first look, or an engine runs it. */
	readonly peakMemoryMb: number;
	readonly peakProcesses: number;
}

export interface SandboxOutput extends SandboxOutcome {
	readonly stdout: string;
	readonly stderr: string;
}

/** A program that runs in a sandbox. */
export interface SandboxProcess {
	readonly stdin: Writable;
	readonly stdout: Readable;
	readonly stderr: Readable;
	/** Settles once nothing of it runs any more; fails with `unavailable` when the sandbox itself could not start. */
	readonly ended: Promise<SandboxOutcome>;
	/** Ends it with all its processes. */
	kill(): void;
}

/** Runs programs that nobody has to trust. Every run is a sandbox of its own: nothing is left of it for the next. */
export interface Sandbox {
	readonly kind: SandboxKind;
	/** One sentence for people: which program isolates, and how far. */
	readonly description: string;
	/** Protections that this sandbox does not have here, or of which that is not known: a phrase each. */
	readonly gaps: readonly string[];
	/** Whether an interpreter is there, and if not, why: one sentence. */
	missing(program: SandboxProgram): string | null;
	start(command: SandboxCommand, signal?: AbortSignal): SandboxProcess;
	/** Fails with `unavailable` when the sandbox itself could not start, with `cancelled` when the signal fires. */
	run(command: SandboxCommand & { readonly stdin?: string }, signal?: AbortSignal): Promise<SandboxOutput>;
}
