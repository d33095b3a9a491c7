import type { OutputKind, StageState } from '../../protocol/pipeline.ts';
import type { NamedStage, PipelineRecipe } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import type { StageArtifacts, StageStart } from './compileStage.ts';
import { startOf, takenBy } from './compileStage.ts';
import { inputsOf, placeOf } from './pipelineGraph.ts';
import { StageFailure } from './stageFailure.ts';

/** Run state of a stage: no run exists (`none`), it is running, it has finished, or it can be resumed. */
export type StageRun = 'none' | 'live' | 'finished' | 'resumable';

/**
 * Action for a stage whose inputs are available.
 * - `keep`: the stage has finished and nothing has changed
 * - `begin`: there is no run yet; `again`: the existing run has different inputs or failed, and is set aside
 * - `follow`: the run is in progress; `take`: it has finished since the last check; `resume`: continue it
 */
export type StagePlan = 'keep' | 'begin' | 'again' | 'follow' | 'take' | 'resume';

/** @param hash hash of the stage's current inputs */
export function planStage(state: StageState | undefined, run: StageRun, hash: string): StagePlan {
	if (state === undefined || state.inputHash === null) return run === 'none' ? 'begin' : 'again';
	if (state.inputHash !== hash) return run === 'none' && state.status !== 'finished' ? 'begin' : 'again';
	if (state.status === 'finished') return 'keep';
	if (run === 'live') return 'follow';
	// The run finished but its output was insufficient. Repeating the run would give the same result.
	if (run === 'finished') return state.status === 'failed' ? 'again' : 'take';
	return run === 'resumable' ? 'resume' : 'begin';
}

/** Stage states by name. */
export type StatesByName = ReadonlyMap<string, StageState>;

const skippedNames = (states: StatesByName) =>
	new Set([...states.values()].filter(({ status }) => status === 'skipped').map(({ name }) => name));

/**
 * Returns the reason a stage is skipped, or null if it is not. All of its dependencies must have finished or been
 * skipped.
 */
export function skipReason(stage: NamedStage, states: StatesByName): string | null {
	const { skipIf } = stage;
	if (skipIf !== undefined) {
		const evaluated = states.get(skipIf.stage);
		const accuracy = evaluated?.accuracy ?? null;
		if ('notAbove' in skipIf) {
			const before = states.get(skipIf.notAbove)?.accuracy ?? null;
			if (evaluated?.status === 'skipped') return `${skipIf.stage} was skipped`;
			if (accuracy !== null && before !== null && accuracy <= before) {
				return `the held-out accuracy of ${skipIf.stage} is ${accuracy.toFixed(3)}, not above ${before.toFixed(3)} for ${skipIf.notAbove}`;
			}
		} else if (accuracy !== null && accuracy >= skipIf.heldOutAccuracy) {
			return `the held-out accuracy of ${skipIf.stage} is ${accuracy.toFixed(3)}, which is at least ${skipIf.heldOutAccuracy}`;
		}
	}
	for (const { key, stage: other } of inputsOf(stage)) {
		if (key === 'from' || key === 'skipIf' || states.get(other)?.status !== 'skipped') continue;
		return `its input "${key}" comes from ${other}, which was skipped`;
	}
	return null;
}

/** Describes why a stage has not started. Returns null if nothing is blocking it. */
export function waitReason(state: StageState, states: StatesByName): string | null {
	if (state.status !== 'waiting') return null;
	if (state.wait === 'memory') return 'waiting for free memory';
	if (state.wait === 'alone') return 'waiting for the other stages because its memory use is unknown';
	const open = state.after.filter((name) => !['finished', 'skipped'].includes(states.get(name)?.status ?? 'waiting'));
	if (open.length === 0) return null;
	const words = open.map((name) => {
		const status = states.get(name)?.status;
		return status === 'failed' || status === 'stopped' ? `${name}, which has ${status}` : name;
	});
	return `waiting for ${words.join(' and ')}`.replace('has stopped', 'was stopped');
}

const checkpointKind = (choice: 'last' | 'best'): OutputKind[] =>
	// If there was no evaluation, the last checkpoint is the only one.
	choice === 'best' ? ['best-checkpoint', 'last-checkpoint'] : ['last-checkpoint'];

/**
 * Returns the paths of the artifacts that a stage gets from earlier stages. Throws `missing` if one does not exist.
 * @param pathOf returns the absolute path of a stage output
 */
export function artifactsOf(
	recipe: PipelineRecipe,
	stage: NamedStage,
	states: StatesByName,
	pathOf: (stage: string, output: string) => string,
): StageArtifacts {
	const find = (name: string, kinds: readonly OutputKind[], key: string): string => {
		const outputs = states.get(name)?.outputs ?? [];
		const found = kinds.map((kind) => outputs.find((output) => output.kind === kind)).find((one) => one !== undefined);
		if (found !== undefined) return pathOf(name, found.path);
		const what = kinds.includes('last-checkpoint') ? 'no checkpoint' : `no ${kinds[0]}`;
		throw new StageFailure(
			stage.name,
			'missing',
			`"${key}" in the stage "${stage.name}" gets its input from "${name}", which produces ${what}.`,
			'Reference a stage that produces it, or change that stage to produce it.',
		);
	};
	const from = startOf(recipe, stage, skippedNames(states));
	const start: StageStart =
		'model' in from ? from : { checkpoint: find(from.input.stage, checkpointKind(from.input.checkpoint), 'from') };
	const paths: Record<string, string> = {};
	for (const input of inputsOf(stage)) {
		const { key, stage: other, checkpoint } = input;
		if (key === 'from' || key === 'skipIf') continue;
		const kind = takenBy(key);
		paths[placeOf(input)] = find(other, kind === 'checkpoint' ? checkpointKind(checkpoint) : [kind], key);
	}
	return { start, paths };
}
