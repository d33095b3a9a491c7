import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import type * as Ort from 'onnxruntime-node';
import { Failure } from '../../../base/failure.ts';
import { GpuRuntimeFolder } from '../../../runs/gpuRuntimeFolder.ts';
import type { DeviceTraffic } from '../learner.ts';
import { deviceFailure } from './deviceFailure.ts';

/** Wrapper for onnxruntime-node. No other file loads it. */

/**
 * Sets environment variables that native code reads when the library is loaded. Disables telemetry, which version 1.30
 * sends by default on Linux, and TF32, with which cuBLAS rounds operands to 11 bits. A worker thread's `process.env` is
 * a copy that native code does not see, so the thread that starts the workers must also call this.
 */
export function prepareEnvironment(): void {
	process.env.ORT_DISABLE_TELEMETRY = '1';
	process.env.NVIDIA_TF32_OVERRIDE = '0';
}

export type Tensor = Ort.Tensor;
export type Feeds = Record<string, Tensor>;
/** Maps output names to the tensors that receive them, or to null if the runtime should allocate them. */
export type Fetches = Record<string, Tensor | null>;

export interface SessionOptions {
	readonly provider: string;
	/** Number of threads within an operator. 0 lets the runtime decide. */
	readonly threads: number;
	/** Whether the runtime may rewrite the program, for example by fusing operators. Default: true. */
	readonly optimize?: boolean;
	/** Outputs that stay in device memory. All others are returned to the host. */
	readonly resident?: readonly string[];
	/** Counter for transfers to and from the device, and for dispatches. */
	readonly traffic?: Traffic;
	/** Number of dispatches per run, for the counter. */
	readonly dispatches?: number;
}

/** Counts the bytes transferred to and from a device, and its dispatches. */
export class Traffic {
	#total: DeviceTraffic = noTraffic;

	add(feeds: Feeds, results: Readonly<Record<string, Tensor>>, dispatches: number): void {
		let { bytesUp, bytesDown } = this.#total;
		for (const tensor of Object.values(feeds)) bytesUp += bytesOf(tensor);
		for (const tensor of Object.values(results)) bytesDown += bytesOf(tensor);
		this.#total = { bytesUp, bytesDown, dispatches: this.#total.dispatches + dispatches };
	}

	/** Counts the upload of a program's constants. */
	addUpload(bytes: number): void {
		this.#total = { ...this.#total, bytesUp: this.#total.bytesUp + bytes };
	}

	/** Returns the counts since the last call. */
	take(): DeviceTraffic {
		const total = this.#total;
		this.#total = noTraffic;
		return total;
	}
}

const noTraffic: DeviceTraffic = { bytesUp: 0, bytesDown: 0, dispatches: 0 };

/**
 * Returns the number of bytes transferred for a tensor. This is 0 for shapes (int64), which are read on the host, and
 * for tensors that stay on the device.
 */
function bytesOf(tensor: Tensor): number {
	if (tensor.location !== 'cpu' || tensor.type === 'int64') return 0;
	return (tensor.data as Float32Array).byteLength;
}

let library: Promise<typeof Ort> | undefined;

/** Linux dlopen flags: resolve all symbols now, make them available to other libraries, and stay loaded (dlfcn.h). */
const keepLoaded = constants.dlopen.RTLD_NOW | constants.dlopen.RTLD_GLOBAL | 0x1000;

/**
 * Loads the copy of the runtime that *Set Up GPU* created. Returns null if there is none. The libraries of the CUDA
 * provider are loaded first: the runtime only finds libraries that are already loaded.
 */
async function loadGpuRuntime(): Promise<typeof Ort | null> {
	const folder = GpuRuntimeFolder.at();
	const record = await folder.current();
	if (record === null) return null;
	for (const library of record.libraries) {
		try {
			process.dlopen({ exports: {} }, join(folder.libraries, library), keepLoaded);
		} catch {
			// Node.js loads a library that is not an addon, then rejects it. If loading itself failed, the provider reports
			// the missing library.
		}
	}
	try {
		return createRequire(join(folder.runtime, 'runtime.js'))('onnxruntime-node') as typeof Ort;
	} catch (cause) {
		throw new Failure(
			'unavailable',
			`Cannot load the CUDA runtime in ${folder.runtime}.`,
			'Run Set Up GPU again, or remove it with "reasoning-lab setup-gpu --remove".',
			{ cause },
		);
	}
}

async function load(): Promise<typeof Ort> {
	prepareEnvironment();
	try {
		const module: typeof Ort & { default?: typeof Ort } =
			(await loadGpuRuntime()) ?? (await import('onnxruntime-node'));
		const ort = module.default ?? module;
		// Errors are thrown anyway, and messages about missing providers would clutter every run's log.
		ort.env.logLevel = 'fatal';
		return ort;
	} catch (cause) {
		if (cause instanceof Failure) throw cause;
		throw new Failure(
			'unavailable',
			`Cannot load onnxruntime-node for ${process.platform} ${process.arch}.`,
			'Reinstall the extension, or use the pytorch engine.',
			{ cause },
		);
	}
}

export function runtime(): Promise<typeof Ort> {
	library ??= load();
	return library;
}

/** Returns the providers included in this build of the runtime, by runtime name. */
export async function supportedProviders(): Promise<string[]> {
	const ort = await runtime();
	return ort.listSupportedBackends().map((backend) => backend.name);
}

/** Creates tensors from arrays without copying. */
export class Tensors {
	readonly #ort: typeof Ort;

	constructor(ort: typeof Ort) {
		this.#ort = ort;
	}

	static async load(): Promise<Tensors> {
		return new Tensors(await runtime());
	}

	float(data: Float32Array, shape: readonly number[]): Tensor {
		return new this.#ort.Tensor('float32', data, shape);
	}

	double(data: Float64Array, shape: readonly number[]): Tensor {
		return new this.#ort.Tensor('float64', data, shape);
	}

	int32(data: Int32Array, shape: readonly number[]): Tensor {
		return new this.#ort.Tensor('int32', data, shape);
	}

	int64(data: BigInt64Array, shape: readonly number[]): Tensor {
		return new this.#ort.Tensor('int64', data, shape);
	}
}

/**
 * Returns how a session selects a provider. WebGPU prefers a channels-last layout, which would add transpositions
 * around fused products (`activatedLinear`).
 */
export function executionProvider(name: string): Ort.InferenceSession.ExecutionProviderConfig {
	return name === 'webgpu' ? { name, preferredLayout: 'NCHW' } : name;
}

/** A compiled program. `run` blocks the calling thread. */
export class Session {
	readonly #session: Ort.InferenceSession;
	readonly #traffic: Traffic | undefined;
	readonly #dispatches: number;
	readonly #provider: string;

	private constructor(session: Ort.InferenceSession, { provider, traffic, dispatches }: SessionOptions) {
		this.#session = session;
		this.#provider = provider;
		this.#traffic = traffic;
		this.#dispatches = dispatches ?? 0;
	}

	static async create(program: Uint8Array, options: SessionOptions): Promise<Session> {
		const ort = await runtime();
		const settings: Ort.InferenceSession.SessionOptions = {
			executionProviders: [executionProvider(options.provider)],
			intraOpNumThreads: options.threads,
			interOpNumThreads: 1,
			executionMode: 'sequential',
			graphOptimizationLevel: options.optimize === false ? 'disabled' : 'all',
			// The runtime keeps a memory plan for each combination of input shapes, and every batch has new shapes.
			enableMemPattern: false,
			logSeverityLevel: 3,
			// Prevent idle session threads from spinning, which would take CPU time from other sessions.
			extra: { session: { intra_op: { allow_spinning: '0' } } },
		};
		const { resident } = options;
		if (resident !== undefined) {
			settings.preferredOutputLocation = Object.fromEntries(resident.map((name) => [name, 'gpu-buffer' as const]));
		}
		// The program's constants take up device memory.
		const session = await ort.InferenceSession.create(program, settings).catch((error: unknown) => {
			throw deviceFailure(options.provider, error) ?? error;
		});
		return new Session(session, options);
	}

	async run(feeds: Feeds, fetches?: Fetches): Promise<Record<string, Tensor>> {
		const results = await (fetches ? this.#session.run(feeds, fetches) : this.#session.run(feeds)).catch(
			(error: unknown) => {
				throw deviceFailure(this.#provider, error) ?? error;
			},
		);
		this.#traffic?.add(feeds, results as Record<string, Tensor>, this.#dispatches);
		return results as Record<string, Tensor>;
	}

	async release(): Promise<void> {
		await this.#session.release();
	}
}
