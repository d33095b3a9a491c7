import { Failure } from '../../../base/failure.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import { parameterCount } from '../model/parameters.ts';
import { logprobsProgram } from '../model/programs.ts';
import { constantWeights } from '../model/weights.ts';
import type { Dialect } from '../onnx/dialect.ts';
import type { Graph } from '../onnx/graph.ts';
import type { WeightsRef } from './jobs.ts';
import { loopProviders, type ProviderName } from './providers.ts';
import type { Session, Traffic } from './runtime.ts';

/** Maximum size of a program's constants: half of the file size limit of its format (protobuf). */
const maxBytes = 2 ** 30;

/**
 * Returns whether a reference's weights should be program constants. They do not change, so if tensors cannot stay on
 * the device between runs, constants are uploaded only once instead of in every run.
 */
export function areConstant(provider: ProviderName, shape: ModelShape, { slot, buffer }: WeightsRef): boolean {
	const bytes = 4 * parameterCount(shape);
	return slot === 'reference' && buffer !== null && loopProviders.includes(provider) && bytes <= maxBytes;
}

/** The `logprobs` program with the weights of the newest reference. Not for concurrent calls: a worker does one job at a time. */
export class ConstantLogprobs {
	readonly #shape: ModelShape;
	readonly #dialect: Dialect;
	readonly #create: (graph: Graph) => Promise<Session>;
	readonly #traffic: Traffic;
	#newest: { readonly version: number; readonly session: Session } | null = null;

	/** @param create compiles a program */
	constructor(shape: ModelShape, dialect: Dialect, create: (graph: Graph) => Promise<Session>, traffic: Traffic) {
		this.#shape = shape;
		this.#dialect = dialect;
		this.#create = create;
		this.#traffic = traffic;
	}

	async session({ version, buffer, slot }: WeightsRef): Promise<Session> {
		if (buffer === null) throw new Failure('internal', `The weights of the ${slot} are not in shared memory.`);
		if (this.#newest?.version === version) return this.#newest.session;
		await this.release();
		const flat = new Float32Array(buffer);
		const graph = logprobsProgram(this.#shape, this.#dialect, (g) => constantWeights(g, this.#shape, flat));
		const session = await this.#create(graph);
		this.#newest = { version, session };
		this.#traffic.addUpload(flat.byteLength);
		return session;
	}

	async release(): Promise<void> {
		const session = this.#newest?.session;
		this.#newest = null;
		await session?.release();
	}
}
