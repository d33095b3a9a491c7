import { Random } from '../../base/random.ts';
import { stageNamePattern } from '../../protocol/pipelineFiles.ts';
import {
	type Comparison,
	type DataKind,
	type EvaluateStage,
	envelopeKeys,
	isLoop,
	isRunnerStage,
	type NamedStage,
	type PipelineRecipe,
	type PipelineStage,
	type SearchStage,
	type StageLoop,
} from '../../protocol/recipeKeys/pipelineRecipe.ts';
import type { Recipe, RejectionStage } from '../../protocol/recipeKeys/recipe.ts';
import { createTask } from '../dataset/createTask.ts';
import { runNameOf, startOf, takenBy } from '../pipeline/compileStage.ts';
import { type ExpandedStages, expandLoops } from '../pipeline/expandLoops.ts';
import { originOf, withOrigin } from '../pipeline/modelContext.ts';
import { inputsOf, makesCheckpoint, orderStages, type StageInput } from '../pipeline/pipelineGraph.ts';
import type { StepSplit } from '../search/search.ts';
import { stepRuleOf } from '../search/stepRule.ts';
import { checkRecipe } from './checkRecipe.ts';
import { attempt, type PathFault, type Report } from './pathFault.ts';
import { suggest } from './suggest.ts';

/** A decoded recipe whose stages may or may not have names. */
export type WrittenRecipe = Omit<Recipe, 'stages'> & {
	readonly stages: readonly (PipelineStage | StageLoop)[];
	readonly compare?: readonly Comparison[] | undefined;
};
/** The recipe after unrolling loops. */
type ExpandedRecipe = Omit<Recipe, 'stages'> & { readonly stages: readonly PipelineStage[] };

export type PipelineCheck =
	/** No stage has or needs a name. The recipe is in the form that engines read. */
	| { readonly kind: 'recipe'; readonly recipe: Recipe }
	| {
			readonly kind: 'pipeline';
			readonly pipeline: PipelineRecipe;
			/** Path of each stage in the recipe as written. */
			readonly places: ExpandedStages['places'];
			readonly faults: readonly PathFault[];
	  }
	| { readonly kind: 'faults'; readonly faults: readonly PathFault[] };

/** Distinguishes pipelines from recipes, and checks the names, the graph, and each stage of a pipeline. */
export function checkPipeline(written: WrittenRecipe): PipelineCheck {
	const { stages, places, faults: ofLoops } = expandLoops(written.stages, written.seed);
	const recipe: ExpandedRecipe = { ...written, stages };
	const faults: PathFault[] = [];
	const report: Report = (path, message) => faults.push({ path, message });
	const reported = () => distinct([...ofLoops, ...asWritten(faults, places)]);
	if (!stages.some(({ name }) => name !== undefined)) {
		for (const [i, stage] of stages.entries()) checkUnnamed(stage, i, report);
		const loops = written.stages.flatMap((entry, i) => (isLoop(entry) ? [loopUnnamed(i)] : []));
		if (written.compare !== undefined) {
			report(['compare'], `"compare" is supported only in pipelines, but no stage has a name: ${unnamedAdvice}.`);
		}
		if (faults.length + loops.length === 0) return { kind: 'recipe', recipe: recipe as unknown as Recipe };
		return { kind: 'faults', faults: [...loops, ...reported()] };
	}
	checkNames(recipe, places, report);
	if (faults.length + ofLoops.length > 0) return { kind: 'faults', faults: reported() };
	const pipeline = recipe as PipelineRecipe;
	for (const [i, stage] of pipeline.stages.entries()) checkInputs(pipeline, stage, i, report);
	for (const [i, comparison] of (pipeline.compare ?? []).entries()) checkComparison(pipeline, comparison, i, report);
	if (faults.length === 0) checkCycle(pipeline, report);
	if (faults.length === 0) for (const [i, stage] of pipeline.stages.entries()) checkStage(pipeline, stage, i, report);
	return { kind: 'pipeline', pipeline, places, faults: reported() };
}

const unnamedAdvice = 'give every stage a "name"';

const loopUnnamed = (i: number): PathFault => ({
	path: ['stages', i, 'loop'],
	message: `Loops are supported only in pipelines: ${unnamedAdvice}.`,
});

/** Maps errors to their paths in the recipe as written. For loops, keeps only errors from the first round. */
function asWritten(faults: readonly PathFault[], places: ExpandedStages['places']): PathFault[] {
	const stageOfPlace = new Map<string, number>();
	return faults.flatMap((fault) => {
		const [head, i, ...rest] = fault.path;
		const place = head === 'stages' && typeof i === 'number' ? places[i] : undefined;
		if (place === undefined) return [fault];
		const path = [...place, ...rest];
		const key = JSON.stringify(path);
		const reported = stageOfPlace.get(key) ?? (i as number);
		stageOfPlace.set(key, reported);
		return reported === i ? [{ path, message: fault.message }] : [];
	});
}

function checkUnnamed(stage: PipelineStage, i: number, report: Report): void {
	const advice = unnamedAdvice;
	if (isRunnerStage(stage.type)) {
		report(['stages', i, 'type'], `The stage type "${stage.type}" is supported only in pipelines: ${advice}.`);
	}
	for (const key of envelopeKeys) {
		if (stage[key] === undefined) continue;
		report(['stages', i, key], `"${key}" is supported only in pipeline stages, but no stage has a name: ${advice}.`);
	}
	for (const { key, index } of inputsOf(stage as NamedStage)) {
		// Already reported above.
		if ((envelopeKeys as readonly string[]).includes(key)) continue;
		const path: PathFault['path'] = index === undefined ? ['stages', i, key] : ['stages', i, key, index];
		report(path, `"${key}" references another stage, but no stage has a name: ${advice}, or use a "path".`);
	}
}

function checkNames(recipe: ExpandedRecipe, places: ExpandedStages['places'], report: Report): void {
	const seen = new Map<string, string>();
	for (const [i, { name }] of recipe.stages.entries()) {
		if (name === undefined) {
			const entry = Number(places[i]?.at(-1)) + 1;
			report(['stages', i], `Entry ${entry} in "stages" has no "name", but others do. Name all stages or none.`);
			continue;
		}
		if (!stageNamePattern.test(name) || /^pipeline\./i.test(name)) {
			report(
				['stages', i, 'name'],
				`The "name" of a stage is used as a folder name. Use at most 40 characters: letters and digits, with "-", "_", and "." between them, not "${name.slice(0, 80)}".`,
			);
			continue;
		}
		// Some file systems are case-insensitive.
		const other = seen.get(name.toLowerCase());
		if (other !== undefined) {
			report(['stages', i, 'name'], `Two stages are named "${other}". Give each a unique "name".`);
		}
		seen.set(name.toLowerCase(), name);
		if (runNameOf(recipe, { name }).length > 80) {
			report(
				['stages', i, 'name'],
				'The recipe "name" and the stage "name" are longer than 79 characters combined. Shorten one of them.',
			);
		}
	}
}

function checkComparison(recipe: PipelineRecipe, comparison: Comparison, i: number, report: Report): void {
	const measuring = recipe.stages.filter(({ type }) => type === 'evaluate').map(({ name }) => name);
	for (const key of ['stage', 'against'] as const) {
		const named = comparison[key];
		if (measuring.includes(named)) continue;
		const near = suggest(named, measuring);
		const advice =
			near !== null
				? `did you mean "${near}"?`
				: measuring.length === 0
					? 'there are none, so add one.'
					: `the options are ${measuring.join(', ')}.`;
		report(['compare', i, key], `"${key}" is "${named.slice(0, 80)}", which is not an evaluation stage: ${advice}`);
	}
	if (comparison.stage === comparison.against) {
		report(
			['compare', i, 'against'],
			`"against" refers to the stage "${comparison.stage}" itself. Choose a different stage.`,
		);
	}
}

function checkInputs(recipe: PipelineRecipe, stage: NamedStage, i: number, report: Report): void {
	const names = recipe.stages.map(({ name }) => name);
	if (stage.minutes !== undefined && !makesCheckpoint(stage.type)) {
		report(
			['stages', i, 'minutes'],
			`"minutes" applies to training stages, but "${stage.name}" has type "${stage.type}". Remove it.`,
		);
	}
	if (stage.from !== undefined && stage.model !== undefined) {
		report(['stages', i, 'model'], 'Both "from" and "model" specify where the stage starts. Remove one of them.');
	}
	for (const { key, index, stage: name } of inputsOf(stage)) {
		const path: PathFault['path'] = index === undefined ? ['stages', i, key] : ['stages', i, key, index];
		const other = recipe.stages.find((one) => one.name === name);
		if (other === undefined) {
			const rounds = recipe.stages.filter(({ round }) => round?.of === name && round.number > 0);
			const near = rounds.at(-1)?.name ?? suggest(name, names);
			const advice = near === null ? `the stages are ${names.join(', ')}` : `did you mean "${near}"?`;
			report(
				path,
				`"${key}" references the stage "${name.slice(0, 80)}", which does not exist: ${advice}${near ? '' : '.'}`,
			);
			continue;
		}
		if (name === stage.name) {
			report(path, `"${key}" in the stage "${name}" references the stage itself. Choose a different stage.`);
			continue;
		}
		const fault = inputFault(key, other);
		if (fault !== null) report(path, fault);
	}
}

/** Returns the reason a stage cannot provide the requested input, or null if it can. */
function inputFault(key: StageInput['key'], other: NamedStage): string | null {
	const what = `"${key}" references the stage "${other.name}"`;
	if (key === 'skipIf') {
		if (other.type === 'evaluate' || makesCheckpoint(other.type)) return null;
		return `${what}, which does not measure held-out accuracy. Choose a stage that trains or evaluates.`;
	}
	if (key === 'rewards') {
		if (other.type === 'reward-model') return null;
		return `${what}, which has type "${other.type}" and does not train a reward model. Choose a stage of type "reward-model".`;
	}
	const kind = key === 'from' ? 'checkpoint' : takenBy(key);
	if (kind === 'checkpoint') {
		if (makesCheckpoint(other.type)) return null;
		return `${what}, which has type "${other.type}" and does not train a model. Choose a stage that trains.`;
	}
	const made = dataOf(other);
	if (made.includes(kind)) return null;
	if (made.length === 0) {
		return `${what}, which has type "${other.type}" and produces no data. Choose a search or rejection-sampling stage.`;
	}
	const advice =
		other.type === 'search'
			? `add "${kind}" to its "export"`
			: kind === 'pairs'
				? 'set its "solution_pairs" to true'
				: 'choose a different stage';
	return `${what}, which produces ${made.join(' and ')}, not ${kind}: ${advice}.`;
}

/** Returns the types of data that a stage produces. */
export function dataOf(stage: PipelineStage): readonly DataKind[] {
	if (stage.type === 'search') return (stage as unknown as SearchStage).export ?? ['completions'];
	if (stage.type !== 'rejection-sampling') return [];
	return (stage as unknown as RejectionStage).solution_pairs === true ? ['completions', 'pairs'] : ['completions'];
}

function checkCycle(recipe: PipelineRecipe, report: Report): void {
	const ordered = orderStages(recipe.stages);
	if (ordered.ok) return;
	const [first] = ordered.cycle;
	const i = recipe.stages.findIndex(({ name }) => name === first);
	const path = [...ordered.cycle, first].join(' -> ');
	report(['stages', i, 'name'], `The stages depend on each other in a cycle (${path}). Remove one of these inputs.`);
}

function checkStage(recipe: PipelineRecipe, stage: NamedStage, i: number, report: Report): void {
	const own = isRunnerStage(stage.type);
	if (own) checkRunnerStage(recipe, stage, i, report);
	const origin = originOf(recipe, stage);
	for (const { path, message } of checkRecipe(withOrigin(recipe, stage))) {
		const [head, ...rest] = path;
		if (head === 'model')
			report(origin.model === undefined ? path : ['stages', recipe.stages.indexOf(origin), ...path], message);
		else if (head === 'stages') report(['stages', i, ...rest.slice(1)], message);
		// Problems with keys that a stage overrides are reported at the stage. The stage name is checked separately.
		else if (head !== 'name' && stage[head as string] !== undefined) report(['stages', i, ...path], message);
		else report(path, message);
	}
}

function checkRunnerStage(recipe: PipelineRecipe, stage: NamedStage, i: number, report: Report): void {
	const start = startOf(recipe, stage, new Set());
	if ('model' in start && !('path' in start.model)) {
		report(['stages', i], `The stage "${stage.name}" needs a policy. Add "from" with a training stage, or "model".`);
	}
	if (stage.type === 'search') {
		const { split } = stage as unknown as SearchStage;
		if (split !== undefined) attempt(report, ['stages', i, 'split'], () => stepRuleOf(split as StepSplit));
		return;
	}
	const { category } = stage as unknown as EvaluateStage;
	const dataset = stage.dataset ?? recipe.dataset;
	if (category === undefined || !('task' in dataset)) return;
	// Errors in the dataset itself are reported separately.
	const task = attempt(
		() => undefined,
		['dataset'],
		() => createTask(dataset),
	);
	if (task === null) return;
	const columns = Object.keys(task.sample(Random.of('columns')).row);
	if (columns.includes(category)) return;
	report(
		['stages', i, 'category'],
		`"category" is "${category}", which is not a column in problems from the task "${dataset.task}". Choose one of ${columns.join(', ')}, or remove it.`,
	);
}

/** Removes duplicates. Needed because errors in the recipe as a whole are found once per stage. */
function distinct(faults: readonly PathFault[]): PathFault[] {
	return [...new Map(faults.map((fault) => [JSON.stringify([fault.path, fault.message]), fault])).values()];
}
