import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatCount, formatCounted } from '../../base/format.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import type { RunContent } from '../../runs/runContent.ts';
import { pageOf, quote, quoteAll } from '../answer.ts';
import { evidenceAddress } from '../evidenceAddress.ts';
import * as input from '../inputs.ts';
import { readRunRecipe, recipeAddress, recipeLine } from '../recipeLines.ts';
import { defineTool } from '../tool.ts';

export const listRuns = defineTool({
	name: 'list_runs',
	title: 'List runs',
	description:
		'List training runs in the server folders: name, trainer, status, step, stage, start time. Runs that the user has opened in other folders are listed only if all is set, but can always be read by name.',
	input: v.object({
		all: v.optional(
			input.described(v.boolean(), 'Also list runs outside the server folders that the user has opened.'),
			false,
		),
		limit: input.limit(50),
		cursor: input.cursor,
	}),
	async run({ all, limit, cursor }, { runs }) {
		const known = await runs.list();
		// A server without folders only has runs that the user has opened.
		const listed = all || runs.folders.length === 0 ? known : known.filter(({ within }) => within);
		const page = pageOf(listed, cursor, limit);
		const items = await Promise.all(
			page.items.map(async ({ name, folder }) => {
				try {
					const { content } = await runs.open(name);
					return { run: name, folder, address: formatAddress({ kind: 'run', run: name }), ...(await stateOf(content)) };
				} catch (error) {
					return { run: name, folder, status: 'unreadable', problem: Failure.from(error).toString() };
				}
			}),
		);
		return { ...page, runs_in_other_folders: known.filter(({ within }) => !within).length, items };
	},
});

async function stateOf(content: RunContent): Promise<object> {
	const record = await content.record();
	const { status, step, totalSteps, stage, foreign, engine, created, error } = record;
	return {
		trainer: foreign?.title ?? `Reasoning Lab (${engine})`,
		status,
		step,
		total_steps: totalSteps,
		stage: stage === null ? null : quoteAll(stage),
		created: Number.isFinite(created) ? new Date(created * 1000).toISOString() : null,
		...(error === undefined ? {} : { error: quote(error.message) }),
	};
}

export const describeRun = defineTool({
	name: 'describe_run',
	title: 'Describe a run',
	description:
		'Summarize a run: status, steps with rollouts, metric names, evaluations with accuracy and confidence intervals, and files that could not be read.',
	input: v.object({ run: input.run }),
	async run({ run: named }, { runs, signal }) {
		const { run, content } = await runs.open(named);
		const [steps, validation, evaluations] = await Promise.all([
			content.steps('train'),
			content.steps('validation'),
			content.evaluations().catch(() => []),
		]);
		const names = new Set<string>();
		let rows = 0;
		for await (const lines of content.metrics(signal)) {
			rows += lines.length;
			for (const { values } of lines) for (const name in values) if (names.size < 400) names.add(name);
		}
		const record = await content.record();
		return {
			run: run.name,
			folder: run.folder,
			address: formatAddress({ kind: 'run', run: run.name }),
			...(await stateOf(content)),
			notes: quoteAll(record.foreign?.notes ?? []),
			rollout_steps: content.hasSteps ? rangeOf(steps) : null,
			validation_steps: rangeOf(validation),
			metric_rows: rows,
			metrics: quoteAll([...names]),
			evaluations: evaluations.slice(-50),
			unreadable: quoteAll(content.faults.slice(0, 20)),
		};
	},
});

const rangeOf = (steps: readonly number[]) =>
	steps.length === 0 ? null : { count: steps.length, first: steps[0], last: steps.at(-1) };

export const diagnose = defineTool({
	name: 'diagnose_run',
	title: 'Diagnose a run',
	description:
		'Run rule-based checks for problems in a run: reward hacking, KL or entropy problems, dead groups, truncation, failing rewards, wrong answer keys and more. Each finding includes evidence, the step where it starts, recipe edits, and the recipe line to change. The most likely cause is listed first.',
	input: v.object({ run: input.run }),
	async run({ run: named }, { runs, signal, progress }) {
		const { run, content } = await runs.open(named);
		const onProgress = (done: number, total: number) =>
			progress(done, total, `Checking rollouts (${formatCount(done)} of ${formatCounted(total, 'step')})`);
		const { kind, summary, alerts } = await runs.verdicts.of(content, { signal, onProgress, cache: runs.facts });
		const recipe = await readRunRecipe(run.folder).catch(() => null);
		const lineOf = (path: readonly (string | number)[]) => {
			const line = recipe === null ? null : recipeLine(recipe, path);
			return line === null ? {} : { recipe_line: { ...line, address: recipeAddress(run.name) } };
		};
		return {
			run: run.name,
			result: kind,
			summary,
			findings: alerts.map((alert) => ({
				...alert,
				evidence: alert.evidence.map((place) => ({ ...place, address: evidenceAddress(run.name, place) })),
				address: formatAddress({ kind: 'step', run: run.name, split: 'train', step: alert.step }),
				...(alert.recipe === null ? {} : lineOf(alert.recipe.path)),
			})),
		};
	},
});
