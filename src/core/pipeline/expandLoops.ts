import {
	isLoop,
	listReferenceKeys,
	type PipelineStage,
	previousOf,
	referenceKeys,
	type StageLoop,
} from '../../protocol/recipeKeys/pipelineRecipe.ts';
import type { PathFault } from '../recipe/pathFault.ts';
import { suggest } from '../recipe/suggest.ts';
import { makesCheckpoint } from './pipelineGraph.ts';

type Place = PathFault['path'];

/** Stages after unrolling loops. */
export interface ExpandedStages {
	readonly stages: readonly PipelineStage[];
	/** Path of each stage in the original recipe. */
	readonly places: readonly Place[];
	/** Errors that only loop expansion can detect, with paths in the original recipe. */
	readonly faults: readonly PathFault[];
}

/** Stage keys that can reference another stage, and list keys whose entries can. */
const naming = ['from', ...Object.keys(referenceKeys), 'skipIf'] as const;
const lists = Object.keys(listReferenceKeys);

/** Yields all values in a stage that can reference another stage, with their paths. */
function* namedIn(stage: PipelineStage): Generator<readonly [place: Place, value: unknown]> {
	for (const key of naming) yield [[key], stage[key]];
	for (const key of lists) {
		const list = stage[key];
		if (Array.isArray(list)) for (const [i, value] of list.entries()) yield [[key, i], value];
	}
}

export const nameInRound = (name: string, round: number): string => `${name}-${round}`;

/**
 * Unrolls loops. The stages in round r are named `NAME-r`. A reference resolves to the stage with that name in the same
 * round, or else to any stage in the pipeline. `{"previous": NAME}` resolves to the stage in the previous round; in the
 * first round, it resolves to the stage named by `first`, or to nothing. Each round uses its stage's seed plus r, so
 * that it samples different problems. Evaluations keep their seed, so that all rounds are evaluated on the same
 * problems.
 * @param seed recipe seed
 */
export function expandLoops(entries: readonly (PipelineStage | StageLoop)[], seed: number): ExpandedStages {
	const stages: PipelineStage[] = [];
	const places: Place[] = [];
	const faults: PathFault[] = [];
	const add = (stage: PipelineStage, place: Place) => {
		stages.push(stage);
		places.push(place);
	};
	/** Names of other entries, and whether each is in a loop, where duplicate names would be ambiguous. */
	const taken = new Map<string, boolean>();
	const claim = (name: string | undefined, place: Place, looped: boolean) => {
		const other = name === undefined ? undefined : taken.get(name);
		if (other === undefined || !(other || looped)) return;
		faults.push({ path: [...place, 'name'], message: `Two stages are named "${name}". Give each a unique "name".` });
	};
	for (const [i, entry] of entries.entries()) {
		const place = ['stages', i];
		if (!isLoop(entry)) {
			claim(entry.name, place, false);
			if (entry.name !== undefined) taken.set(entry.name, false);
			faults.push(...outsideLoop(entry, place));
			add(entry, place);
			continue;
		}
		const names = entry.stages.flatMap(({ name }) => (name === undefined ? [] : [name]));
		for (const [j, stage] of entry.stages.entries()) {
			const inner = [...place, 'stages', j];
			claim(stage.name, inner, true);
			faults.push(...insideLoop(stage, names, entry.loop, inner));
		}
		for (const name of names) taken.set(name, true);
		faults.push(...risingFaults(entry, names, place));
		for (let round = 1; round <= entry.times; round++) {
			for (const [j, stage] of entry.stages.entries()) {
				const made = stageOfRound(stage, names, round, seed);
				add(whileRising(made, entry.rising, round), [...place, 'stages', j]);
			}
		}
	}
	return { stages, places, faults };
}

function outsideLoop(stage: PipelineStage, place: Place): PathFault[] {
	return [...namedIn(stage)]
		.filter(([, value]) => previousOf(value) !== null)
		.map(([at]) => ({
			path: [...place, ...at],
			message: `"${at[0]}" references "previous", but the stage is not in a loop. Reference a "stage" instead.`,
		}));
}

function insideLoop(stage: PipelineStage, names: readonly string[], loop: string, place: Place): PathFault[] {
	const faults: PathFault[] = [];
	if (stage.round !== undefined) {
		faults.push({
			path: [...place, 'round'],
			message: '"round" is set by the loop itself. Remove it.',
		});
	}
	for (const [at, value] of namedIn(stage)) {
		const reference = previousOf(value);
		if (reference === null) continue;
		const [key] = at;
		const { previous, first } = reference;
		if (!names.includes(previous)) {
			const near = suggest(previous, names);
			const advice = near === null ? `its stages are ${names.join(', ')}.` : `did you mean "${near}"?`;
			faults.push({
				path: [...place, ...at],
				message: `"${key}" references the stage "${previous.slice(0, 80)}" in the previous round, but the loop "${loop}" has no such stage: ${advice}`,
			});
		} else if (first !== undefined && names.includes(first)) {
			faults.push({
				path: [...place, ...at],
				message: `"first" in "${key}" references "${first}" in the same loop, but there is no round before the first. Reference a stage outside the loop.`,
			});
		}
	}
	return faults;
}

function risingFaults({ rising, stages }: StageLoop, names: readonly string[], place: Place): PathFault[] {
	if (rising === undefined) return [];
	const faults = stages.flatMap(({ skipIf }, j): PathFault[] =>
		skipIf === undefined
			? []
			: [
					{
						path: [...place, 'stages', j, 'skipIf'],
						message:
							'The loop skips its stages based on "rising", but this stage also has "skipIf". Remove one of them.',
					},
				],
	);
	const named = stages.find(({ name }) => name === rising);
	if (named !== undefined) {
		if (named.type === 'evaluate' || makesCheckpoint(named.type)) return faults;
		const none = `"rising" references the stage "${rising}", which does not measure held-out accuracy. Reference a stage that trains or evaluates.`;
		return [...faults, { path: [...place, 'rising'], message: none }];
	}
	const near = suggest(rising, names);
	const advice = near === null ? `its stages are ${names.join(', ')}.` : `did you mean "${near}"?`;
	const message = `"rising" references the stage "${rising.slice(0, 80)}", but the loop has no such stage: ${advice}`;
	return [...faults, { path: [...place, 'rising'], message }];
}

/**
 * Skips a stage if accuracy is not rising. Applies from the third round onward, when there are two rounds to compare.
 */
function whileRising(stage: PipelineStage, rising: string | undefined, round: number): PipelineStage {
	if (rising === undefined || round < 3) return stage;
	return {
		...stage,
		skipIf: { stage: nameInRound(rising, round - 1), notAbove: nameInRound(rising, round - 2) },
	};
}

function stageOfRound(stage: PipelineStage, names: readonly string[], round: number, seed: number): PipelineStage {
	const { name } = stage;
	const made: Record<string, unknown> = { ...stage };
	if (name !== undefined) {
		made.name = nameInRound(name, round);
		made.round = { of: name, number: round };
	}
	if (stage.type !== 'evaluate') made.seed = ((stage.seed ?? seed) + round) % 2 ** 32;
	for (const key of naming) {
		const resolved = inRound(stage[key], names, round);
		if (resolved === undefined) delete made[key];
		else made[key] = resolved;
	}
	for (const key of lists) {
		const list = stage[key];
		if (!Array.isArray(list)) continue;
		const resolved = list.map((value) => inRound(value, names, round)).filter((value) => value !== undefined);
		if (resolved.length === 0) delete made[key];
		else made[key] = resolved;
	}
	// If the first round starts from a model, later rounds start from a stage.
	const before = previousOf(stage.from);
	if (before !== null && before.first === undefined && round > 1) delete made.model;
	return made as PipelineStage;
}

/** Renames the references in a value for a round. Returns undefined if the round omits the value. */
function inRound(value: unknown, names: readonly string[], round: number): unknown {
	const own = (name: string) => (names.includes(name) ? nameInRound(name, round) : name);
	if (typeof value === 'string') return own(value);
	const reference = previousOf(value);
	if (reference !== null) {
		const { previous, first, ...rest } = reference;
		if (round > 1) return { ...rest, stage: nameInRound(previous, round - 1) };
		return first === undefined ? undefined : { ...rest, stage: first };
	}
	if (typeof value !== 'object' || value === null) return value;
	const { stage } = value as { readonly stage?: unknown };
	return typeof stage === 'string' ? { ...value, stage: own(stage) } : value;
}
