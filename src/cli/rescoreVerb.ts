import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import { openRewardHosts } from '../rewards/openRewardHosts.ts';
import { type RescoreDifference, type Rescoring, rescoreRun } from '../rewards/rescoreRun.ts';
import { hashRewards } from '../runs/rewardCopies.ts';
import { runFiles } from '../runs/runFiles.ts';
import { readResolvedRecipe } from '../runs/runReader.ts';
import { RunRegistry } from '../runs/runRegistry.ts';
import { printable } from './cliOutput.ts';
import { findRun } from './findRun.ts';
import { onInterrupt } from './interrupts.ts';
import { parseArguments } from './parseArguments.ts';
import { formatNumber } from './textForms.ts';
import type { Verb } from './verb.ts';

export const rescoreVerb: Verb = {
	name: 'rescore',
	usage: '<run>',
	summary: "Score a run's recorded rollouts again with its own copies of the rewards; exit 1 when a value differs.",
	options: [
		['--steps A-B', 'Only rollouts of these steps.'],
		['--run-code', 'Run the reward files of a run that you did not start on this machine, and ask its servers.'],
	],
	async run({ args, output }) {
		const { values, positionals } = parseArguments(
			'rescore',
			args,
			{ steps: { type: 'string' }, 'run-code': { type: 'boolean' } },
			{ names: ['a run'], least: 1, most: 1 },
		);
		const steps = parseSteps(values.steps);
		const run = await findRun(positionals[0] as string);
		if (!values['run-code']) await requireOwnCode(run);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const hosts = await openRewardHosts();
		try {
			const result = await rescoreRun(run, {
				hosts,
				signal: interrupt.signal,
				...(steps === undefined ? {} : { steps }),
			});
			output.object(result);
			for (const line of reportOf(result)) output.line(printable(line));
			return result.equal ? 0 : 1;
		} finally {
			hosts.dispose();
			release();
		}
	},
};

/** Reward files are programs, and a run may come from elsewhere with its own: they are not run unasked. */
async function requireOwnCode(run: string): Promise<void> {
	const value = await readResolvedRecipe(run);
	const { rewards } = decodeResolvedRecipe(value, join(run, runFiles.recipe));
	const reaching = rewards.flatMap((reward) =>
		'file' in reward ? [reward.file] : 'url' in reward && typeof reward.url === 'string' ? [reward.url] : [],
	);
	if (reaching.length === 0 || (await new RunRegistry().startedRewards(run)) === hashRewards(value)) return;
	throw new Failure(
		'denied',
		`${run} was not started by you on this machine, or its rewards were changed since. Scoring it again would use ${reaching.join(', ')}.`,
		'Read them, then add --run-code.',
	);
}

/** `3-7` or `3`. */
export function parseSteps(text: string | undefined): { first: number; last: number } | undefined {
	if (text === undefined) return undefined;
	const match = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text);
	const first = Number(match?.[1]);
	const last = Number(match?.[2] ?? match?.[1]);
	if (match && first <= last) return { first, last };
	throw new Failure('invalid', `--steps is "${text}", which is no range of steps.`, 'Write it like --steps 10-20.');
}

const valueText = (value: RescoreDifference['recorded']) =>
	value === undefined ? 'nothing' : value === 'error' ? 'a failure' : value === null ? 'null' : String(value);

function reportOf({ rows, steps, columns, differences, remarks, equal }: Rescoring): string[] {
	const width = Math.max(...columns.map(({ name }) => name.length));
	const told = columns.map(({ name, rows, equal, different, failedThen, failedNow }) => {
		const failures = failedThen + failedNow === 0 ? '' : `  (failed on ${failedThen} then, ${failedNow} now)`;
		const share = rows === 0 ? '-' : `${formatNumber((100 * equal) / rows)}%`;
		return `${name.padEnd(width)}  ${share} equal, ${different} different${failures}`;
	});
	const examples = differences.map(
		({ step, group, index, reward, recorded, now, error }) =>
			`step ${step}, group ${group}, completion ${index}: ${reward} was ${valueText(recorded)}, is ${valueText(now)}${error ? ` (${error})` : ''}`,
	);
	const more = columns.reduce((sum, { different }) => sum + different, 0) - differences.length;
	return [
		`${rows} rollouts of ${steps.length} generation batches`,
		...told,
		...(examples.length === 0 ? [] : ['', ...examples]),
		...(more > 0 ? [`and ${more} more`] : []),
		...remarks,
		...(equal ? ['Every value is the one that the run recorded.'] : []),
	];
}
