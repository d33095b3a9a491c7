import { Failure } from '../../../base/failure.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import { countOf, type ModelKind, specsOf } from '../model/parameters.ts';
import {
	decodeProgram,
	distributionProgram,
	gradientName,
	gradientProgram,
	logprobsProgram,
	prefillProgram,
	valueGradientProgram,
	valuesProgram,
	variantName,
} from '../model/programs.ts';
import { cacheLayoutProgram, residentDecodeProgram, residentName, uploadProgram } from '../model/residentPrograms.ts';
import type { Dialect } from '../onnx/dialect.ts';
import type { Graph } from '../onnx/graph.ts';
import { adamW, addGradients } from './adamW.ts';
import type {
	AdamWJob,
	AddJob,
	AddResult,
	GradientJob,
	GradientResult,
	LogprobsJob,
	LogprobsResult,
	SampleJob,
	SampleResult,
	ValueGradientJob,
	ValueGradientResult,
	ValuesJob,
	ValuesResult,
} from './jobs.ts';
import { type MakeUpload, ParameterStore, parameterViews } from './parameterStore.ts';
import { ProgramFeeds } from './programFeeds.ts';
import { dialects, type ProviderName, residentProviders, runtimeNames } from './providers.ts';
import { ResidentSampler } from './residentSampler.ts';
import { type Fetches, Session, type Tensor, type Tensors, Traffic } from './runtime.ts';
import { partNames, Sampler } from './sampler.ts';

interface GradientOutputs {
	readonly flat: Float32Array;
	readonly fetches: Fetches;
}

/** Runs a worker's jobs one at a time. Compiles programs on first use and caches copies of the weights. */
export class Executor {
	readonly #shape: ModelShape;
	readonly #provider: ProviderName;
	readonly #dialect: Dialect;
	/** Whether weights and caches stay on the device. */
	readonly #resident: boolean;
	/** Counter for transfers to and from the device, and for dispatches. */
	readonly traffic = new Traffic();
	readonly #tensors: Tensors;
	readonly #weights: ParameterStore;
	readonly #feeds: ProgramFeeds;
	readonly #sessions = new Map<string, Promise<Session>>();
	#sampler: Sampler | ResidentSampler | undefined;
	readonly #gradients = new Map<ModelKind, GradientOutputs>();

	/** @param dialect dialect of the programs; defaults to the provider's dialect */
	constructor(shape: ModelShape, provider: ProviderName, tensors: Tensors, dialect = dialects[provider]) {
		this.#shape = shape;
		this.#provider = provider;
		this.#dialect = dialect;
		this.#tensors = tensors;
		this.#resident = residentProviders.includes(provider);
		const upload: MakeUpload = (model, specs) => {
			const outputs = specs.map(({ name }) => residentName(name));
			return this.#session(`upload ${model}`, () => uploadProgram(specs, this.#dialect), outputs);
		};
		this.#weights = new ParameterStore(shape, tensors, this.#resident ? upload : null);
		this.#feeds = new ProgramFeeds(shape, tensors);
	}

	async sample(job: SampleJob): Promise<SampleResult> {
		this.#sampler ??= this.#resident ? await this.#residentSampler() : await this.#hostSampler();
		return this.#sampler.run(job, await this.#weights.feeds(job.weights));
	}

	async #hostSampler(): Promise<Sampler> {
		return new Sampler(this.#shape, this.#tensors, this.#feeds, {
			prefill: await this.#session('prefill', () => prefillProgram(this.#shape, this.#dialect)),
			decode: await this.#session('decode', () => decodeProgram(this.#shape, this.#dialect)),
		});
	}

	async #residentSampler(): Promise<ResidentSampler> {
		const names = partNames(this.#shape);
		const kept = names.map(residentName);
		return new ResidentSampler(this.#shape, this.#tensors, this.#feeds, {
			prefill: await this.#session('prefill', () => prefillProgram(this.#shape, this.#dialect), names),
			decode: await this.#session('decode', () => residentDecodeProgram(this.#shape, this.#dialect), kept),
			layout: await this.#session('layout', () => cacheLayoutProgram(this.#shape, this.#dialect), kept),
		});
	}

	async logprobs(job: LogprobsJob): Promise<LogprobsResult> {
		const session = await this.#session('logprobs', () => logprobsProgram(this.#shape, this.#dialect));
		const results = await session.run({
			...(await this.#weights.feeds(job.weights)),
			...this.#feeds.logprobs(job),
		});
		return { logprobs: floats(results.logprobs) };
	}

	/** Returns log-probabilities of the full distributions, [own, vocabulary]. */
	async distribution(job: LogprobsJob): Promise<Float32Array<ArrayBuffer>> {
		const session = await this.#session('distribution', () => distributionProgram(this.#shape, this.#dialect));
		const results = await session.run({ ...(await this.#weights.feeds(job.weights)), ...this.#feeds.logprobs(job) });
		return floats(results.distribution);
	}

	/** @param teacher the teacher's distributions, if the job needs them */
	async gradient(job: GradientJob, teacher: Float32Array<ArrayBuffer> | null = null): Promise<GradientResult> {
		const session = await this.#session(variantName(job.variant), () =>
			gradientProgram(this.#shape, job.variant, 'float32', this.#dialect),
		);
		const feeds = { ...(await this.#weights.feeds(job.weights)), ...this.#feeds.gradient(job, teacher) };
		const outputs = this.#gradientOutputs('policy');
		const fetches = { loss: null, logprobs: null, entropies: null, ...outputs.fetches };
		const results = await session.run(feeds, fetches);
		// The runtime can only write to memory owned by its thread.
		new Float32Array(job.gradient).set(outputs.flat);
		return {
			loss: floats(results.loss)[0] ?? Number.NaN,
			logprobs: floats(results.logprobs),
			entropies: floats(results.entropies),
		};
	}

	async values(job: ValuesJob): Promise<ValuesResult> {
		const session = await this.#session(`values ${job.output}`, () =>
			valuesProgram(this.#shape, job.output, this.#dialect),
		);
		const results = await session.run({
			...(await this.#weights.feeds(job.weights)),
			...this.#feeds.values(job),
		});
		return { values: floats(results.values) };
	}

	async valueGradient(job: ValueGradientJob): Promise<ValueGradientResult> {
		const session = await this.#session(`value ${job.variant}`, () =>
			valueGradientProgram(this.#shape, 'float32', job.variant, this.#dialect),
		);
		const feeds = { ...(await this.#weights.feeds(job.weights)), ...this.#feeds.valueGradient(job) };
		const outputs = this.#gradientOutputs('value');
		const results = await session.run(feeds, { loss: null, values: null, ...outputs.fetches });
		new Float32Array(job.gradient).set(outputs.flat);
		return { loss: floats(results.loss)[0] ?? Number.NaN, values: floats(results.values) };
	}

	add({ total, parts, range, fresh }: AddJob): AddResult {
		const gradients = parts.map((part) => new Float32Array(part));
		return { squares: addGradients(new Float32Array(total), gradients, range, fresh) };
	}

	adamW(job: AdamWJob): Record<never, never> {
		const vectors = {
			parameters: new Float32Array(job.parameters),
			gradient: new Float32Array(job.gradient),
			firstMoments: new Float32Array(job.firstMoments),
			secondMoments: new Float32Array(job.secondMoments),
		};
		adamW(vectors, specsOf(job.model, this.#shape), job.settings, job.update, job.scale, job.range);
		return {};
	}

	/** Allocates one flat vector for all gradients, with the outputs as views into it. */
	#gradientOutputs(kind: ModelKind): GradientOutputs {
		let outputs = this.#gradients.get(kind);
		if (outputs === undefined) {
			const specs = specsOf(kind, this.#shape);
			const flat = new Float32Array(countOf(specs));
			outputs = { flat, fetches: parameterViews(specs, flat, this.#tensors, gradientName) };
			this.#gradients.set(kind, outputs);
		}
		return outputs;
	}

	/** Frees the compiled programs. */
	async release(): Promise<void> {
		const sessions = [...this.#sessions.values()];
		this.#sessions.clear();
		this.#sampler = undefined;
		this.#weights.release();
		for (const session of sessions) await (await session).release();
	}

	/** @param resident names of outputs that stay on the device */
	#session(name: string, program: () => Graph, resident: readonly string[] = []): Promise<Session> {
		let session = this.#sessions.get(name);
		if (session === undefined) {
			const graph = program();
			session = Session.create(graph.encode(), {
				provider: runtimeNames[this.#provider],
				threads: 1,
				...(resident.length > 0 ? { resident } : {}),
				...(this.#provider === 'cpu' ? {} : { traffic: this.traffic, dispatches: dispatchesOf(graph) }),
			});
			this.#sessions.set(name, session);
		}
		return session;
	}
}

/** Operators that change only how a tensor is read, or that the runtime computes on the host. */
const withoutDispatch = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Shape', 'Identity']);

/**
 * Returns the number of operators that a device dispatches for a program. The runtime fuses some, such as x *
 * sigmoid(x).
 */
function dispatchesOf(graph: Graph): number {
	return graph.model().nodes.filter(({ op }) => !withoutDispatch.has(op)).length;
}

function floats(tensor: Tensor | undefined): Float32Array<ArrayBuffer> {
	const data = tensor?.data;
	if (!(data instanceof Float32Array)) throw new Failure('internal', 'A program returned no floating-point output.');
	return data as Float32Array<ArrayBuffer>;
}
