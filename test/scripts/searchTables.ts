import { type ParamInfo, paramInfos } from '../../src/core/search/paramInfo.ts';
import { type AnyStrategy, strategies, strategyParams } from '../../src/core/search/strategies.ts';
import { needsOf } from '../../src/core/search/strategy.ts';
import { type StopReason, stopReasons, type TreeEventType, treeEventSchema } from '../../src/protocol/treeLog.ts';

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

/** Prompts are too long for a table. */
function fallback({ default: value, required }: ParamInfo): string {
	if (required) return 'must be given';
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

/** With its parameters as they are by default. */
function needsInAll(strategy: AnyStrategy): string {
	const needs = needsOf(strategy, strategyParams(strategy, {}));
	const list = (needs.policy ?? []).map((need) => needsInWords[need] ?? `a policy with \`${need}\``);
	if (needs.scorer === 'step') list.push('a scorer of steps');
	if (needs.scorer === 'final') list.push('a scorer of completions');
	return list.length === 0 ? '' : ` Needs ${list.join(' and ')}.`;
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
				`\`${name}\` makes a ${structure}. ${sentence(description)} ${sentence(source)}${needsInAll(strategy)}`,
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
	nodes: 'The budget of nodes is used up; the problem is no node of it.',
	tokens: 'The token budget is exhausted: those of completions and of what the policy was asked besides.',
	simulations: 'Simulation budget exhausted.',
	seconds: 'The time is over.',
	cost: 'The budget of money is used up, by the prices of the policy.',
	stopped: 'Stopped by user.',
	policy: 'The policy is gone, or gave nothing many times in a row; `message` says what it said last.',
	scorer: 'A scorer failed; `message` says how.',
};

const events: Readonly<Record<TreeEventType, string>> = {
	start: 'Of what the search is, and all that is needed to go on. The first line, once.',
	node: 'A node. Ids count from 0, which is the problem; parents come before their children.',
	tokens: 'A node token by token, where the policy told. Lists are parallel; nats.',
	score: 'The value that a scorer gave a node; `null`: none.',
	select: 'What the strategy goes on with: the way from the root, and what the last decision was between.',
	visit: 'A simulation: the value backed up at each node of its path. N and Q follow for any backup rule.',
	prune: 'A node that the strategy, or a person, goes on with no more.',
	restore: 'It is open again.',
	merge: 'A node that says the same as another, or states the same answer.',
	critique: 'What is missing in a node and what is superfluous, and which of it a later revision addressed.',
	tool: 'A call of a tool, and what came of it.',
	reference: 'A source that a node cites, and whether its evidence supports it.',
	fault: 'Something that went wrong and did not end the search.',
	resume: 'The search goes on. After an `end`, or where a log was cut.',
	end: 'The result, why the search ended, and what it used up since its start.',
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

/** docs/search.md: strategies with their parameters, reasons for stopping, events of the log. */
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
