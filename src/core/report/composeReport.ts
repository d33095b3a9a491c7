import { formatCounted, formatDuration, formatNumber } from '../../base/format.ts';
import { elapsedSeconds } from '../../protocol/runElapsed.ts';
import type { Verdict } from '../diagnosis/verdict.ts';
import { canonicalJson } from '../pipeline/canonicalJson.ts';
import { evaluationSection, evaluationsSection } from './evaluationSections.ts';
import { intervalText, shareText, timeText } from './numberText.ts';
import { claimsTable, comparedClaims, measuredTable, seedText } from './pipelineSections.ts';
import { recipeChoices } from './recipeChoices.ts';
import {
	cutText,
	type ReportBlock,
	type ReportDocument,
	type ReportSection,
	type ReportTable,
	type ReportText,
} from './reportDocument.ts';
import type { ReportedPipeline, ReportedPipelineStage } from './reportedPipeline.ts';
import type { ReportedRollout, ReportedRun, ReportedSearch } from './reportedRun.ts';
import { roundsSection } from './roundsSection.ts';
import { siblingsTables } from './siblingsTable.ts';
import { boughtTable, heldOutChart, stageRows, stageSection } from './stageSections.ts';

/** Maximum text lengths in a report, in characters. */
const limits = {
	prompt: 4000,
	think: 8000,
	answer: 4000,
	recipe: 60_000,
	step: 600,
	choices: 200,
	alerts: 50,
} as const;

/**
 * Creates the report for a single run.
 * @param now creation time, in seconds since the epoch
 */
export function runReport(run: ReportedRun, now: number): ReportDocument {
	return {
		title: run.title,
		subtitle: `Training run report, generated ${timeText(now)} by Reasoning Lab.`,
		sections: runSections(run),
	};
}

/** Creates a pipeline report: the gain from each stage, a comparison of all evaluations, then each run. */
export function pipelineReport(pipeline: ReportedPipeline, now: number): ReportDocument {
	const { title, stages, recipe, gaps } = pipeline;
	const runs = stages.flatMap(({ run }) => (run === null ? [] : [run]));
	const bought = boughtTable(stageRows(runs));
	const evaluations = stages.flatMap(({ name, run, evaluation }) => [
		// Evaluations are named after checkpoints, so different runs can use the same names.
		...(run === null ? [] : run.evaluations.map((one) => ({ ...one, name: `${name}: ${one.name}` }))),
		...(evaluation === null ? [] : [{ ...evaluation, name }]),
	]);
	const compared = evaluationsSection(evaluations);
	const measured = measuredTable([pipeline]);
	const claims = claimsTable(comparedClaims([pipeline]));
	const siblings = siblingsTables([pipeline]);
	const own = stages.flatMap(({ evaluation, name, round }) =>
		evaluation === null ? [] : [{ ...evaluation, name, round }],
	);
	const rounds = roundsSection(own);
	return {
		title,
		subtitle: `Pipeline report, generated ${timeText(now)} by Reasoning Lab.`,
		sections: [
			{
				title: 'Overview',
				blocks: [
					{ kind: 'facts', caption: 'Pipeline', rows: pipelineRows(pipeline) },
					stagesTable(stages),
					...(bought === null ? [] : [bought]),
				],
			},
			...(rounds === null ? [] : [rounds]),
			...(measured === null && claims === null && siblings.length === 0
				? []
				: [boughtSection([...siblings, measured, claims])]),
			// Evaluations within runs are shown in full along with their run.
			...(compared === null
				? []
				: [{ title: 'Evaluations', blocks: compared.blocks, sections: own.map(evaluationSection) }]),
			...runs.map((run) => ({ title: run.title, blocks: [], sections: runSections(run) })),
			...(recipe === undefined ? [] : [{ title: 'Pipeline recipe', blocks: [recipeText(recipe)] }]),
			...(gaps.length === 0 ? [] : [{ title: 'Unreadable files', blocks: [{ kind: 'list', items: gaps } as const] }]),
		],
	};
}

/**
 * Creates a report for several pipelines with the same recipe: the gain from each stage across all pipelines, then a
 * short summary of each one.
 */
export function pipelinesReport(pipelines: readonly ReportedPipeline[], now: number): ReportDocument {
	const [first] = pipelines;
	const recipes = new Set(pipelines.map(({ recipe }) => withoutSeed(recipe)));
	const gaps = pipelines.flatMap((pipeline) => pipeline.gaps.map((gap) => `${pipeline.id}: ${gap}`));
	return {
		title: first?.title ?? 'pipelines',
		subtitle: `Report on ${formatCounted(pipelines.length, 'pipeline')}, generated ${timeText(now)} by Reasoning Lab.`,
		sections: [
			{
				title: 'Overview',
				blocks: [
					pipelinesTable(pipelines),
					...(recipes.size < 2
						? []
						: [{ kind: 'paragraph', text: 'The recipes differ in more than just the seed.' } as const]),
				],
			},
			boughtSection([...siblingsTables(pipelines), measuredTable(pipelines), claimsTable(comparedClaims(pipelines))]),
			...pipelines.map((pipeline) => {
				const { stages, title } = pipeline;
				const own = stages.flatMap(({ evaluation, name }) => (evaluation === null ? [] : [{ ...evaluation, name }]));
				const compared = evaluationsSection(own);
				return {
					title: `${title}, ${seedText(pipeline)}`,
					blocks: [
						{ kind: 'facts', caption: 'Pipeline', rows: pipelineRows(pipeline) } as const,
						stagesTable(stages),
						...(compared?.blocks ?? []),
					],
				};
			}),
			...(first?.recipe === undefined
				? []
				: [{ title: 'Recipe', blocks: [recipeText(first.recipe, `Recipe for ${seedText(first)}`)] }]),
			...(gaps.length === 0 ? [] : [{ title: 'Unreadable files', blocks: [{ kind: 'list', items: gaps } as const] }]),
		],
	};
}

function boughtSection(tables: readonly (ReportTable | null)[]): ReportSection {
	const blocks = tables.filter((table) => table !== null);
	const none = {
		kind: 'paragraph',
		text: 'No stage evaluates another stage, so there is nothing to compare.',
	} as const;
	return { title: 'Gain by stage', blocks: blocks.length === 0 ? [none] : blocks };
}

function withoutSeed(recipe: unknown): string {
	if (typeof recipe !== 'object' || recipe === null) return '';
	const { seed: _, name: __, ...rest } = recipe as Record<string, unknown>;
	return canonicalJson(rest);
}

function pipelinesTable(pipelines: readonly ReportedPipeline[]): ReportTable {
	return {
		kind: 'table',
		caption: 'Pipelines',
		columns: [
			{ title: 'pipeline' },
			{ title: 'seed', numbers: true },
			{ title: 'status' },
			{ title: 'started' },
			{ title: 'total stage time', numbers: true },
		],
		rows: pipelines.map((pipeline) => [
			pipeline.id,
			seedText(pipeline).replace('seed ', ''),
			pipeline.status,
			timeText(pipeline.created),
			formatDuration(pipeline.stages.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0)),
		]),
	};
}

function pipelineRows({
	id,
	status,
	error,
	created,
	updated,
	stages,
}: ReportedPipeline): (readonly [string, string])[] {
	const finished = stages.filter((stage) => stage.status === 'finished').length;
	return [
		['pipeline', id],
		['status', error === null ? status : `${status}: ${error}`],
		['started', timeText(created)],
		['last update', `${timeText(updated)}, after ${formatDuration(updated - created)}`],
		['stages', `${finished} of ${stages.length} finished`],
	];
}

function stagesTable(stages: readonly ReportedPipelineStage[]): ReportTable {
	return {
		kind: 'table',
		caption: 'Stages in order',
		columns: [
			{ title: 'stage' },
			{ title: 'type' },
			{ title: 'status' },
			{ title: 'depends on' },
			{ title: 'accuracy', numbers: true },
			{ title: 'time', numbers: true },
			{ title: 'outputs' },
		],
		rows: stages.map(({ name, type, status, detail, after, accuracy, seconds, outputs }) => [
			...[name, type, detail === null ? status : `${status}: ${detail}`, after.join(', ') || '–'],
			...[shareText(accuracy), seconds === null ? '–' : formatDuration(seconds), outputs.join(', ') || '–'],
		]),
	};
}

/** Returns the sections for a single run. */
export function runSections(run: ReportedRun): ReportSection[] {
	const chart = heldOutChart(run);
	const bought = boughtTable(stageRows([run]));
	const evaluations = evaluationsSection(run.evaluations);
	const overview: ReportBlock[] = [{ kind: 'facts', caption: 'Run', rows: overviewRows(run) }];
	if (run.note !== null) overview.push({ kind: 'text', title: 'Note', text: run.note });
	if (bought !== null) overview.push(bought);
	if (chart !== null) overview.push({ kind: 'charts', charts: [chart] });
	return [
		{ title: 'Overview', blocks: overview },
		...run.stages.map((stage) => stageSection(stage, run.stages.length)),
		...(evaluations === null ? [] : [evaluations]),
		...(run.rollouts.length === 0 ? [] : [rolloutsSection(run.rollouts)]),
		...(run.searches.length === 0 ? [] : [searchesSection(run.searches)]),
		diagnosisSection(run.diagnosis),
		...(run.recipe === undefined ? [] : [recipeSection(run.recipe)]),
		{
			title: 'Environment',
			blocks: [{ kind: 'facts', caption: 'Software and hardware', rows: run.environment }],
		},
		...(run.gaps.length === 0
			? []
			: [{ title: 'Unreadable files', blocks: [{ kind: 'list', items: run.gaps } as const] }]),
	];
}

function overviewRows(run: ReportedRun): (readonly [string, string])[] {
	const { id, engine, status, error, created, updated, step, totalSteps, device, parent, tags, stages } = run;
	const elapsed = elapsedSeconds({ created, updated, live: false, foreign: run.foreign }, updated);
	const [first, last] = [stages.find(({ before }) => before)?.before, stages.findLast(({ after }) => after)?.after];
	return [
		['run', id],
		['engine', engine],
		['status', error === null ? status : `${status}: ${error}`],
		['started', elapsed === null ? 'not recorded' : timeText(created)],
		['last update', elapsed === null ? timeText(updated) : `${timeText(updated)}, after ${formatDuration(elapsed)}`],
		['steps', step === null ? 'not recorded' : totalSteps === null ? String(step) : `${step} / ${totalSteps}`],
		...(device === '' ? [] : [['device', device] as const]),
		['continued from', parent === null ? 'none' : `${parent.run}, ${parent.checkpoint}`],
		...(tags.length === 0 ? [] : [['tags', tags.join(', ')] as const]),
		...(first === null || first === undefined ? [] : [['held-out accuracy before', intervalText(first)] as const]),
		...(last === null || last === undefined ? [] : [['held-out accuracy after', intervalText(last)] as const]),
	];
}

function rolloutsSection(rollouts: readonly ReportedRollout[]): ReportSection {
	return {
		title: 'Rollouts',
		blocks: [],
		sections: rollouts.map((rollout) => {
			const { title, step, prompt, think, answer, completion, gold, reward, rewards, truncated } = rollout;
			const apart = think !== null || answer !== null;
			return {
				title: `${title}: reward ${formatNumber(reward)}`,
				blocks: [
					{
						kind: 'facts',
						caption: 'Rollout',
						rows: [
							...(step === null ? [] : [['step', String(step)] as const]),
							...rewards.map(([name, value]) => [name, formatNumber(value)] as const),
							...(gold === null ? [] : [['gold answer', gold.slice(0, limits.step)] as const]),
							...(truncated === false
								? []
								: [['truncated', truncated ? 'yes, at the length limit' : 'not recorded'] as const]),
						],
					},
					cutText('Prompt', prompt, limits.prompt),
					...(think === null ? [] : [cutText('Thinking', think, limits.think)]),
					...(answer === null ? [] : [cutText('Answer', answer, limits.answer)]),
					...(apart ? [] : [cutText('Completion', completion, limits.think)]),
				],
			};
		}),
	};
}

function searchesSection(searches: readonly ReportedSearch[]): ReportSection {
	return {
		title: 'Searches',
		blocks: [],
		sections: searches.map(
			({ name, strategy, policy, problem, nodes, depth, stop, answer, correct, tokens, best }) => ({
				title: name,
				blocks: [
					{
						kind: 'facts',
						caption: 'Search',
						rows: [
							['strategy', strategy],
							['policy', policy],
							['tree', `${formatCounted(nodes, 'node')}, depth ${depth}`],
							['stop reason', stop ?? 'none (running or interrupted)'],
							[
								'answer',
								answer === null
									? 'none'
									: `${answer.slice(0, limits.step)}${correct === null ? '' : correct ? ' (correct)' : ' (incorrect)'}`,
							],
							...(tokens === null ? [] : [['tokens', formatNumber(tokens)] as const]),
							...(best === null ? [] : [['best path value', formatNumber(best.value)] as const]),
						],
					},
					cutText('Problem', problem, limits.prompt),
					...(best === null
						? []
						: [
								cutText(
									'Best path',
									best.texts.map((text, i) => `${i + 1}. ${text.slice(0, limits.step)}`).join('\n'),
									limits.think,
								),
							]),
				],
			}),
		),
	};
}

function diagnosisSection(diagnosis: Verdict | null): ReportSection {
	const text = diagnosis?.summary ?? 'The run could not be diagnosed.';
	const alerts = diagnosis?.alerts ?? [];
	if (alerts.length === 0) return { title: 'Diagnosis', blocks: [{ kind: 'paragraph', text }] };
	return {
		title: 'Diagnosis',
		blocks: [
			{ kind: 'paragraph', text },
			{
				kind: 'table',
				caption: 'Alerts, most likely cause first (docs/diagnosis.md)',
				columns: [
					{ title: 'rule' },
					{ title: 'level' },
					{ title: 'steps', numbers: true },
					{ title: 'finding' },
					{ title: 'action' },
				],
				rows: alerts
					.slice(0, limits.alerts)
					.map(({ rule, level, step, lastStep, message, action }) => [
						rule,
						level,
						step === lastStep ? String(step) : `${step} to ${lastStep}`,
						message,
						action ?? '–',
					]),
				...(alerts.length > limits.alerts ? { note: `And ${alerts.length - limits.alerts} more.` } : {}),
			},
		],
	};
}

function recipeSection(recipe: unknown): ReportSection {
	const choices = recipeChoices(recipe);
	const shown = choices.slice(0, limits.choices);
	const blocks: ReportBlock[] = [];
	if (shown.length > 0) {
		blocks.push({
			kind: 'table',
			caption: 'Non-default settings',
			columns: [{ title: 'key' }, { title: 'value' }, { title: 'default' }],
			rows: shown.map(({ key, value, preset }) => [key, value.slice(0, limits.step), preset]),
			...(choices.length > shown.length ? { note: `And ${choices.length - shown.length} more.` } : {}),
		});
	} else blocks.push({ kind: 'paragraph', text: 'All keys have their default values.' });
	blocks.push(recipeText(recipe));
	return { title: 'Recipe', blocks };
}

function recipeText(recipe: unknown, title = 'Resolved recipe at the start of the run'): ReportText {
	return cutText(title, JSON.stringify(recipe, null, 2) ?? '', limits.recipe, true);
}
