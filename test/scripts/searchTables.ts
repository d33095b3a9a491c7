import { type AnyStrategy, strategies, strategyParams } from '../../src/core/search/strategies.ts';
import { needsOf } from '../../src/core/search/strategy.ts';
import { type StopReason, stopReasons, type TreeEventType, treeEventSchema } from '../../src/protocol/treeLog.ts';
import { type ParamInfo, paramInfos } from './paramInfo.ts';

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
	[
		`| ${head.join(' | ')} |`,
		`|${'---|'.repeat(head.length)}`,
		...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
	].join('\n');

function values({ kind, low, high, options }: ParamInfo): string {
	if (kind === 'choice') return options.map((option) => `\`${option}\``).join(', ');
	if (kind === 'flag') return 'true or false';
	if (kind === 'text') return 'text';
	const what = kind === 'integer' ? 'whole number' : 'number';
	if (low === null && high === null) return what;
	return high === null ? `${what}, from ${low}` : `${what}, ${low ?? 'any'} to ${high}`;
}

/** Returns a parameter's default. Prompts are omitted because they are too long for a table. */
function fallback({ default: value, required }: ParamInfo): string {
	if (required) return 'required';
	if (value === undefined) return '';
	const text = typeof value === 'string' ? value : JSON.stringify(value);
	return text === '' || text.length > 40 ? '' : `\`${text.replaceAll('\n', '\\n')}\``;
}

const needsInWords: Readonly<Record<string, string>> = {
	prefix: 'a policy that can continue a given prefix',
	instructions: 'a policy that follows instructions',
	alternatives: 'a policy that returns alternatives for each token',
	logprobs: 'a policy that returns log-probabilities',
};

/** Returns the requirements of a strategy with default parameters. */
function needsInAll(strategy: AnyStrategy): string {
	const needs = needsOf(strategy, strategyParams(strategy, {}));
	const list = (needs.policy ?? []).map((need) => needsInWords[need] ?? `a policy with \`${need}\``);
	if (needs.scorer === 'step') list.push('a step scorer');
	if (needs.scorer === 'final') list.push('a completion scorer');
	return list.length === 0 ? '' : ` Requires ${list.join(' and ').replace(' and a policy that ', ' and ')}.`;
}

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

function strategySections(): string {
	return strategies
		.map((strategy) => {
			const { name, title, description, source, structure } = strategy;
			const params = paramInfos(strategy);
			const rows = params.map((one) => [`\`${one.name}\``, values(one), fallback(one), one.description]);
			return [
				`### ${title}`,
				`\`${name}\` builds a ${structure}. ${sentence(description)} Source: ${sentence(source)}${needsInAll(strategy)}`,
				...(params.length === 0 ? [] : [table(['parameter', 'values', 'default', 'meaning'], rows)]),
			].join('\n\n');
		})
		.join('\n\n');
}

const stops: Readonly<Record<StopReason, string>> = {
	complete: 'The strategy completed.',
	solved: 'Stopped early: an answer was found.',
	exhausted: 'Nothing is left to expand.',
	'no-improvement': 'No further improvement.',
	nodes: 'Node budget exhausted; the problem does not count as a node.',
	tokens: 'Token budget exhausted, counting completions and all other policy requests.',
	simulations: 'Simulation budget exhausted.',
	seconds: 'Time limit reached.',
	cost: 'Cost budget exhausted, based on the policy prices.',
	stopped: 'Stopped by user.',
	policy: 'The policy is unavailable or repeatedly returned nothing; `message` has its last error.',
	environment:
		'The environment of an episode is unavailable, or returned different results when calls were repeated; `message` has the error.',
	scorer: 'A scorer failed; `message` has the error.',
};

const events: Readonly<Record<TreeEventType, string>> = {
	start: 'The search configuration, with everything needed to continue it. Appears once, as the first line.',
	node: 'A node. Ids count from 0, which is the problem; parents precede their children.',
	tokens: 'Tokens of a node, if the policy returned them. Lists are parallel; values are in nats.',
	score: 'The value that a scorer assigned to a node; `null` for none.',
	select: 'The node that the strategy expands next: the path from the root, and the candidates of the last decision.',
	visit: 'A simulation: the value backed up at each node on its path. N and Q can be derived for any backup rule.',
	prune: 'A node that the strategy or a user no longer expands.',
	restore: 'The node is open again.',
	merge: 'A node with the same text or the same answer as another.',
	critique: 'What is missing from a node, what is superfluous, and which of these a later revision addressed.',
	tool: 'A tool call and its result.',
	reference: 'A source that a node cites, and whether its evidence supports it.',
	fault: 'An error that did not end the search.',
	resume: 'The search continues after an `end`, or from a truncated log.',
	end: 'The result, the stop reason, and the total usage.',
};

interface Shape {
	readonly entries: Readonly<Record<string, { readonly type: string; readonly literal?: unknown }>>;
}

function eventRows(): string[][] {
	return (treeEventSchema.options as unknown as readonly Shape[]).map(({ entries }) => {
		const type = (entries.t as { literal: TreeEventType }).literal;
		const fields = Object.entries(entries)
			.filter(([name]) => name !== 't' && name !== 'at')
			.map(([name, { type: kind }]) => `\`${name}\`${kind === 'optional' ? '?' : ''}`);
		return [`\`${type}\``, fields.join(', '), events[type]];
	});
}

/** Generates tables for docs/search.md: strategies with their parameters, stop reasons, log events. */
export function searchTables(): Record<string, string> {
	return {
		strategies: strategySections(),
		stops: table(
			['`stop`', 'why'],
			stopReasons.map((reason) => [`\`${reason}\``, stops[reason]]),
		),
		events: table(['`t`', 'fields', 'meaning'], eventRows()),
	};
}
