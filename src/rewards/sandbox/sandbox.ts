import type { Readable, Writable } from 'node:stream';

export const sandboxKinds = ['bubblewrap', 'container', 'unsafe'] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

/** Interpreters that every sandbox identifies by name. Their location depends on the sandbox. */
export const sandboxPrograms = ['python', 'node', 'sh'] as const;
export type SandboxProgram = (typeof sandboxPrograms)[number];

export interface SandboxLimits {
	/** Wall-clock time in milliseconds. */
	readonly wallMs: number;
	/** CPU time per process, in seconds. */
	readonly cpuSeconds: number;
	/** Resident memory, page tables and socket buffers of all processes combined, in MB. */
	readonly memoryMb: number;
	/** Address space per process, in MB. Limits page tables even between two checks. */
	readonly addressSpaceMb: number;
	/** Maximum size of a file, in MB. */
	readonly fileMb: number;
	/** Capacity of the work folder and of /tmp, in MB each. */
	readonly diskMb: number;
	/** Maximum output to stdout and stderr combined, in bytes. */
	readonly outputBytes: number;
	/** Maximum number of processes and threads combined. */
	readonly processes: number;
	/** Maximum number of open files per process. */
	readonly openFiles: number;
}

/**
 * V8 reserves much more address space than it uses: 1.3 GB, plus 0.7 GB per worker and 9 GB per WebAssembly memory.
 * Page tables for that amount take 64 MB.
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
	/**
	 * Text files in the work folder, which is the working directory. Names must not contain folders. The program cannot
	 * modify the files.
	 */
	readonly files?: Readonly<Record<string, string>>;
	/** Default: `defaultSandboxLimits`. */
	readonly limits?: Partial<SandboxLimits>;
}

/**
 * How a program in a sandbox ended.
 * - `exited`: on its own, see `status`; `signal`: by a signal, see `signal`
 * - `wall`, `cpu`, `memory`, `processes`, `output`: killed because it exceeded that limit
 * - `cancelled`: ended on request
 */
export const sandboxEnds = ['exited', 'signal', 'wall', 'cpu', 'memory', 'processes', 'output', 'cancelled'] as const;
export type SandboxEnd = (typeof sandboxEnds)[number];

export interface SandboxOutcome {
	readonly end: SandboxEnd;
	readonly status: number | null;
	readonly signal: string | null;
	readonly durationMs: number;
	/**
	 * Peak memory usage observed while the program ran, sampled every few milliseconds. 0 if the program ended before the
	 * first sample, or if a container engine runs it.
	 */
	readonly peakMemoryMb: number;
	readonly peakProcesses: number;
}

export interface SandboxOutput extends SandboxOutcome {
	readonly stdout: string;
	readonly stderr: string;
}

/** A program running in a sandbox. */
export interface SandboxProcess {
	readonly stdin: Writable;
	readonly stdout: Readable;
	readonly stderr: Readable;
	/**
	 * Settles when all of the program's processes have ended. Fails with `unavailable` if the sandbox could not start.
	 */
	readonly ended: Promise<SandboxOutcome>;
	/** Kills the program along with all its processes. */
	kill(): void;
}

/** Runs untrusted programs. Every run gets a new sandbox, and leaves nothing behind for the next one. */
export interface Sandbox {
	readonly kind: SandboxKind;
	/** One-sentence description for users: the isolating program, and the protections it provides. */
	readonly description: string;
	/** Protections that are missing or unknown in this sandbox, as one phrase each. */
	readonly gaps: readonly string[];
	/** Returns a one-sentence reason why an interpreter is unavailable, or null if it is available. */
	missing(program: SandboxProgram): string | null;
	start(command: SandboxCommand, signal?: AbortSignal): SandboxProcess;
	/**
	 * Fails with `unavailable` if the sandbox itself could not start, and with `cancelled` when the signal is aborted.
	 */
	run(command: SandboxCommand & { readonly stdin?: string }, signal?: AbortSignal): Promise<SandboxOutput>;
}
