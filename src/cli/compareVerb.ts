import { basename, dirname, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import type { Comparison } from '../protocol/comparison.ts';
import { stepText } from '../protocol/rolloutLine.ts';
import { type CompareFilesRequest, compareFiles } from '../rewards/compareFiles.ts';
import { compareRewards } from '../rewards/compareRewards.ts';
import { LoadFailure } from '../rewards/loadFailure.ts';
import { openRewardHosts } from '../rewards/openRewardHosts.ts';
import { printable } from './cliOutput.ts';
import { findRun } from './findRun.ts';
import { onInterrupt } from './interrupts.ts';
import { integer, type Options, path, text } from './options.ts';
import { formatNumber } from './textForms.ts';
import { defineVerb } from './verb.ts';

const options = {
	run: path('DIR', 'Run whose recorded rollouts to rescore. Required.'),
	reward: text('NAME', 'Reward to compare (default: the one with the same name as the file, else the first).'),
	revision: text('REV', 'Git revision to compare a single file against (default: HEAD).'),
	weights: text('A=1,B=0.2', 'Compare weights for the recorded rewards. Unlisted rewards keep their recipe weight.'),
	against: text('A=1,B=0.5', "Weights to compare against (default: the recipe's)."),
	steps: integer('N', 'Use only the latest N generation batches (default: 20).', 1),
	python: path('PATH', 'Python interpreter for *.reward.py files (default: REASONING_LAB_PYTHON, or python3).'),
} as const satisfies Options;

export const compareVerb = defineVerb({
	name: 'compare',
	group: 'Rewards',
	arguments: [
		{ name: 'reward file', phrase: 'a reward file', type: 'path', optional: true },
		{ name: 'other file', phrase: 'another reward file', type: 'path', optional: true },
	],
	summary: "Compare a reward with its committed version, another file, or other weights on a run's rollouts.",
	options,
	async run({ values, positionals, output }) {
		if (values.run === undefined) {
			throw new Failure('invalid', 'reasoning-lab compare requires a run.', 'Use --run runs/NAME.');
		}
		const byWeights = values.weights !== undefined || values.against !== undefined;
		if (byWeights === positionals.length > 0) {
			throw new Failure(
				'invalid',
				byWeights ? '--weights cannot be combined with reward files.' : 'Nothing to compare.',
				'Specify one or two reward files, or --weights.',
			);
		}
		const { steps } = values;
		const weighed = byWeights
			? { before: { weights: parseWeights(values.against) }, after: { weights: parseWeights(values.weights) } }
			: null;
		const run = await findRun(values.run);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const { signal } = interrupt;
		try {
			const request = { run, signal, ...(steps === undefined ? {} : { steps }) };
			const comparison =
				weighed === null
					? await compareByScoring(positionals, values, request)
					: await compareRewards({ ...request, ...weighed });
			output.object(comparison);
			for (const line of reportOf(comparison)) output.line(printable(line));
			return 0;
		} catch (error) {
			if (!(error instanceof LoadFailure)) throw error;
			output.failure(error);
			return 1;
		} finally {
			release();
		}
	},
});

/** Parses `a=1,b=0.2`. If `text` is undefined, the recipe's weights apply. */
function parseWeights(text: string | undefined): Record<string, number> {
	const weights: Record<string, number> = {};
	for (const part of (text ?? '').split(',').filter((one) => one.trim() !== '')) {
		const at = part.lastIndexOf('=');
		const name = part.slice(0, at).trim();
		const value = part.slice(at + 1).trim();
		if (at < 1 || value === '' || !Number.isFinite(Number(value))) {
			throw new Failure(
				'invalid',
				`"${part.trim()}" is not a valid weight.`,
				'Use the format --weights accuracy=1,format=0.2.',
			);
		}
		weights[name] = Number(value);
	}
	return weights;
}

type Values = { readonly reward?: string; readonly revision?: string; readonly python?: string };

async function compareByScoring(
	paths: readonly string[],
	values: Values,
	request: Pick<CompareFilesRequest, 'run' | 'steps' | 'signal'>,
): Promise<Comparison> {
	const [file, other] = paths.map((path) => resolve(path)) as [string, string | undefined];
	if (other !== undefined && values.revision !== undefined) {
		throw new Failure('invalid', '--revision cannot be combined with two reward files.', 'Omit --revision.');
	}
	const hosts = await openRewardHosts({ python: values.python ?? paths.some((path) => path.endsWith('.py')) });
	try {
		return await compareFiles({
			...request,
			open: (source) => hosts.open(source),
			file,
			against: other === undefined ? { revision: values.revision ?? 'HEAD' } : { file: other },
			folders: [...new Set([process.cwd(), dirname(file)])],
			label: (path) => (path === other ? paths[1] : paths[0]) as string,
			...(values.reward === undefined ? {} : { reward: values.reward }),
		});
	} finally {
		hosts.dispose();
	}
}

function reportOf({ before, after, run, steps, rows, groups, summary, remarks }: Comparison): string[] {
	const changed = rows
		.filter((row) => row.before !== row.after)
		.sort((a, b) => Math.abs((b.after ?? 0) - (b.before ?? 0)) - Math.abs((a.after ?? 0) - (a.before ?? 0)))
		.slice(0, 5);
	const text = (value: number | null) => (value === null ? 'null' : formatNumber(value));
	const [first] = steps;
	const batches =
		first === undefined
			? 'steps not recorded'
			: steps.length === 1
				? `step ${first}`
				: `steps ${first} to ${steps.at(-1)}`;
	return [
		`${before}  ->  ${after}`,
		`${formatCounted(rows.length, 'rollout')} from ${basename(run)}, ${batches}`,
		`mean              ${text(summary.meanBefore)} -> ${text(summary.meanAfter)}`,
		`changed           ${formatCounted(summary.changed, 'rollout')} (${summary.flipped} crossed the midpoint of the scale)`,
		`rank correlation  ${summary.rankCorrelation === null ? '-' : formatNumber(summary.rankCorrelation)} (within groups)`,
		`variance          ${formatCount(summary.gained)} of ${formatCounted(groups.length, 'group')} revived, ${summary.lost} killed`,
		`advantages        ${summary.advantageFlips} sign flips`,
		...changed.map(
			(row) =>
				`  ${stepText(row)}group ${row.group}, completion ${row.index}: ${text(row.before)} -> ${text(row.after)}: ${short(row.completion)}`,
		),
		...remarks,
	];
}

const short = (text: string) => {
	const line = text.replace(/\s+/g, ' ');
	return line.length > 90 ? `${line.slice(0, 89)}…` : line;
};
