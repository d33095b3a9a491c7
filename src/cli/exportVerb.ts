import { lstat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatBytes, formatCounted } from '../base/format.ts';
import { type ExportFormat, exportFormatInfos, exportFormats } from '../core/export/exportFormat.ts';
import { neutralLabels } from '../core/export/prm/trlStepwise.ts';
import type { RolloutSelection } from '../core/export/selection.ts';
import { textForms } from '../core/export/textForms.ts';
import { parsePerturbation, perturbationKinds } from '../core/trace/perturb.ts';
import { exportFeedback } from '../runs/exportFeedback.ts';
import { exportRollouts, leftOutText } from '../runs/exportRollouts.ts';
import { convertStepLabels, exportStepLabels, type LabelFormat } from '../runs/exportStepLabels.ts';
import { openRun } from '../runs/openRun.ts';
import type { ExportProgress, ExportSummary, RolloutExport } from '../runs/rolloutExport.ts';
import { runTags } from '../runs/runTags.ts';
import { printable } from './cliOutput.ts';
import { findAnyRun } from './findRun.ts';
import { onInterrupt } from './interrupts.ts';
import {
	choice,
	flag,
	group,
	integer,
	number,
	type Options,
	type OptionValues,
	path,
	repeatable,
	text,
} from './options.ts';
import { defineVerb } from './verb.ts';

/** Options that apply only to some formats. Using one with any other format is an error. */
const takes: Readonly<Partial<Record<keyof Values, readonly ExportFormat[]>>> = {
	'min-reward': ['sft', 'dpo', 'cases'],
	'max-reward': ['sft', 'dpo', 'cases'],
	correct: ['sft', 'dpo', 'cases'],
	wrong: ['sft', 'dpo', 'cases'],
	finished: ['sft', 'dpo', 'cases'],
	'best-per-group': ['sft', 'cases'],
	form: ['sft', 'dpo'],
	unique: ['sft'],
	perturb: ['sft'],
	seed: ['sft'],
	'pairs-per-group': ['dpo'],
	margin: ['dpo', 'preferences'],
	'length-ratio': ['dpo'],
	reward: ['cases'],
	'case-reward': ['cases'],
	neutral: ['trl-stepwise', 'math-shepherd'],
};

const options = {
	as: choice(exportFormats, 'FORMAT', 'Output format. Required.'),
	out: path('FILE', 'Output file (default: NAME.FORMAT.jsonl in the current folder).'),
	replace: flag('Replace an existing file.'),
	format: text('NAME', 'Trainer format to read the folder as, if several match.'),
	...group('Selection', {
		steps: text('A-B', 'Steps A to B; A for one step, A- for step A and all later ones.'),
		'min-reward': number('X', 'Min reward.'),
		'max-reward': number('X', 'Max reward.'),
		correct: flag('Only completions that the accuracy reward scores as correct.'),
		wrong: flag('Only completions that the accuracy reward scores as incorrect.'),
		finished: flag('Only completions that ended before reaching the max length.'),
		group: repeatable(text('STEP/GROUP', 'Only this group.')),
		rollout: repeatable(text('STEP/GROUP/INDEX', 'Only this rollout.')),
		'best-per-group': integer('N', 'sft, cases: keep the N highest-reward rollouts per group.', 1),
		validation: flag('Export evaluation rollouts instead of training rollouts.'),
	}),
	...group('Format', {
		form: choice(
			[...textForms, 'messages'],
			'FORM',
			'sft, dpo: text format (default: as recorded). messages is only for sft.',
		),
		unique: flag('sft: skip exact duplicates of earlier examples.'),
		perturb: text('KIND:SHARE', `sft: perturb each completion: ${perturbationKinds.join(', ')} (Li et al. 2025).`),
		seed: integer('S', 'sft: perturbation seed (default: 0).'),
		'pairs-per-group': integer('N', 'dpo: max pairs per group (default: 1).', 1),
		margin: number(
			'X',
			'dpo: min reward difference within a pair. preferences: min difference in mean rating (default: any).',
		),
		'length-ratio': number('X', 'dpo: max length ratio within a pair (default: any).'),
		reward: text('NAME', 'cases: recorded reward that provides the expected values (default: accuracy).'),
		'case-reward': text('NAME', 'cases: reward function tested by the cases.'),
		neutral: choice(neutralLabels, 'LABEL', 'trl-stepwise, math-shepherd: label for neutral steps (default: wrong).'),
	}),
} as const satisfies Options;

type Values = OptionValues<typeof options>;

export const exportVerb = defineVerb({
	name: 'export',
	group: 'Runs',
	arguments: [{ name: 'run or step labels', phrase: 'a run', type: 'path' }],
	summary: 'Export rollouts or step labels from a run as training data for other tools (docs/exports.md).',
	options,
	async run({ values, positionals, output }) {
		const as = formatOf(values);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		try {
			const summary = await exportFrom(positionals[0] as string, as, values, {
				replace: values.replace ?? false,
				signal: interrupt.signal,
				...(output.isTerminal ? { onProgress: (progress) => output.draw(progressLine(progress)) } : {}),
			});
			if (output.isTerminal) output.draw('\r\x1b[K');
			output.object(summary);
			for (const line of summaryLines(summary)) output.line(printable(line));
			return 0;
		} finally {
			release();
		}
	},
});

function formatOf(values: Values): ExportFormat {
	const { as } = values;
	if (as === undefined) {
		throw new Failure('invalid', '--as is required.', `Choose one of ${exportFormats.join(', ')}.`);
	}
	for (const [name, formats] of Object.entries(takes) as [keyof Values, readonly ExportFormat[]][]) {
		if (values[name] === undefined || formats.includes(as)) continue;
		throw new Failure(
			'invalid',
			`--${name} does not apply to --as ${as}.`,
			`It only applies to ${formats.join(', ')}.`,
		);
	}
	if (values.correct && values.wrong) {
		throw new Failure('invalid', '--correct and --wrong cannot be combined.', 'Use only one of them.');
	}
	return as;
}

async function exportFrom(
	named: string,
	as: ExportFormat,
	values: Values,
	how: Parameters<typeof exportRollouts>[3],
): Promise<ExportSummary> {
	const out = (stem: string) => resolve(values.out ?? `${stem}${exportFormatInfos[as].suffix}`);
	const { neutral } = values;
	const labels = { as: as as LabelFormat, now: Date.now() / 1000, ...(neutral === undefined ? {} : { neutral }) };
	const isLabels = exportFormatInfos[as].from === 'labels';
	const path = resolve(named);
	if ((await lstat(path).catch(() => null))?.isFile()) {
		if (isLabels) return convertStepLabels(path, labels, out(basename(path).replace(/\.jsonl?$/, '')), how);
		throw new Failure('invalid', `${path} is a file, but --as ${as} requires a run.`, 'Specify a run folder.');
	}
	const run = await openRun(await findAnyRun(named), values.format === undefined ? {} : { format: values.format });
	const selection = selectionOf(values);
	const split = values.validation ? 'validation' : 'train';
	const name = safeName((await run.record()).name);
	if (exportFormatInfos[as].from === 'feedback') {
		const { margin } = values;
		return exportFeedback(run, { split, selection, ...(margin === undefined ? {} : { margin }) }, out(name), how);
	}
	if (isLabels) {
		return exportStepLabels(
			{ folder: run.folder, format: run.format, name },
			{ ...labels, split, selection },
			out(name),
			how,
		);
	}
	return exportRollouts(
		run,
		await requestOf(as as RolloutExport['as'], values, { split, selection, tags: await runTags(run) }),
		out(name),
		how,
	);
}

const safeName = (name: string) =>
	name
		.replace(/[^\w.-]+/g, '-')
		.replace(/^[-.]+/, '')
		.slice(0, 80) || 'run';

async function requestOf(
	as: RolloutExport['as'],
	values: Values,
	given: Pick<RolloutExport, 'split' | 'selection' | 'tags'>,
): Promise<RolloutExport> {
	const { form, margin, seed, 'pairs-per-group': perGroup, 'length-ratio': lengthRatio } = values;
	if (form === 'messages' && as !== 'sft') {
		throw new Failure('invalid', '--form messages does not apply to --as dpo.', 'Use --form conversational.');
	}
	if (lengthRatio !== undefined && lengthRatio < 1) {
		throw new Failure(
			'invalid',
			`Invalid --length-ratio value ${lengthRatio}.`,
			'Use a value of at least 1, such as --length-ratio 1.5.',
		);
	}
	return {
		as,
		...given,
		...(form === undefined ? {} : { form }),
		...(values.unique ? { unique: true } : {}),
		...(values.perturb === undefined ? {} : { perturb: parsePerturbation(values.perturb) }),
		...(seed === undefined ? {} : { seed }),
		...(values.reward === undefined ? {} : { reward: values.reward }),
		...(values['case-reward'] === undefined ? {} : { caseReward: values['case-reward'] }),
		pairing: {
			...(perGroup === undefined ? {} : { perGroup }),
			...(margin === undefined ? {} : { margin }),
			...(lengthRatio === undefined ? {} : { lengthRatio }),
		},
	};
}

function selectionOf(values: Values): RolloutSelection {
	const steps = stepsOf(values.steps);
	const { 'min-reward': minReward, 'max-reward': maxReward, 'best-per-group': bestPerGroup } = values;
	const groups = values.group?.map((text) => {
		const [step, group] = placeOf(text, '--group', 2);
		return { step: step as number, group: group as number };
	});
	const rollouts = values.rollout?.map((text) => {
		const [step, group, index] = placeOf(text, '--rollout', 3);
		return { step: step as number, group: group as number, index: index as number };
	});
	return {
		...(steps === undefined ? {} : { steps }),
		...(minReward === undefined ? {} : { minReward }),
		...(maxReward === undefined ? {} : { maxReward }),
		...(values.correct ? { correct: true } : values.wrong ? { correct: false } : {}),
		...(values.finished ? { truncated: false } : {}),
		...(groups === undefined ? {} : { groups }),
		...(rollouts === undefined ? {} : { rollouts }),
		...(bestPerGroup === undefined ? {} : { bestPerGroup }),
	};
}

function stepsOf(text: string | undefined): RolloutSelection['steps'] {
	if (text === undefined) return undefined;
	const match = /^(\d{1,15})?(-)?(\d{1,15})?$/.exec(text);
	const [, from, dash, to] = match ?? [];
	const range = {
		...(from === undefined ? {} : { from: Number(from) }),
		...(dash === undefined ? { to: Number(from) } : to === undefined ? {} : { to: Number(to) }),
	};
	const sound =
		match !== null && (from ?? to) !== undefined && (range.from ?? 0) <= (range.to ?? Number.POSITIVE_INFINITY);
	if (sound) return range;
	throw new Failure('invalid', `--steps value "${text}" is not a valid step range.`, 'Use the format --steps 10-20.');
}

function placeOf(text: string, option: string, parts: number): number[] {
	const form = parts === 2 ? 'STEP/GROUP' : 'STEP/GROUP/INDEX';
	const numbers = text.split('/');
	if (numbers.length === parts && numbers.every((part) => /^\d{1,15}$/.test(part))) return numbers.map(Number);
	throw new Failure(
		'invalid',
		`${option} is "${text}", not ${form}.`,
		`Use the format ${option} ${parts === 2 ? '12/3' : '12/3/0'}.`,
	);
}

function progressLine({ done, total, read, written }: ExportProgress): string {
	const steps = total > 1 ? `step ${done} of ${total}, ` : '';
	return `\r\x1b[K${steps}${read} read, ${written} written`;
}

function summaryLines({ path, read, what, written, leftOut, unreadable, faults, bytes }: ExportSummary): string[] {
	const lines = [`${path}: ${formatCounted(written, 'line')} (${formatBytes(bytes)}) from ${read} ${what}`];
	for (const one of leftOut) lines.push(`  skipped: ${leftOutText(one, what)}`);
	if (unreadable > 0) lines.push(`  unreadable: ${unreadable}`);
	for (const { file, line, message } of faults.slice(0, 5)) {
		lines.push(`    ${file}${line === null ? '' : `:${line}`}: ${message}`);
	}
	return lines;
}
