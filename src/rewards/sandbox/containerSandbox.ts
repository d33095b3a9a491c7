import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../../base/failure.ts';
import { type ContainerEngine, containerArguments, containerEngines } from './containerArguments.ts';
import { containerGaps, imageVolumes } from './containerGaps.ts';
import { deferredProcess } from './deferredProcess.ts';
import { fileFolder } from './fileFolder.ts';
import { runSandboxed } from './runSandboxed.ts';
import {
	defaultSandboxLimits,
	type Sandbox,
	type SandboxCommand,
	type SandboxProcess,
	type SandboxProgram,
	sandboxPrograms,
} from './sandbox.ts';
import { seccompProfile } from './seccompProfile.ts';
import { superviseProcess } from './superviseProcess.ts';

/** Extra time for starting a container, during which the program's own clock is already running. */
const startAllowanceMs = 15_000;

/** Time limit for testing whether a program in an image runs. An image is unpacked on first use. */
const probeMs = 45_000;

const uncounted = {
	memoryMb: Number.POSITIVE_INFINITY,
	cpuSeconds: Number.POSITIVE_INFINITY,
	processes: Number.POSITIVE_INFINITY,
};

interface ContainerSetup {
	readonly engine: ContainerEngine;
	readonly image: string;
	readonly programs: ReadonlySet<string>;
	readonly gaps: readonly string[];
	/** Whether our system call filter replaces the engine's default filter. */
	readonly filtered: boolean;
}

class ContainerSandbox implements Sandbox {
	readonly kind = 'container';
	readonly description: string;
	readonly gaps: readonly string[];
	readonly #engine: ContainerEngine;
	readonly #image: string;
	readonly #programs: ReadonlySet<string>;
	readonly #filtered: boolean;

	constructor({ engine, image, programs, gaps, filtered }: ContainerSetup) {
		this.#engine = engine;
		this.#image = image;
		this.#programs = programs;
		this.#filtered = filtered;
		this.gaps = gaps;
		this.description = `${engine}, image ${image}: no network, a read-only system, no capabilities, no access to this machine's files`;
	}

	missing(program: SandboxProgram): string | null {
		if (this.#programs.has(program)) return null;
		return `Image ${this.#image} does not contain ${program === 'python' ? 'python3' : program}.`;
	}

	start(command: SandboxCommand, signal?: AbortSignal): SandboxProcess {
		const limits = { ...defaultSandboxLimits, ...command.limits };
		return deferredProcess(async () => {
			const folder = await fileFolder(command.files ?? {});
			const name = `reasoning-lab-${randomUUID()}`;
			const engine = this.#engine;
			const wallMs = limits.wallMs + startAllowanceMs;
			const remove = () => promisify(execFile)(engine, ['rm', '--force', name], { timeout: 30_000 });
			// The filter is stored next to the program's files, which cannot have this name.
			const filter = this.#filtered ? join(folder.path, '.seccomp.json') : null;
			if (filter !== null) await writeFile(filter, seccompProfile(), { mode: 0o444 });
			return superviseProcess(
				{
					name: engine,
					program: engine,
					args: containerArguments({
						...{ engine, image: this.#image, name, command, limits, filter },
						files: folder.path,
						// Longer than our own timeout, so ours takes effect first.
						timeoutSeconds: Math.ceil(wallMs / 1000) + 5,
					}),
					environment: engineEnvironment(),
					folder: tmpdir(),
					onKill: () => void remove().catch(() => undefined),
					onEnd: async () => {
						await remove().catch(() => undefined);
						await folder.remove();
					},
				},
				// The local process tree belongs to the engine's client. The engine itself limits what runs in the container.
				{ ...limits, wallMs, ...uncounted },
				signal,
			);
		});
	}

	async run(command: SandboxCommand & { readonly stdin?: string }, signal?: AbortSignal) {
		const output = await runSandboxed(this.start(command, signal), command.stdin);
		// 125 means that the engine could not start the container.
		if (output.status === 125) {
			throw new Failure('unavailable', `${this.#engine} failed to start: ${output.stderr.trim().split('\n').at(-1)}`);
		}
		const { cpuSeconds } = { ...defaultSandboxLimits, ...command.limits };
		// 137 means that the program was killed from outside: by the memory limit, or by the CPU limit if it ran long
		// enough.
		const isMemory = output.status === 137 && output.end === 'signal' && output.durationMs < cpuSeconds * 1000;
		return { ...output, peakMemoryMb: 0, peakProcesses: 0, ...(isMemory ? { end: 'memory' as const } : {}) };
	}
}

/**
 * Returns the programs in the image that can run. Fails with `unavailable` if there are none; the cause is `timeout` if
 * they merely take too long to start.
 */
async function startablePrograms(setup: Omit<ContainerSetup, 'programs'>): Promise<Set<SandboxProgram>> {
	const { engine, image } = setup;
	const bare = new ContainerSandbox({ ...setup, programs: new Set(sandboxPrograms) });
	const tries = await Promise.all(
		sandboxPrograms.map(async (program) => {
			const args = program === 'sh' ? ['-c', 'exit 0'] : ['--version'];
			return { program, ...(await bare.run({ program, args, limits: { wallMs: probeMs } })) };
		}),
	);
	if (tries.some(({ end }) => end === 'wall')) {
		const seconds = (probeMs + startAllowanceMs) / 1000;
		throw new Failure(
			'unavailable',
			`${engine} could not run a program from image ${image} within ${seconds} s.`,
			undefined,
			{
				cause: 'timeout',
			},
		);
	}
	const found = tries.filter(({ status }) => status === 0);
	if (found.length === 0) {
		const words = tries.map(({ stderr }) => stderr.trim().split('\n').at(-1)).find(Boolean) ?? 'no message';
		throw new Failure('unavailable', `${engine} cannot run programs from image ${image}: ${words}`);
	}
	return new Set(found.map(({ program }) => program));
}

/** Returns the variables that the client needs to find its engine. None of them are passed to the container. */
function engineEnvironment(): Record<string, string> {
	const names = ['PATH', 'HOME', 'XDG_RUNTIME_DIR', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'CONTAINER_HOST'];
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = process.env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}

/**
 * Creates a Docker or Podman sandbox. Fails with `unavailable` if no engine is running or it does not have the image.
 */
export async function containerSandbox(image: string): Promise<Sandbox> {
	let reason = 'Neither Docker nor Podman is installed.';
	for (const engine of containerEngines) {
		const ask = (args: readonly string[]) => promisify(execFile)(engine, [...args], { timeout: 20_000 });
		const version = await ask(['version']).catch((error: NodeJS.ErrnoException & { stderr?: string }) => error);
		if (version instanceof Error) {
			if (version.code !== 'ENOENT') reason = `${engine} is installed, but its engine is not responding.`;
			continue;
		}
		const inspected = await ask(['image', 'inspect', image]).catch(() => null);
		if (inspected !== null) {
			const volumes = imageVolumes(inspected.stdout);
			// For each volume, the engine creates a writable folder without a size limit on this machine's disk.
			if (volumes === null || volumes.length > 0) {
				throw new Failure(
					'unavailable',
					volumes === null
						? `${engine} does not report whether image ${image} declares volumes, which programs could use to fill this machine's disk.`
						: `Image ${image} declares volumes (${volumes.join(', ')}), which programs could use to fill this machine's disk.`,
					'Choose an image without VOLUME, such as python:3.12-slim.',
				);
			}
			const gaps = containerGaps(
				await ask(['info', '--format', '{{json .}}']).then(
					({ stdout }) => stdout,
					() => '',
				),
			);
			const setup = { engine, image, gaps };
			const filtered = await startablePrograms({ ...setup, filtered: true }).catch((error: Error) => {
				// A timeout on a slow machine does not mean that the filter is at fault.
				if (error.cause === 'timeout') throw error;
				return null;
			});
			if (filtered !== null) return new ContainerSandbox({ ...setup, programs: filtered, filtered: true });
			const programs = await startablePrograms({ ...setup, filtered: false });
			const missing = 'a list of allowed system calls (not supported by the engine, so its default filter is used)';
			return new ContainerSandbox({ ...setup, programs, filtered: false, gaps: [...gaps, missing] });
		}
		throw new Failure(
			'unavailable',
			`${engine} does not have image ${image}.`,
			`Download it with: ${engine} pull ${image}`,
		);
	}
	throw new Failure(
		'unavailable',
		reason,
		'Start the engine, or install bubblewrap and set reasoningLab.sandbox.mode to auto (Linux).',
	);
}
