import type { Alert } from '../../protocol/alert.ts';
import { evaluationsSection } from './evaluationSections.ts';
import { countText, durationText, intervalText, numberText, timeText } from './numberText.ts';
import { recipeChoices } from './recipeChoices.ts';
import { cutText, type ReportBlock, type ReportDocument, type ReportSection } from './reportDocument.ts';
import type { ReportedEvaluation, ReportedRollout, ReportedRun, ReportedSearch } from './reportedRun.ts';
import { boughtTable, heldOutChart, stageRows, stageSection } from './stageSections.ts';

/** Texts of a report are as long as this, in characters. */
const most = { prompt: 4000, think: 8000, answer: 4000, recipe: 60_000, step: 600, choices: 200, alerts: 50 } as const;

/** The report of one run. @param now seconds since the epoch, when it was made */
export function runReport(run: ReportedRun, now: number): ReportDocument {
	return {
		title: run.title,
		subtitle: `Report of a training run, made ${timeText(now)} by Reasoning Lab.`,
		sections: runSections(run),
	};
}

export interface ReportedCollection {
	readonly title: string;
	/** What it is: "pipeline". */
	readonly kind: string;
	/** Of the whole: status, lineage. */
	readonly facts: readonly (readonly [name: string, value: string])[];
	/** In the order in which they are told. */
	readonly runs: readonly ReportedRun[];
	/** Stages that have no run, and why, a sentence each. */
	readonly missing: readonly string[];
}

/** The report of several runs that belong together: what each bought, their evaluations beside each other, then each by itself. */
export function collectionReport(
	{ title, kind, facts, runs, missing }: ReportedCollection,
	now: number,
): ReportDocument {
	const bought = boughtTable(stageRows(runs));
	const evaluations = evaluationsOf(runs);
	const blocks: ReportBlock[] = [
		{ kind: 'facts', caption: kind, rows: facts },
		...(missing.length === 0 ? [] : [{ kind: 'list', items: missing } as const]),
		{
			kind: 'table',
			caption: 'Runs in their order',
			columns: [
				{ title: 'run' },
				{ title: 'stages' },
				{ title: 'status' },
				{ title: 'steps', numbers: true },
				{ title: 'continues' },
			],
			rows: runs.map((run) => [
				run.title,
				run.stages.map(({ type }) => type).join(', '),
				run.status,
				String(run.step),
				run.parent === null ? '–' : `${run.parent.run}, ${run.parent.checkpoint}`,
			]),
		},
		...(bought === null ? [] : [bought]),
	];
	const compared = evaluations.length < 2 ? null : evaluationsSection(evaluations, 'Evaluations compared');
	return {
		title,
		subtitle: `Report of a ${kind}, made ${timeText(now)} by Reasoning Lab.`,
		sections: [
			{ title: 'Overview', blocks },
			// Each is told in full with its run.
			...(compared === null ? [] : [{ title: compared.title, blocks: compared.blocks }]),
			...runs.map((run) => ({ title: run.title, blocks: [], sections: runSections(run) })),
		],
	};
}

/** Evaluations of all runs, named by run where several runs have some. */
function evaluationsOf(runs: readonly ReportedRun[]): ReportedEvaluation[] {
	return runs.flatMap(({ title, evaluations }) =>
		evaluations.map((evaluation) => ({ ...evaluation, name: `${title}: ${evaluation.name}` })),
	);
}

function runSections(run: ReportedRun): ReportSection[] {
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
		diagnosisSection(run.alerts),
		...(run.recipe === undefined ? [] : [recipeSection(run.recipe)]),
		{
			title: 'Environment',
			blocks: [{ kind: 'facts', caption: 'What the numbers depend on', rows: run.environment }],
		},
		...(run.gaps.length === 0
			? []
			: [{ title: 'What could not be read', blocks: [{ kind: 'list', items: run.gaps } as const] }]),
	];
}

function overviewRows(run: ReportedRun): (readonly [string, string])[] {
	const { id, engine, status, error, created, updated, step, totalSteps, device, parent, tags, stages } = run;
	const [first, last] = [stages.find(({ before }) => before)?.before, stages.findLast(({ after }) => after)?.after];
	return [
		['run', id],
		['engine', engine],
		['status', error === null ? status : `${status}: ${error}`],
		['began', timeText(created)],
		['last sign of it', `${timeText(updated)}, after ${durationText(updated - created)}`],
		['steps', totalSteps === null ? String(step) : `${step} of at most ${totalSteps}`],
		['device', device],
		['continues', parent === null ? 'no other run' : `${parent.run}, ${parent.checkpoint}`],
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
				title: `${title}: reward ${numberText(reward)}`,
				blocks: [
					{
						kind: 'facts',
						caption: 'Rollout',
						rows: [
							['step', String(step)],
							...rewards.map(([name, value]) => [name, numberText(value)] as const),
							...(gold === null ? [] : [['right answer', gold.slice(0, most.step)] as const]),
							...(truncated ? [['length', 'cut off at the longest length'] as const] : []),
						],
					},
					cutText('Prompt', prompt, most.prompt),
					...(think === null ? [] : [cutText('Thinking', think, most.think)]),
					...(answer === null ? [] : [cutText('Answer', answer, most.answer)]),
					...(apart ? [] : [cutText('Completion', completion, most.think)]),
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
							['tree', `${countText(nodes, 'node')}, depth ${depth}`],
							['ended', stop ?? 'not yet'],
							[
								'answer',
								answer === null
									? 'none'
									: `${answer.slice(0, most.step)}${correct === null ? '' : correct ? ' (right)' : ' (wrong)'}`,
							],
							...(tokens === null ? [] : [['tokens', numberText(tokens)] as const]),
							...(best === null ? [] : [['value of the best path', numberText(best.value)] as const]),
						],
					},
					cutText('Problem', problem, most.prompt),
					...(best === null
						? []
						: [
								cutText(
									'Best path',
									best.texts.map((text, i) => `${i + 1}. ${text.slice(0, most.step)}`).join('\n'),
									most.think,
								),
							]),
				],
			}),
		),
	};
}

const levels: Readonly<Record<Alert['level'], number>> = { error: 0, warning: 1, info: 2 };

function diagnosisSection(alerts: readonly Alert[]): ReportSection {
	if (alerts.length === 0) {
		return { title: 'Diagnosis', blocks: [{ kind: 'paragraph', text: 'No rule found anything that goes wrong.' }] };
	}
	const sorted = [...alerts].sort((a, b) => levels[a.level] - levels[b.level] || a.step - b.step);
	return {
		title: 'Diagnosis',
		blocks: [
			{
				kind: 'table',
				caption: 'What rules found; docs/diagnosis.md says how',
				columns: [
					{ title: 'rule' },
					{ title: 'level' },
					{ title: 'steps', numbers: true },
					{ title: 'what' },
					{ title: 'what to do' },
				],
				rows: sorted
					.slice(0, most.alerts)
					.map(({ rule, level, step, lastStep, message, action }) => [
						rule,
						level,
						step === lastStep ? String(step) : `${step} to ${lastStep}`,
						message,
						action ?? '–',
					]),
				...(alerts.length > most.alerts ? { note: `And ${alerts.length - most.alerts} more.` } : {}),
			},
		],
	};
}

function recipeSection(recipe: unknown): ReportSection {
	const choices = recipeChoices(recipe);
	const shown = choices.slice(0, most.choices);
	const blocks: ReportBlock[] = [];
	if (shown.length > 0) {
		blocks.push({
			kind: 'table',
			caption: 'What differs from the defaults',
			columns: [{ title: 'key' }, { title: 'value' }, { title: 'default' }],
			rows: shown.map(({ key, value, preset }) => [key, value.slice(0, most.step), preset]),
			...(choices.length > shown.length ? { note: `And ${choices.length - shown.length} more.` } : {}),
		});
	} else blocks.push({ kind: 'paragraph', text: 'Every key that has a default has it.' });
	blocks.push(
		cutText(
			'The recipe as it was resolved and frozen at the start',
			JSON.stringify(recipe, null, 2) ?? '',
			most.recipe,
			true,
		),
	);
	return { title: 'Recipe', blocks };
}
