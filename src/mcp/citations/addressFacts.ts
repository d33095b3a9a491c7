import { basename } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { DataAddress } from '../../core/address/dataAddress.ts';
import { estimateAccuracy } from '../../core/evaluation/meanInterval.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import { listEvaluations, readQuestions } from '../../runs/evaluationFiles.ts';
import type { RunContent } from '../../runs/runContent.ts';
import { reportFolder } from '../../runs/runReports.ts';
import { readPart } from '../filePart.ts';
import { readColumns } from '../metricColumns.ts';
import { summarize } from '../metricSummary.ts';
import { pairEvaluations } from '../pairedEvaluations.ts';
import type { KnownRun } from '../runs.ts';
import { datasetFacts } from './datasetFacts.ts';
import type { Fact, FactContext } from './fact.ts';

/**
 * Returns the numbers in the data at an address. Values that are not recorded are absent. Fails with the same errors as
 * the tools that read the data, such as `missing` if it does not exist.
 */
export async function addressFacts(address: DataAddress, context: FactContext): Promise<Fact[]> {
	if (address.kind === 'search') return searchFacts(address, context);
	if (address.kind === 'dataset') return datasetFacts(address, context);
	if (address.kind === 'comparison') return comparisonFacts(address, context);
	const { runs, signal } = context;
	const { run, content } = await runs.open(address.run);
	switch (address.kind) {
		case 'run':
			return runFacts(content);
		case 'report':
			await readPart(await reportFolder(content), `${address.name}.md`, address.offset);
			return [];
		case 'file':
			await readPart(run.folder, address.path, address.offset);
			return [];
		case 'metric':
			return metricFacts(content, address, signal);
		case 'evaluation': {
			const { name, step } = address;
			if (step === null) return checkpointFacts(run, name);
			const found = (await content.evaluations()).find((one) => one.name === name && one.step === step);
			if (found === undefined) throw new Failure('missing', `${run.name} has no evaluation ${name} at step ${step}.`);
			return numbersIn(found);
		}
		default:
			return rolloutFacts(content, address, signal);
	}
}

/** Returns the numbers from a paired test, such as `p` and `difference.low`. */
async function comparisonFacts(
	{ other, run, name, step }: Extract<DataAddress, { kind: 'comparison' }>,
	{ runs, signal }: FactContext,
): Promise<Fact[]> {
	const { compared } = await pairEvaluations({ run, name, step }, other, runs, signal);
	if (compared.test === 'none') throw new Failure('invalid', compared.reason);
	return numbersIn(compared);
}

/** Returns the numbers for a checkpoint evaluation, computed from its samples. */
async function checkpointFacts({ name: run, folder }: KnownRun, name: string): Promise<Fact[]> {
	const found = (await listEvaluations(folder)).find(({ path }) => basename(path) === name);
	if (found === undefined) throw new Failure('missing', `${run} has no checkpoint evaluation named ${name}.`);
	const { path, file } = found;
	const questions = [...(await readQuestions(path, file.problems.count)).values()];
	const estimate = estimateAccuracy(questions.map(({ samples }) => samples.map(({ correct }) => correct)));
	const samples = questions.reduce((sum, question) => sum + question.samples.length, 0);
	return numbersIn({ ...estimate, problems: questions.length, samples, samples_per_problem: file.spec.samples });
}

async function runFacts(content: RunContent): Promise<Fact[]> {
	const { step, totalSteps } = await content.record();
	const steps = await content.steps('train');
	return numbersIn({ step, total_steps: totalSteps, rollout_steps: content.hasSteps ? steps.length : null });
}

async function metricFacts(
	content: RunContent,
	{ run, metric, step }: Extract<DataAddress, { kind: 'metric' }>,
	signal: AbortSignal,
): Promise<Fact[]> {
	const range = step === null ? [] : ([step, step] as const);
	const { steps, columns, names } = await readColumns(content, [metric], signal, ...range);
	if (!names.has(metric)) throw new Failure('missing', `${run} has no metric "${metric}".`);
	const values = columns[0] ?? [];
	if (step === null) return numbersIn(summarize(steps, values));
	if (values.length === 0) throw new Failure('missing', `${run} has no metrics at step ${step}.`);
	// A resumed run can have several rows for a step.
	return values.flatMap((value) => (value === null ? [] : [{ name: metric, value }]));
}

type RolloutAddress = Extract<DataAddress, { kind: 'step' | 'group' | 'completion' }>;

async function rolloutFacts(content: RunContent, address: RolloutAddress, signal: AbortSignal): Promise<Fact[]> {
	const { run, split, step } = address;
	const opened = await content.open(step, split);
	const found: { readonly group: number; readonly index: number; readonly line: RolloutLine }[] = [];
	try {
		for await (const { rollout, place } of opened.rollouts(signal)) {
			if (place === null || (address.kind !== 'step' && place.group !== address.group)) continue;
			found.push({ group: place.group, index: place.index, line: rollout });
		}
	} finally {
		await opened.close();
	}
	if (address.kind === 'step') {
		return [
			...groupFacts(found.map(({ line }) => line)),
			{ name: 'groups', value: new Set(found.map(({ group }) => group)).size },
		];
	}
	if (found.length === 0) throw new Failure('missing', `Step ${step} of ${run} has no group ${address.group}.`);
	if (address.kind === 'group') return groupFacts(found.map(({ line }) => line));
	const line = found.find(({ index }) => index === address.completion)?.line;
	if (line === undefined) {
		throw new Failure(
			'missing',
			`Group ${address.group} of step ${step} of ${run} has no completion ${address.completion}.`,
		);
	}
	return completionFacts(line, address.tokens);
}

function groupFacts(lines: readonly RolloutLine[]): Fact[] {
	const rewards = lines.flatMap(({ reward }) => (reward === null ? [] : [reward]));
	const known = lines.flatMap(({ truncated }) => (truncated === null ? [] : [truncated]));
	const mean = (values: readonly number[]) =>
		values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0) / values.length;
	const names = new Set(lines.flatMap((line) => Object.keys(line.rewards)));
	const parts = [...names].map((name) => {
		const values = lines.flatMap(({ rewards }) => (typeof rewards[name] === 'number' ? [rewards[name]] : []));
		return [`mean_rewards.${name}`, mean(values)] as const;
	});
	return numbersIn({
		completions: lines.length,
		mean_reward: mean(rewards),
		min_reward: rewards.length === 0 ? null : rewards.reduce((a, b) => Math.min(a, b)),
		max_reward: rewards.length === 0 ? null : rewards.reduce((a, b) => Math.max(a, b)),
		truncated: known.length === 0 ? null : known.filter((one) => one).length,
		...Object.fromEntries(parts),
	});
}

function completionFacts(line: RolloutLine, range: readonly [number, number] | null): Fact[] {
	const { reward, rewards, advantage, tokens } = line;
	if (range === null) return numbersIn({ reward, advantage, rewards, tokens: tokens?.text.length ?? null });
	if (tokens === undefined) throw new Failure('missing', 'This run does not record tokens.');
	const [first, last] = range;
	if (last >= tokens.text.length) {
		throw new Failure(
			'missing',
			`The completion has only ${tokens.text.length} tokens, so token ${last} does not exist.`,
		);
	}
	const { logprob, oldLogprob, refLogprob, entropy, version } = tokens;
	const series = {
		logprob,
		old_logprob: oldLogprob,
		ref_logprob: refLogprob,
		entropy,
		weights_version: version,
	};
	return Object.entries(series).flatMap(([name, values]) =>
		(values ?? [])
			.slice(first, last + 1)
			.flatMap((value) => (value === null ? [] : [{ name: `tokens.${name}`, value }])),
	);
}

async function searchFacts(
	{ run, search, tree: number, node: id }: Extract<DataAddress, { kind: 'search' }>,
	{ searches }: FactContext,
): Promise<Fact[]> {
	const { tree } = await searches.open(run, search, number);
	if (id === null) return numbersIn({ nodes: tree.nodeCount, value: tree.outcome?.value ?? null });
	const node = tree.node(id);
	if (node === undefined) throw new Failure('missing', `${search} has no node ${id}.`);
	const { depth, visits, score, prior, tokens, logprob, scores } = node;
	return numbersIn({ depth, visits, q: tree.q(id), score, prior, tokens, logprob, scores: Object.fromEntries(scores) });
}

/** Returns the numbers in an object and in its direct children. */
function numbersIn(value: object, prefix = ''): Fact[] {
	return Object.entries(value).flatMap(([key, one]): Fact[] => {
		const name = `${prefix}${key}`;
		if (typeof one === 'number') return Number.isFinite(one) ? [{ name, value: one }] : [];
		const inner = prefix === '' && typeof one === 'object' && one !== null && !Array.isArray(one);
		return inner ? numbersIn(one, `${name}.`) : [];
	});
}
