import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { estimateAccuracy } from '../core/evaluation/meanInterval.ts';
import type { ProblemSample } from '../core/evaluation/pairProblems.ts';
import { problemKey } from '../core/evaluation/problemKey.ts';
import { correctness } from '../core/reward/correctness.ts';
import type { HeldOut } from '../protocol/runComparisonMessages.ts';
import type { RunContent } from './runContent.ts';

/** Maximum number of steps to aggregate, latest first, for a run that has evaluation rollouts but no evaluations. */
const countedSteps = 5;
/** Maximum number of samples read per evaluation. */
const maxSamples = 50_000;
/** Number of samples processed between yields to other tasks. */
const atOnce = 200;
/** Display name for evaluation rollouts, which have no name in any format. */
const rolloutsName = 'evaluation rollouts';

/**
 * Returns a run's held-out results by step: its evaluations or, if there are none, results aggregated from its
 * evaluation rollouts.
 */
export async function heldOutOf(content: RunContent, signal?: AbortSignalLike): Promise<HeldOut[]> {
	const heldOut = (await content.evaluations()).map(
		({ name, step, problems, samples, accuracy, low, high }): HeldOut => ({
			...{ name, step, problems, samples, accuracy, low, high },
			source: 'evaluation',
		}),
	);
	if (heldOut.length > 0) return heldOut.toSorted((a, b) => a.step - b.step || a.name.localeCompare(b.name));
	const counted: HeldOut[] = [];
	for (const step of (await content.steps('validation')).slice(-countedSteps)) {
		const byProblem = new Map<string, boolean[]>();
		let samples = 0;
		for await (const { problem, correct } of rolloutSamples(content, step, signal)) {
			const list = byProblem.get(problem);
			if (list) list.push(correct);
			else byProblem.set(problem, [correct]);
			samples++;
		}
		if (byProblem.size === 0) continue;
		const { accuracy, low, high } = estimateAccuracy([...byProblem.values()]);
		const problems = byProblem.size;
		counted.push({
			...{ name: rolloutsName, step, problems, samples: samples / problems, accuracy, low, high },
			source: 'rollouts',
		});
	}
	return counted;
}

export interface HeldOutPlace {
	readonly name: string;
	readonly step: number;
	readonly source: HeldOut['source'];
}

/** Returns the samples of an evaluation, grouped by problem. Fails with `missing` and the reason if there are none. */
export async function samplesOf(
	content: RunContent,
	{ name, step, source }: HeldOutPlace,
	signal?: AbortSignalLike,
): Promise<ProblemSample[]> {
	const samples: ProblemSample[] = [];
	if (source === 'rollouts') {
		for await (const sample of rolloutSamples(content, step, signal)) samples.push(sample);
	} else {
		const lines = await content.evaluationLines(step, name);
		for (const [i, { prompt, correct }] of lines.slice(0, maxSamples).entries()) {
			if (i % atOnce === atOnce - 1) await new Promise((resolve) => setImmediate(resolve));
			checkAborted(signal);
			samples.push({ problem: problemKey(prompt), correct });
		}
	}
	if (samples.length > 0) return samples;
	throw new Failure(
		'missing',
		`Per-problem results are unavailable because the samples of ${name} at step ${step} were not kept.`,
	);
}

/** Yields evaluation rollouts scored by a reward. */
async function* rolloutSamples(
	content: RunContent,
	step: number,
	signal?: AbortSignalLike,
): AsyncGenerator<ProblemSample> {
	const opened = await content.open(step, 'validation');
	let taken = 0;
	try {
		for await (const { rollout } of opened.rollouts(signal)) {
			if (rollout === null) continue;
			const correct = correctness(rollout.rewards);
			if (correct === null) continue;
			if (++taken > maxSamples) return;
			yield { problem: problemKey(rollout.prompt), correct };
		}
	} finally {
		await opened.close();
	}
}
