import { formatCounted, formatDuration } from '../../base/format.ts';
import { elapsedSeconds } from '../../protocol/runElapsed.ts';
import { recipeDiff } from '../comparison/recipeDiff.ts';
import { runSections } from './composeReport.ts';
import { intervalText, timeText } from './numberText.ts';
import type { ReportBlock, ReportDocument, ReportTable } from './reportDocument.ts';
import type { ReportedRun } from './reportedRun.ts';
import { boughtTable, stageRows } from './stageSections.ts';

/** Maximum number of recipe keys shown. */
const maxKeys = 200;

/** Creates a report for several runs: results side by side, recipe differences, then each run. */
export function runsReport(named: readonly ReportedRun[], now: number): ReportDocument {
	const runs = withDistinctTitles(named);
	const title = runs.length === 2 ? runs.map((run) => run.title).join(' and ') : formatCounted(runs.length, 'run');
	const bought = boughtTable(stageRows(runs));
	const blocks: ReportBlock[] = [runsTable(runs), ...(bought === null ? [] : [bought]), ...recipeBlocks(runs)];
	return {
		title,
		subtitle: `Report on ${formatCounted(runs.length, 'training run')}, generated ${timeText(now)} by Reasoning Lab.`,
		sections: [
			{ title: 'Side by side', blocks },
			...runs.map((run) => ({ title: run.title, blocks: [], sections: runSections(run) })),
		],
	};
}

function withDistinctTitles(runs: readonly ReportedRun[]): ReportedRun[] {
	const times = new Map<string, number>();
	return runs.map((run) => {
		const same = runs.filter(({ title }) => title === run.title);
		if (same.length === 1) return run;
		const title = new Set(same.map(({ id }) => id)).size === same.length ? `${run.title}, ${run.id}` : run.title;
		const time = (times.get(title) ?? 0) + 1;
		times.set(title, time);
		return { ...run, title: title === run.title ? `${title} (${time})` : title };
	});
}

function runsTable(runs: readonly ReportedRun[]): ReportTable {
	return {
		kind: 'table',
		caption: 'Runs',
		columns: [
			{ title: 'run' },
			{ title: 'engine' },
			{ title: 'status' },
			{ title: 'started' },
			{ title: 'duration', numbers: true },
			{ title: 'steps', numbers: true },
			{ title: 'held-out accuracy after', numbers: true },
		],
		rows: runs.map(({ title, engine, status, created, updated, foreign, step, totalSteps, stages }) => {
			const elapsed = elapsedSeconds({ created, updated, live: false, foreign }, updated);
			return [
				title,
				engine,
				status,
				elapsed === null ? '–' : timeText(created),
				elapsed === null ? '–' : formatDuration(elapsed),
				totalSteps === null ? String(step) : `${step} / ${totalSteps}`,
				intervalText(stages.findLast(({ after }) => after)?.after),
			];
		}),
	};
}

function recipeBlocks(runs: readonly ReportedRun[]): ReportBlock[] {
	const { changed, same, without, cut } = recipeDiff(runs.map(({ recipe }) => recipe));
	const none = without.map((i) => runs[i]?.title ?? '');
	const words = [
		...(none.length === 0 ? [] : [`Runs without a recipe: ${none.join(', ')}.`]),
		...(runs.length - none.length < 2
			? []
			: [`${formatCounted(same, 'recipe key is', 'recipe keys are')} the same in all runs.`]),
		...(cut + Math.max(0, changed.length - maxKeys) === 0 ? [] : ['Not all differing keys are shown.']),
	];
	if (runs.length - none.length < 2 || changed.length === 0) return [{ kind: 'paragraph', text: words.join(' ') }];
	return [
		{
			kind: 'table',
			caption: 'Recipe differences',
			columns: [{ title: 'key' }, ...runs.map(({ title }) => ({ title }))],
			rows: changed.slice(0, maxKeys).map(({ key, values }) => [key, ...values.map((value) => value ?? '–')]),
			note: words.join(' '),
		},
	];
}
