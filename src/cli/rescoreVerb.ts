import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { openRewardHosts } from '../rewards/openRewardHosts.ts';
import { type RescoreDifference, type Rescoring, rescoreRun } from '../rewards/rescoreRun.ts';
import { requireOwnRun } from '../runs/foreignCode.ts';
import { agreement, runCodeOption } from './agreement.ts';
import { printable } from './cliOutput.ts';
import { findRun } from './findRun.ts';
import { onInterrupt } from './interrupts.ts';
import { text } from './options.ts';
import { formatNumber } from './textForms.ts';
import { defineVerb } from './verb.ts';

export const rescoreVerb = defineVerb({
	name: 'rescore',
	group: 'Rewards',
	arguments: [{ name: 'run', phrase: 'a run', type: 'path' }],
	summary:
		"Rescore a run's recorded rollouts with the run's own copies of the rewards. Exits with status 1 if any value differs.",
	options: { steps: text('A-B', 'Only rollouts from these steps.'), ...runCodeOption },
	async run({ values, positionals, output }) {
		const steps = parseSteps(values.steps);
		const run = await findRun(positionals[0] as string);
		await requireOwnRun(run, 'rewards', agreement(output, values['run-code']));
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
});

/** Parses a step range such as `3-7` or `3`. */
export function parseSteps(text: string | undefined): { first: number; last: number } | undefined {
	if (text === undefined) return undefined;
	const match = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text);
	const first = Number(match?.[1]);
	const last = Number(match?.[2] ?? match?.[1]);
	if (match && first <= last) return { first, last };
	throw new Failure('invalid', `--steps value "${text}" is not a valid step range.`, 'Use the format --steps 10-20.');
}

const valueText = (value: RescoreDifference['recorded']) =>
	value === undefined ? 'nothing' : value === 'error' ? 'a failure' : value === null ? 'null' : String(value);

function reportOf({ rows, steps, columns, differences, remarks, equal }: Rescoring): string[] {
	const width = Math.max(...columns.map(({ name }) => name.length));
	const columnRows = columns.map(({ name, rows, equal, different, failedThen, failedNow }) => {
		const failures = failedThen + failedNow === 0 ? '' : `  (failures: ${failedThen} recorded, ${failedNow} now)`;
		const share = rows === 0 ? '-' : `${formatNumber((100 * equal) / rows)}%`;
		return `${name.padEnd(width)}  ${share} equal, ${different} different${failures}`;
	});
	const examples = differences.map(
		({ step, group, index, reward, recorded, now, error }) =>
			`step ${step}, group ${group}, completion ${index}: ${reward} was ${valueText(recorded)}, is now ${valueText(now)}${error ? ` (${error})` : ''}`,
	);
	const more = columns.reduce((sum, { different }) => sum + different, 0) - differences.length;
	return [
		`${formatCounted(rows, 'rollout')} from ${steps.length} generation batches`,
		...columnRows,
		...(examples.length === 0 ? [] : ['', ...examples]),
		...(more > 0 ? [`and ${more} more`] : []),
		...remarks,
		...(equal ? ['All values match the recorded values.'] : []),
	];
}
