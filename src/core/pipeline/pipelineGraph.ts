import {
	type CheckpointChoice,
	isRunnerStage,
	type ListReferenceKey,
	listReferenceKeys,
	type NamedStage,
	type ReferenceKey,
	referenceKeys,
	referenceOf,
} from '../../protocol/recipeKeys/pipelineRecipe.ts';

/** An input that a stage gets from another stage. */
export interface StageInput {
	/** `from`, a key that references data or a teacher, or `skipIf`, which uses only a number. */
	readonly key: 'from' | ReferenceKey | ListReferenceKey | 'skipIf';
	/** Index of the entry in a list key. */
	readonly index?: number;
	readonly stage: string;
	readonly checkpoint: CheckpointChoice;
}

/** Returns the path of an input within its stage, such as `extra.0`. */
export const placeOf = ({ key, index }: Pick<StageInput, 'key' | 'index'>): string =>
	index === undefined ? key : `${key}.${index}`;

/** Returns whether stages of this type produce a checkpoint to start from. Stages that only sample do not. */
export const makesCheckpoint = (type: string): boolean => !isRunnerStage(type) && type !== 'rejection-sampling';

/** Returns all inputs that a stage gets from other stages, in key order. */
export function inputsOf(stage: NamedStage): StageInput[] {
	const inputs: StageInput[] = [];
	const from = referenceOf(stage.from);
	if (from !== null) inputs.push({ key: 'from', ...from });
	for (const key of Object.keys(referenceKeys) as ReferenceKey[]) {
		const value = stage[key];
		const reference = typeof value === 'object' ? referenceOf(value) : null;
		if (reference !== null) inputs.push({ key, ...reference });
	}
	for (const key of Object.keys(listReferenceKeys) as ListReferenceKey[]) {
		const list = stage[key];
		for (const [index, value] of (Array.isArray(list) ? list : []).entries()) {
			const reference = typeof value === 'object' ? referenceOf(value) : null;
			if (reference !== null) inputs.push({ key, index, ...reference });
		}
	}
	const { skipIf } = stage;
	if (skipIf !== undefined) {
		inputs.push({ key: 'skipIf', stage: skipIf.stage, checkpoint: 'last' });
		if ('notAbove' in skipIf) inputs.push({ key: 'skipIf', stage: skipIf.notAbove, checkpoint: 'last' });
	}
	return inputs;
}

/** Returns the names of the stages that a stage depends on, without duplicates. */
export function dependenciesOf(stage: NamedStage): string[] {
	return [...new Set(inputsOf(stage).map((input) => input.stage))];
}

export type Ordered =
	| { readonly ok: true; readonly stages: readonly NamedStage[] }
	/** Names along the cycle; the first one is not repeated at the end. */
	| { readonly ok: false; readonly cycle: readonly string[] };

/**
 * Sorts stages so that each follows its dependencies. Otherwise, recipe order is preserved. Unknown names are ignored.
 */
export function orderStages(stages: readonly NamedStage[]): Ordered {
	const left = new Map(stages.map((stage) => [stage.name, stage]));
	const ordered: NamedStage[] = [];
	while (left.size > 0) {
		const next = [...left.values()].find((stage) => dependenciesOf(stage).every((name) => !left.has(name)));
		if (next === undefined) return { ok: false, cycle: cycleIn(left) };
		left.delete(next.name);
		ordered.push(next);
	}
	return { ok: true, stages: ordered };
}

/**
 * Returns a cycle. Every remaining stage depends on another one, so following the dependencies must lead into a cycle.
 */
function cycleIn(left: ReadonlyMap<string, NamedStage>): string[] {
	const path: string[] = [];
	let at = left.values().next().value as NamedStage;
	while (!path.includes(at.name)) {
		path.push(at.name);
		const next = dependenciesOf(at).find((name) => left.has(name)) as string;
		at = left.get(next) as NamedStage;
	}
	return path.slice(path.indexOf(at.name));
}

/** Returns all stages that depend on the given one, directly or indirectly. */
export function behind(stages: readonly NamedStage[], name: string): Set<string> {
	const found = new Set<string>();
	for (let before = -1; before !== found.size; ) {
		before = found.size;
		for (const stage of stages) {
			if (dependenciesOf(stage).some((other) => other === name || found.has(other))) found.add(stage.name);
		}
	}
	return found;
}
