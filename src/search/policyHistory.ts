import type { Policy } from '../core/search/policy.ts';
import type { ChatMessage } from '../protocol/scorer.ts';

/** A policy that is asked everything after the same conversation. */
export function withHistory(policy: Policy, history: readonly ChatMessage[]): Policy {
	const after = <T extends { readonly messages: readonly ChatMessage[] }>(items: readonly T[]): T[] =>
		items.map((item) => ({ ...item, messages: [...history, ...item.messages] }));
	const { score, value } = policy;
	return {
		name: policy.name,
		capabilities: policy.capabilities,
		generate: (requests) => policy.generate(after(requests)),
		...(score === undefined ? {} : { score: (items) => score.call(policy, after(items)) }),
		...(value === undefined ? {} : { value: (items, head) => value.call(policy, after(items), head) }),
	};
}

/** A policy whose every completion keeps to a JSON Schema. */
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
