import { Failure } from '../../../base/failure.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import { latentGradientProgram, latentPrefillProgram } from '../model/latentPrograms.ts';
import { loopProgram } from '../model/loopProgram.ts';
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
import { residentName } from '../model/residentName.ts';
import {
	cacheLayoutProgram,
	choiceOutputs,
	collectProgram,
	firstTokenProgram,
	heldOutputs,
	holdProgram,
	positionName,
	positionProgram,
	residentDecodeProgram,
} from '../model/residentPrograms.ts';
import type { DeviceChoice } from '../model/tokenChoice.ts';
import type { Dialect } from '../onnx/dialect.ts';
import type { Graph } from '../onnx/graph.ts';
import { adamW, addGradients } from './adamW.ts';
import { areConstant, ConstantLogprobs } from './constantLogprobs.ts';
import { DeviceModels, groupOutputs } from './deviceModels.ts';
import { DeviceSampler, isChosenOnDevice } from './deviceSampler.ts';
import { dispatchesOf } from './dispatches.ts';
import type {
	AdamWJob,
	AddJob,
	AddResult,
	DeviceJob,
	GradientJob,
	GradientResult,
	GradientTarget,
	JobResults,
	LatentGradientJob,
	LoadResult,
	LogprobsJob,
	LogprobsResult,
	SampleJob,
	SampleResult,
	ValueGradientJob,
	ValueGradientResult,
	ValuesJob,
	ValuesResult,
	WeightsRef,
} from './jobs.ts';
import { LoopSampler } from './loopSampler.ts';
import { modelOf, ParameterStore, parameterViews, type WeightSource } from './parameterStore.ts';
import { ProgramFeeds } from './programFeeds.ts';
import { dialects, loopProviders, type ProviderName, residentProviders, runtimeNames } from './providers.ts';
import { ResidentSampler } from './residentSampler.ts';
import { type Feeds, type Fetches, Session, type Tensor, type Tensors, Traffic } from './runtime.ts';
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
	/** Training state on the device, if tensors can stay there. If so, caches stay there too. */
	readonly #models: DeviceModels | null;
	/** Counter for transfers to and from the device, and for dispatches. */
	readonly traffic = new Traffic();
	readonly #tensors: Tensors;
	readonly #weights: WeightSource;
	readonly #feeds: ProgramFeeds;
	readonly #sessions = new Map<string, Promise<Session>>();
	readonly #reference: ConstantLogprobs;
	#sampler: Sampler | undefined;
	readonly #gradients = new Map<ModelKind, GradientOutputs>();

	/** @param dialect dialect of the programs; defaults to the provider's dialect */
	constructor(shape: ModelShape, provider: ProviderName, tensors: Tensors, dialect = dialects[provider]) {
		this.#shape = shape;
		this.#provider = provider;
		this.#dialect = dialect;
		this.#tensors = tensors;
		this.#models = residentProviders.includes(provider)
			? new DeviceModels(shape, dialect, tensors, (name, program, resident) => this.#session(name, program, resident))
			: null;
		this.#weights = this.#models ?? new ParameterStore(shape, tensors);
		this.#feeds = new ProgramFeeds(shape, tensors, dialect);
		this.#reference = new ConstantLogprobs(shape, dialect, (graph) => this.#compile(graph), this.traffic);
	}

	async sample(job: SampleJob): Promise<SampleResult> {
		const sampler = await this.#samplerFor(job);
		return sampler.run(job, await this.#weights.feeds(job.weights));
	}

	async #samplerFor(job: SampleJob): Promise<Sampler | ResidentSampler | DeviceSampler | LoopSampler> {
		if (job.thoughts !== undefined) return this.#latentSampler(job.thoughts.count);
		if (loopProviders.includes(this.#provider) && isChosenOnDevice(job)) {
			return this.#loopSampler(job.temperature === 0 ? 'greedy' : 'random');
		}
		if (this.#models === null) {
			this.#sampler ??= await this.#hostSampler();
			return this.#sampler;
		}
		if (isChosenOnDevice(job)) return this.#deviceSampler(job.temperature === 0 ? 'greedy' : 'random');
		return this.#residentSampler();
	}

	async #hostSampler(): Promise<Sampler> {
		return new Sampler(this.#shape, this.#tensors, this.#feeds, {
			prefill: await this.#session('prefill', () => prefillProgram(this.#shape, this.#dialect)),
			decode: await this.#session('decode', () => decodeProgram(this.#shape, this.#dialect)),
		});
	}

	/** Returns a sampler for prompts with latent thoughts, which only the CPU supports. */
	async #latentSampler(thoughts: number): Promise<Sampler> {
		if (this.#provider !== 'cpu') {
			throw new Failure('unsupported', 'Latent thoughts can be sampled only on the CPU.', 'Set "device" to "cpu".');
		}
		return new Sampler(this.#shape, this.#tensors, this.#feeds, {
			prefill: await this.#session(`latent prefill ${thoughts}`, () =>
				latentPrefillProgram(this.#shape, thoughts, this.#dialect),
			),
			decode: await this.#session('decode', () => decodeProgram(this.#shape, this.#dialect)),
		});
	}

	async #loopSampler(choice: DeviceChoice): Promise<LoopSampler> {
		const session = await this.#session(`loop ${choice}`, () => loopProgram(this.#shape, this.#dialect, choice));
		return new LoopSampler(this.#shape, this.#tensors, this.#feeds, session);
	}

	async #residentSampler(): Promise<ResidentSampler> {
		const [shape, dialect] = [this.#shape, this.#dialect];
		const names = partNames(shape);
		return new ResidentSampler(shape, this.#tensors, this.#feeds, {
			prefill: await this.#session('prefill', () => prefillProgram(shape, dialect), names),
			decode: await this.#session(
				'decode',
				() => residentDecodeProgram(shape, dialect, 'host'),
				names.map(residentName),
			),
			layout: await this.#layout(),
		});
	}

	#layout(): Promise<Session> {
		const kept = [...partNames(this.#shape), 'mask'].map(residentName);
		return this.#session('layout', () => cacheLayoutProgram(this.#shape, this.#dialect), kept);
	}

	async #deviceSampler(choice: DeviceChoice): Promise<DeviceSampler> {
		const [shape, dialect] = [this.#shape, this.#dialect];
		const names = partNames(shape);
		const chosen = choiceOutputs.map(residentName);
		const next = [...names.map(residentName), ...chosen];
		const places = (steps: number) => Array.from({ length: steps }, (_, step) => residentName(positionName(step)));
		return new DeviceSampler(shape, this.#tensors, this.#feeds, {
			prefill: await this.#session('prefill on device', () => prefillProgram(shape, dialect), [...names, 'logits']),
			first: await this.#session(`first ${choice}`, () => firstTokenProgram(shape, dialect, choice), chosen),
			decode: await this.#session(`decode ${choice}`, () => residentDecodeProgram(shape, dialect, choice), next),
			layout: await this.#layout(),
			hold: await this.#session('hold', () => holdProgram(shape, dialect), heldOutputs.map(residentName)),
			positions: (steps) =>
				this.#session(`positions ${steps}`, () => positionProgram(shape, steps, dialect), places(steps)),
			collect: (steps) => this.#session(`collect ${steps}`, () => collectProgram(shape, steps, dialect)),
		});
	}

	async logprobs(job: LogprobsJob): Promise<LogprobsResult> {
		if (areConstant(this.#provider, this.#shape, job.weights)) {
			const session = await this.#reference.session(job.weights);
			return { logprobs: floats((await session.run(this.#feeds.logprobs(job))).logprobs) };
		}
		const session = await this.#session('logprobs', () => logprobsProgram(this.#shape, this.#dialect));
		const results = await this.#scored(session, job);
		return { logprobs: floats(results.logprobs) };
	}

	/** Returns log-probabilities of the full distributions, [own, vocabulary]. */
	async distribution(job: LogprobsJob): Promise<Float32Array<ArrayBuffer>> {
		const session = await this.#session('distribution', () => distributionProgram(this.#shape, this.#dialect));
		const results = await this.#scored(session, job);
		return floats(results.distribution);
	}

	async #scored(session: Session, job: LogprobsJob): Promise<Feeds> {
		const weights = await this.#weights.feeds(job.weights);
		return session.run({ ...weights, ...this.#feeds.logprobs(job) });
	}

	/** @param teacher the teacher's distributions, if the job needs them */
	async gradient(job: GradientJob, teacher: Float32Array<ArrayBuffer> | null = null): Promise<GradientResult> {
		const groups = this.#models?.groupsOf('policy') ?? null;
		const session = await this.#session(
			variantName(job.variant),
			() => gradientProgram(this.#shape, job.variant, 'float32', this.#dialect, groups),
			groups === null ? [] : groupOutputs(groups, 'gradient'),
		);
		const feeds = { ...(await this.#weights.feeds(job.weights)), ...this.#feeds.gradient(job, teacher) };
		return this.#tokenGradient(session, feeds, job);
	}

	async latentGradient(job: LatentGradientJob): Promise<GradientResult> {
		const groups = this.#models?.groupsOf('policy') ?? null;
		const { thoughts } = job.batch;
		const session = await this.#session(
			`latent ${thoughts}`,
			() => latentGradientProgram(this.#shape, thoughts, 'float32', this.#dialect, groups),
			groups === null ? [] : groupOutputs(groups, 'gradient'),
		);
		const feeds = { ...(await this.#weights.feeds(job.weights)), ...this.#feeds.latentGradient(job) };
		return this.#tokenGradient(session, feeds, job);
	}

	async #tokenGradient(session: Session, feeds: Feeds, job: GradientJob | LatentGradientJob): Promise<GradientResult> {
		const results = await this.#gradient(session, feeds, job, { loss: null, logprobs: null, entropies: null });
		return {
			loss: floats(results.loss)[0] ?? Number.NaN,
			logprobs: floats(results.logprobs),
			entropies: floats(results.entropies),
		};
	}

	/** Runs a gradient program, and passes the gradient on to the job's target. */
	async #gradient(
		session: Session,
		feeds: Feeds,
		{ weights: { slot }, gradient: target }: Pick<GradientJob, 'weights' | 'gradient'>,
		fetches: Fetches,
	): Promise<Feeds> {
		if (this.#models === null) {
			const outputs = this.#gradientOutputs(modelOf(slot));
			const results = await session.run(feeds, { ...fetches, ...outputs.fetches });
			// The runtime can only write to memory owned by its thread.
			new Float32Array(sharedTarget(target)).set(outputs.flat);
			return results;
		}
		const results = await session.run(feeds);
		if (typeof target === 'string') await this.#models.accumulate(slot, results, target);
		else await this.#models.takeGradient(slot, results, new Float32Array(target));
		return results;
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
		const groups = this.#models?.groupsOf('value') ?? null;
		const session = await this.#session(
			`value ${job.variant}`,
			() => valueGradientProgram(this.#shape, 'float32', job.variant, this.#dialect, groups),
			groups === null ? [] : groupOutputs(groups, 'gradient'),
		);
		const feeds = { ...(await this.#weights.feeds(job.weights)), ...this.#feeds.valueGradient(job) };
		const results = await this.#gradient(session, feeds, job, { loss: null, values: null });
		return { loss: floats(results.loss)[0] ?? Number.NaN, values: floats(results.values) };
	}

	/** Whether weights, moments and gradients stay on the device. */
	get keepsState(): boolean {
		return this.#models !== null;
	}

	/** Downloads the weights of a model on the device and, if requested, its moments. */
	loaded(slot: WeightsRef['slot'], moments: boolean): Promise<LoadResult> {
		return this.#onDevice.load(slot, moments);
	}

	get #onDevice(): DeviceModels {
		if (this.#models === null) throw new Failure('internal', 'This provider cannot keep tensors on the device.');
		return this.#models;
	}

	/** Runs a job on the training state on the device. */
	async onDevice(job: DeviceJob): Promise<JobResults[DeviceJob['kind']]> {
		const models = this.#onDevice;
		switch (job.kind) {
			case 'store':
				await models.store(job.slot, job.weights, job.moments);
				return {};
			case 'copy':
				models.copy(job.from, job.to);
				return {};
			case 'load':
				return this.loaded(job.slot, job.moments);
			case 'reset':
				models.resetMoments(job.slot);
				return {};
			case 'step':
				return { norm: await models.step(job.slot, job.settings, job.update, job.sum) };
		}
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
		await this.#reference.release();
		for (const session of sessions) await (await session).release();
	}

	/** @param resident names of outputs that stay on the device */
	#session(name: string, program: () => Graph, resident: readonly string[] = []): Promise<Session> {
		let session = this.#sessions.get(name);
		if (session === undefined) {
			session = this.#compile(program(), resident);
			this.#sessions.set(name, session);
		}
		return session;
	}

	#compile(graph: Graph, resident: readonly string[] = []): Promise<Session> {
		return Session.create(graph.encode(), {
			provider: runtimeNames[this.#provider],
			threads: 1,
			...(resident.length > 0 ? { resident } : {}),
			...(this.#provider === 'cpu' ? {} : { traffic: this.traffic, dispatches: dispatchesOf(graph.model()) }),
		});
	}
}

function sharedTarget(target: GradientTarget): SharedArrayBuffer {
	if (typeof target === 'string') throw new Failure('internal', 'This provider cannot keep gradients on the device.');
	return target;
}

function floats(tensor: Tensor | undefined): Float32Array<ArrayBuffer> {
	const data = tensor?.data;
	if (!(data instanceof Float32Array)) throw new Failure('internal', 'A program returned no floating-point output.');
	return data as Float32Array<ArrayBuffer>;
}
