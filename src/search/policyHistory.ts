import type { Policy } from '../core/search/policy.ts';
import type { ChatMessage } from '../protocol/scorer.ts';

export interface Surroundings {
	/** Messages before the problem. */
	readonly history: readonly ChatMessage[];
	readonly problem: string;
	/** Tool calls made for the problem, and their results. */
	readonly exchange: readonly ChatMessage[];
}

/** Wraps a policy so that every request includes the same conversation. */
export function withHistory(policy: Policy, { history, problem, exchange }: Surroundings): Policy {
	const placed = (messages: readonly ChatMessage[]): readonly ChatMessage[] => {
		if (exchange.length === 0) return [...history, ...messages];
		const asked = { role: 'user', content: problem };
		const [first, ...rest] = messages;
		// Questions about the problem, such as critiques, also come after the tool results.
		const after = first?.role === 'user' && first.content === problem ? rest : messages;
		return [...history, asked, ...exchange, ...after];
	};
	const after = <T extends { readonly messages: readonly ChatMessage[] }>(items: readonly T[]): T[] =>
		items.map((item) => ({ ...item, messages: placed(item.messages) }));
	const { score, value } = policy;
	return {
		name: policy.name,
		capabilities: policy.capabilities,
		generate: (requests) => policy.generate(after(requests)),
		...(score === undefined ? {} : { score: (items) => score.call(policy, after(items)) }),
		...(value === undefined ? {} : { value: (items, head) => value.call(policy, after(items), head) }),
	};
}

/** Wraps a policy so that every completion follows a JSON Schema. */
export function withSchema(policy: Policy, schema: Readonly<Record<string, unknown>>): Policy {
	const { score, value } = policy;
	return {
		name: policy.name,
		capabilities: policy.capabilities,
		generate: (requests) => policy.generate(requests.map((request) => ({ ...request, schema }))),
		...(score === undefined ? {} : { score: score.bind(policy) }),
		...(value === undefined ? {} : { value: value.bind(policy) }),
	};
}
