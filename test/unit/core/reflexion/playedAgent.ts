import { Failure } from '../../../../src/base/failure.ts';
import type { AgentTool, ToolOutput } from '../../../../src/core/reflexion/agentTool.ts';
import type { GenerateRequest, Policy } from '../../../../src/core/search/policy.ts';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';
import { reflexion } from '../../../../src/core/search/strategies/reflexion.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';

export interface Reply {
	readonly answer?: unknown;
	readonly missing?: unknown;
	readonly superfluous?: unknown;
	readonly queries?: unknown;
	readonly references?: unknown;
}

/** Builds a reply in the format that the agent expects. */
export const reply = ({
	answer = 'An answer.',
	missing = [],
	superfluous = [],
	queries = [],
	references = [],
}: Reply) => JSON.stringify({ answer, reflection: { missing, superfluous }, search_queries: queries, references });

/** Replays its lines in order, repeating the last one. */
export function playedPolicy(lines: readonly (string | Failure)[]): Policy & { readonly asked: GenerateRequest[] } {
	const asked: GenerateRequest[] = [];
	return {
		asked,
		name: 'played',
		capabilities: {
			logprobs: false,
			alternatives: 0,
			distribution: false,
			prefix: false,
			seed: true,
			instructions: true,
			score: false,
			heads: [],
		},
		async generate(requests) {
			return requests.map((request) => {
				const line = lines[Math.min(asked.length, lines.length - 1)] ?? '';
				asked.push(request);
				if (line instanceof Failure) return line;
				return [{ text: line, finish: 'end', tokens: 10, promptTokens: 20, logprob: null, detail: null }];
			});
		},
	};
}

/** Looks up results in a table; anything else is an error. Lists of results are returned one at a time. */
export function playedTool(
	name: string,
	answers: Readonly<Record<string, string | Failure | readonly (string | Failure)[]>>,
	searches = true,
): AgentTool & { readonly asked: string[] } {
	const asked: string[] = [];
	return {
		asked,
		name,
		description: `knows ${Object.keys(answers).join(', ')}`,
		searches,
		async run(query): Promise<ToolOutput> {
			const before = asked.filter((one) => one === query).length;
			asked.push(query);
			const given = answers[query];
			const answer = Array.isArray(given) ? given[Math.min(before, given.length - 1)] : given;
			if (answer instanceof Failure) throw answer;
			if (typeof answer !== 'string') throw new Failure('missing', `Nothing is known of "${query}".`);
			return { sources: [{ source: `${name}/${query}.md:1`, title: null, text: answer }] };
		},
	};
}

export async function research(
	lines: readonly (string | Failure)[],
	tools: readonly AgentTool[] = [],
	options: Partial<SearchOptions> = {},
) {
	const policy = playedPolicy(lines);
	const events: TreeEvent[] = [];
	let clock = 0;
	const result = await runSearch({
		strategy: reflexion(tools),
		problem: { prompt: 'How does GRPO differ from PPO?', answer: null, row: {} },
		policy,
		now: () => clock++,
		onEvent: (event) => events.push(event),
		...options,
	});
	const of = <T extends TreeEvent['t']>(type: T) =>
		events.filter((event) => event.t === type) as Extract<TreeEvent, { t: T }>[];
	return { ...result, events, of, asked: policy.asked, faults: of('fault').map(({ message }) => message) };
}
