import { type ExportTarget, targetInfos } from './exportTarget.ts';
import type { FileFacts, RewardFacts } from './rewardFacts.ts';

/** A construct in a reward file that breaks or behaves differently under another trainer. */
export interface ExportFinding {
	/** `error`: does not run or changes meaning; `warning`: needs a manual check. */
	readonly severity: 'error' | 'warning';
	readonly rule:
		| 'columns'
		| 'batch'
		| 'none'
		| 'messages'
		| 'trainer-arguments'
		| 'pickling'
		| 'imports'
		| 'names'
		| 'async';
	/** 1-based line in the reward file. */
	readonly line: number;
	/** One sentence that includes the trainer's name. */
	readonly message: string;
	/** Suggested fix. */
	readonly action: string;
}

const list = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');

/** Description of the dataset fields that each trainer passes to rewards; null if it passes every column. */
const columnSources: Readonly<Record<ExportTarget, string | null>> = {
	trl: null,
	verl: 'keys of extra_info',
	openrlhf: 'only the label',
	verifiers: 'fields of the task data',
};

type Rule = (target: ExportTarget, facts: FileFacts, reward: RewardFacts) => ExportFinding[];

const columns: Rule = (target, _facts, { required, line, name }) => {
	const source = columnSources[target];
	const missing = required.filter((column) => column !== 'answer');
	if (source === null || missing.length === 0) return [];
	const title = targetInfos[target].title;
	return [
		{
			severity: target === 'openrlhf' ? 'error' : 'warning',
			rule: 'columns',
			line,
			message: `${name} needs the columns ${list(missing)}, but ${title} provides only ${source}.`,
			action:
				target === 'openrlhf'
					? 'Give the parameters defaults, or include their values in the label.'
					: `Add them when preparing the dataset, or give the parameters defaults.`,
		},
	];
};

/** verl, OpenRLHF and verifiers pass one completion per call. */
const batch: Rule = (target, _facts, { batchLines, batchOnly, line, name }) => {
	if (target === 'trl') return [];
	const lines = batchOnly && batchLines.length === 0 ? [line] : batchLines;
	return lines.map((at) => ({
		severity: batchOnly ? ('error' as const) : ('warning' as const),
		rule: 'batch' as const,
		line: at,
		message: `${name} uses the whole batch, but ${targetInfos[target].title} passes one completion at a time.`,
		action: 'Score each completion independently.',
	}));
};

const none: Rule = (target, _facts, { noneLines, name }) =>
	target === 'trl'
		? []
		: noneLines.map((line) => ({
				severity: 'warning' as const,
				rule: 'none' as const,
				line,
				message: `${name} can return None, which ${targetInfos[target].title} does not support. The adapter returns 0 instead.`,
				action: 'Remove the rows for which it returns None, or return a number instead.',
			}));

const messages: Rule = (target, _facts, { messageLines, name }) =>
	target === 'trl'
		? []
		: messageLines.slice(0, 1).map((line) => ({
				severity: 'warning' as const,
				rule: 'messages' as const,
				line,
				message: `${name} reads completions as lists of messages, but ${targetInfos[target].title} passes strings.`,
				action: 'Export with --conversational to wrap strings in messages.',
			}));

const trainerArguments: Rule = (target, _facts, { trainerArguments: names, line, name }) =>
	target === 'trl' || names.length === 0
		? []
		: [
				{
					severity: 'warning',
					rule: 'trainer-arguments',
					line,
					message: `${name} takes ${list(names)}, which only TRL passes.`,
					action: 'Give these parameters defaults.',
				},
			];

const asynchronous: Rule = (target, _facts, reward) =>
	reward.async && (target === 'verl' || target === 'openrlhf')
		? [
				{
					severity: 'warning',
					rule: 'async',
					line: reward.line,
					message: `${reward.name} is async, and the ${targetInfos[target].title} adapter runs each call in a separate event loop.`,
					action: 'Do not keep clients that are bound to an event loop in module-level variables.',
				},
			]
		: [];

const rules: readonly Rule[] = [columns, batch, none, messages, trainerArguments, asynchronous];

/** Checks for problems that affect the whole file. */
function lintFile(target: ExportTarget, facts: FileFacts): ExportFinding[] {
	const { title, defines } = targetInfos[target];
	const findings: ExportFinding[] = [];
	for (const { line, what } of facts.handles) {
		findings.push({
			severity: target === 'trl' ? 'warning' : 'error',
			rule: 'pickling',
			line,
			message: `Line ${line} creates ${what} when the module is loaded. It cannot be pickled, so each worker process in ${title} creates its own.`,
			action: 'Create it inside the function, on the first call.',
		});
	}
	for (const line of facts.lambdaLines) {
		findings.push({
			severity: 'warning',
			rule: 'pickling',
			line,
			message: `Line ${line} defines a lambda at module level, which cannot be pickled.`,
			action: 'Replace it with a named function.',
		});
	}
	for (const { module, line } of facts.imports) {
		if (!module.startsWith('.')) continue;
		findings.push({
			severity: 'error',
			rule: 'imports',
			line,
			message: `"${module}" is a relative import, but ${title} loads the adapter as a single file.`,
			action: 'Move the imported code into the reward file, or turn it into an installed package.',
		});
	}
	for (const name of defines.filter((defined) => facts.names.includes(defined))) {
		findings.push({
			severity: 'error',
			rule: 'names',
			line: 1,
			message: `The file defines "${name}", which conflicts with a name in the ${title} adapter.`,
			action: 'Rename it.',
		});
	}
	return findings;
}

/** Returns known incompatibilities with the target, sorted by line; empty if there are none. */
export function lintExport(target: ExportTarget, facts: FileFacts, rewards: readonly RewardFacts[]): ExportFinding[] {
	const found = rewards.flatMap((reward) => rules.flatMap((rule) => rule(target, facts, reward)));
	return [...lintFile(target, facts), ...found].sort((a, b) => a.line - b.line);
}
