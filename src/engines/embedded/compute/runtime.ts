import type * as Ort from 'onnxruntime-node';
import { Failure } from '../../../base/failure.ts';

/** The only file that loads onnxruntime-node. */

/**
 * Version 1.30 sends telemetry by default on Linux; this must be in the environment of the process before the library
 * is loaded. A thread's own `process.env` is a copy that native code does not see, so the thread that starts workers
 * calls this too.
 */
export function disableTelemetry(): void {
	process.env.ORT_DISABLE_TELEMETRY = '1';
}

export type Tensor = Ort.Tensor;
export type Feeds = Record<string, Tensor>;
/** Output name to the tensor that receives it; null: allocated by the runtime. */
export type Fetches = Record<string, Tensor | null>;

export interface SessionOptions {
	readonly provider: string;
	/** Threads within an operator; 0: chosen by the runtime. */
	readonly threads: number;
	/** Whether the runtime may rewrite the program, for example fuse operators. Default: true. */
	readonly optimize?: boolean;
}

let library: Promise<typeof Ort> | undefined;

async function load(): Promise<typeof Ort> {
	disableTelemetry();
	try {
		const module: typeof Ort & { default?: typeof Ort } = await import('onnxruntime-node');
		const ort = module.default ?? module;
		// Errors are thrown anyway; missing providers would fill the log of every run.
		ort.env.logLevel = 'fatal';
		return ort;
	} catch (cause) {
		throw new Failure(
			'unavailable',
			`Cannot load onnxruntime-node for ${process.platform} ${process.arch}.`,
			'Reinstall the package, or use the pytorch engine.',
			{ cause },
		);
	}
}

export function runtime(): Promise<typeof Ort> {
	library ??= load();
	return library;
}

/** Providers included in this build of the runtime, by runtime name. */
export async function supportedProviders(): Promise<string[]> {
	const ort = await runtime();
	return ort.listSupportedBackends().map((backend) => backend.name);
}

/** Tensors over the given arrays, without copying. */
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

/** A compiled program. `run` blocks its thread. */
export class Session {
	readonly #session: Ort.InferenceSession;

	private constructor(session: Ort.InferenceSession) {
		this.#session = session;
	}

	static async create(program: Uint8Array, options: SessionOptions): Promise<Session> {
		const ort = await runtime();
		const settings: Ort.InferenceSession.SessionOptions = {
			executionProviders: [options.provider],
			intraOpNumThreads: options.threads,
			interOpNumThreads: 1,
			executionMode: 'sequential',
			graphOptimizationLevel: options.optimize === false ? 'disabled' : 'all',
			// A memory plan is kept for each combination of input shapes, and here every batch has new ones.
			enableMemPattern: false,
			logSeverityLevel: 3,
			// Otherwise the idle threads of a session would spin and take cores from other sessions.
			extra: { session: { intra_op: { allow_spinning: '0' } } },
		};
		return new Session(await ort.InferenceSession.create(program, settings));
	}

	async run(feeds: Feeds, fetches?: Fetches): Promise<Record<string, Tensor>> {
		const results = await (fetches ? this.#session.run(feeds, fetches) : this.#session.run(feeds));
		return results as Record<string, Tensor>;
	}

	async release(): Promise<void> {
		await this.#session.release();
	}
}
