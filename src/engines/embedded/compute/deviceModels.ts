import { Failure } from '../../../base/failure.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { OptimizerSettings, ParameterSpec } from '../learner.ts';
import {
	type AdamWScalars,
	adamWProgram,
	addProgram,
	fillProgram,
	flattenProgram,
	type GroupVector,
	groupName,
	transferProgram,
} from '../model/optimizerPrograms.ts';
import { groupFromFlat, groupToFlat, type ParameterGroup, parameterGroups } from '../model/parameterGroups.ts';
import { countOf, type ModelKind, specsOf } from '../model/parameters.ts';
import { residentName } from '../model/residentName.ts';
import { uploadProgram } from '../model/residentPrograms.ts';
import type { Dialect } from '../onnx/dialect.ts';
import type { Graph } from '../onnx/graph.ts';
import type { LoadResult, SumStep, WeightsRef } from './jobs.ts';
import { modelOf, parameterViews, type WeightSource } from './parameterStore.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';

type Slot = WeightsRef['slot'];

/** One tensor per group of parameters. */
type GroupTensors = readonly Tensor[];

interface Moments {
	readonly first: GroupTensors;
	readonly second: GroupTensors;
}

/** A model on the device. Tensors are immutable, so models can share them. */
interface DeviceModel {
	/** By name, as programs read them. */
	weights: Feeds;
	/** The same weights in the optimizer's layout, or null before the first update. */
	grouped: GroupTensors | null;
	/** Null means zero. */
	moments: Moments | null;
	/** Gradients of the micro-batches so far. */
	sum: GroupTensors | null;
	/** Version of the shared-memory weights that were copied here, or -1 if these are not copies. */
	version: number;
}

/** Programs and layout for a type of model. */
interface Kind {
	readonly name: ModelKind;
	readonly specs: readonly ParameterSpec[];
	readonly groups: readonly ParameterGroup[];
}

/** Compiles a program on first use. `resident` names the outputs that stay on the device. */
export type MakeSession = (name: string, program: () => Graph, resident?: readonly string[]) => Promise<Session>;

/** Weights, moments and gradients in device memory. They are copied to the host only in `load`. */
export class DeviceModels implements WeightSource {
	readonly #dialect: Dialect;
	readonly #tensors: Tensors;
	readonly #session: MakeSession;
	readonly #kinds: Readonly<Record<ModelKind, Kind>>;
	readonly #models = new Map<Slot, DeviceModel>();

	constructor(shape: ModelShape, dialect: Dialect, tensors: Tensors, session: MakeSession) {
		this.#dialect = dialect;
		this.#tensors = tensors;
		this.#session = session;
		const kind = (name: ModelKind): Kind => {
			const specs = specsOf(name, shape);
			return { name, specs, groups: parameterGroups(specs) };
		};
		this.#kinds = { policy: kind('policy'), value: kind('value') };
	}

	groupsOf(model: ModelKind): readonly ParameterGroup[] {
		return this.#kinds[model].groups;
	}

	/** Returns the weights as program inputs. Uploads them if they are in shared memory and have changed. */
	async feeds({ slot, version, buffer }: WeightsRef): Promise<Feeds> {
		const known = this.#models.get(slot);
		if (buffer !== null && known?.version !== version) {
			await this.store(slot, Float32Array.from(new Float32Array(buffer)), null, version);
		}
		return this.#model(slot).weights;
	}

	/** Uploads weights and moments. Null moments mean zero. */
	async store(
		slot: Slot,
		weights: Float32Array,
		moments: { readonly first: Float32Array; readonly second: Float32Array } | null,
		version = -1,
	): Promise<void> {
		const { name, specs, groups } = this.#kind(slot);
		const outputs = specs.map((spec) => residentName(spec.name));
		const upload = await this.#session(`upload ${name}`, () => uploadProgram(specs, this.#dialect), outputs);
		const stored = namedBack(specs, await upload.run(parameterViews(specs, weights, this.#tensors)));
		const vectors: GroupTensors[] = [];
		for (const flat of moments === null ? [] : [moments.first, moments.second]) {
			const session = await this.#transfer(slot, 'up');
			const feeds = groups.map((group) => this.#tensors.float(groupFromFlat(group, flat), [group.size]));
			vectors.push(groupsOf(groups, 'sum', await session.run(named('sum', feeds))));
		}
		const [first, second] = vectors;
		this.#replace(slot, {
			weights: stored,
			grouped: null,
			moments: first === undefined || second === undefined ? null : { first, second },
			sum: null,
			version,
		});
	}

	/** Makes `to` share the weights of `from`, without copying them. */
	copy(from: Slot, to: Slot): void {
		const { weights, version } = this.#model(from);
		this.#replace(to, { weights, version, grouped: null, moments: null, sum: null });
	}

	/** Downloads the weights and, if requested, the moments. */
	async load(slot: Slot, withMoments: boolean): Promise<LoadResult> {
		const { name, specs } = this.#kind(slot);
		const model = this.#model(slot);
		const flat = () => new Float32Array(countOf(specs));
		const [weights, first, second] = [flat(), withMoments ? flat() : empty(), withMoments ? flat() : empty()];
		const download = await this.#session(`download ${name}`, () => uploadProgram(specs, this.#dialect));
		await download.run(model.weights, parameterViews(specs, weights, this.#tensors, residentName));
		if (withMoments && model.moments !== null) {
			await this.#download(slot, model.moments.first, first);
			await this.#download(slot, model.moments.second, second);
		}
		return { weights, first, second };
	}

	resetMoments(slot: Slot): void {
		this.#replace(slot, { ...this.#model(slot), moments: null });
	}

	/** Adds the gradient returned by a program to the sum, or starts a new sum with it. */
	async accumulate(slot: Slot, results: Feeds, step: SumStep): Promise<void> {
		const { name, groups } = this.#kind(slot);
		const model = this.#model(slot);
		const gradient = groupsOf(groups, 'gradient', results);
		if (step === 'first' || model.sum === null) {
			this.#replace(slot, { ...model, sum: gradient });
			return;
		}
		const session = await this.#session(
			`add ${name}`,
			() => addProgram(groups, this.#dialect),
			groupOutputs(groups, 'sum'),
		);
		const sums = await session.run({ ...named('sum', model.sum), ...named('gradient', gradient) });
		for (const tensor of gradient) tensor.dispose();
		this.#replace(slot, { ...model, sum: groupsOf(groups, 'sum', sums) });
	}

	/** Writes the gradient returned by a program to a flat vector on the host. */
	async takeGradient(slot: Slot, results: Feeds, flat: Float32Array): Promise<void> {
		const gradient = groupsOf(this.#kind(slot).groups, 'gradient', results);
		await this.#download(slot, gradient, flat);
		for (const tensor of gradient) tensor.dispose();
	}

	/**
	 * Updates the weights with the gradient sum, or with a zero gradient if `sum` is false. Returns the gradient norm
	 * before clipping. If it is not finite, nothing changes.
	 */
	async step(slot: Slot, settings: OptimizerSettings, update: number, sum: boolean): Promise<number> {
		const { name, specs, groups } = this.#kind(slot);
		const model = this.#model(slot);
		const zeros: Tensor[] = [];
		const zero = async (): Promise<GroupTensors> => {
			if (zeros.length === 0) zeros.push(...(await this.#zeros(slot)));
			return zeros;
		};
		const gradient = sum ? model.sum : null;
		const feeds: Feeds = {
			...named('weights', model.grouped ?? (await this.#grouped(slot))),
			...named('first', model.moments?.first ?? (await zero())),
			...named('second', model.moments?.second ?? (await zero())),
			...named('sum', gradient ?? (await zero())),
			...this.#scalars(adamWScalarsOf(settings, update)),
		};
		const vectors = (['weights', 'first', 'second'] as const).flatMap((vector) => groupOutputs(groups, vector));
		const kept = [...vectors, ...specs.map((spec) => residentName(spec.name))];
		const session = await this.#session(`adamW ${name}`, () => adamWProgram(groups, this.#dialect), kept);
		const results = await session.run(feeds);
		for (const tensor of zeros) tensor.dispose();
		const norm = ((results.norm as Tensor).data as Float32Array)[0] as number;
		if (!Number.isFinite(norm)) {
			for (const output of kept) results[output]?.dispose();
			return norm;
		}
		this.#replace(slot, {
			weights: namedBack(specs, results),
			grouped: groupsOf(groups, 'weights', results),
			moments: { first: groupsOf(groups, 'first', results), second: groupsOf(groups, 'second', results) },
			sum: null,
			version: -1,
		});
		return norm;
	}

	/** Frees everything. */
	release(): void {
		const all = [...this.#models.values()].flatMap(tensorsOf);
		this.#models.clear();
		for (const tensor of new Set(all)) tensor.dispose();
	}

	/** Returns the weights in the optimizer's layout, built from those that programs read. */
	async #grouped(slot: Slot): Promise<GroupTensors> {
		const { name, groups } = this.#kind(slot);
		const model = this.#model(slot);
		const program = () => flattenProgram(groups, this.#dialect);
		const session = await this.#session(`flatten ${name}`, program, groupOutputs(groups, 'weights'));
		const grouped = groupsOf(groups, 'weights', await session.run(model.weights));
		this.#replace(slot, { ...model, grouped });
		return grouped;
	}

	async #zeros(slot: Slot): Promise<GroupTensors> {
		const { name, groups } = this.#kind(slot);
		const program = () => fillProgram(groups, this.#dialect);
		const session = await this.#session(`fill ${name}`, program, groupOutputs(groups, 'sum'));
		return groupsOf(groups, 'sum', await session.run({ value: this.#tensors.float(new Float32Array(1), [1]) }));
	}

	/** Copies one vector per group to a flat vector on the host. */
	async #download(slot: Slot, tensors: GroupTensors, flat: Float32Array): Promise<void> {
		const { groups } = this.#kind(slot);
		const session = await this.#transfer(slot, 'down');
		const results = groupsOf(groups, 'sum', await session.run(named('sum', tensors)));
		for (const [i, group] of groups.entries()) groupToFlat(group, results[i]?.data as Float32Array, flat);
	}

	#transfer(slot: Slot, direction: 'up' | 'down'): Promise<Session> {
		const { name, groups } = this.#kind(slot);
		const program = () => transferProgram(groups, 'sum', this.#dialect);
		const resident = direction === 'up' ? groupOutputs(groups, 'sum') : [];
		return this.#session(`vectors ${direction} ${name}`, program, resident);
	}

	#scalars(scalars: AdamWScalars): Feeds {
		return Object.fromEntries(
			Object.entries(scalars).map(([name, value]) => [name, this.#tensors.float(Float32Array.of(value), [])]),
		);
	}

	#kind(slot: Slot): Kind {
		return this.#kinds[modelOf(slot)];
	}

	#model(slot: Slot): DeviceModel {
		const model = this.#models.get(slot);
		if (model === undefined) throw new Failure('internal', `The device has no weights for the ${slot}.`);
		return model;
	}

	/** Frees the tensors that no model uses anymore. */
	#replace(slot: Slot, model: DeviceModel): void {
		const before = this.#models.get(slot);
		this.#models.set(slot, model);
		if (before === undefined) return;
		const used = new Set([...this.#models.values()].flatMap(tensorsOf));
		for (const tensor of tensorsOf(before)) if (!used.has(tensor)) tensor.dispose();
	}
}

function tensorsOf({ weights, grouped, moments, sum }: DeviceModel): Tensor[] {
	return [
		...Object.values(weights),
		...(grouped ?? []),
		...(moments === null ? [] : [...moments.first, ...moments.second]),
		...(sum ?? []),
	];
}

const empty = () => new Float32Array(0);

/** Returns tensors, one per group, under the names of program inputs. */
function named(vector: GroupVector, tensors: GroupTensors): Feeds {
	return Object.fromEntries(tensors.map((tensor, i) => [groupName(vector, i), tensor]));
}

/** Returns the names of outputs with one tensor per group. */
export function groupOutputs(groups: readonly ParameterGroup[], vector: GroupVector): string[] {
	return groups.map((_, i) => residentName(groupName(vector, i)));
}

function groupsOf(groups: readonly ParameterGroup[], vector: GroupVector, results: Feeds): GroupTensors {
	return groupOutputs(groups, vector).map((name) => results[name] as Tensor);
}

/** Returns the parameters in a program's results, as inputs to other programs. */
function namedBack(specs: readonly ParameterSpec[], results: Feeds): Feeds {
	return Object.fromEntries(specs.map(({ name }) => [name, results[residentName(name)] as Tensor]));
}

function adamWScalarsOf(settings: OptimizerSettings, update: number): AdamWScalars {
	const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradNorm } = settings;
	return {
		// Without a limit, use a very large number: infinity divided by an infinite norm would be NaN.
		'max norm': maxGradNorm > 0 ? maxGradNorm : 3e38,
		beta1,
		'gradient share': 1 - beta1,
		beta2,
		'square share': 1 - beta2,
		keep: 1 - learningRate * weightDecay,
		'step size': learningRate / (1 - beta1 ** update),
		'inverse root': 1 / Math.sqrt(1 - beta2 ** update),
		epsilon,
	};
}
