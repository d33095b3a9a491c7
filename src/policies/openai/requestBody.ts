import type { GenerateRequest } from '../../core/search/policy.ts';
import type { PolicySpecOf } from '../../protocol/policySpec.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import { problemOf } from '../problemOf.ts';
import type { OpenAiAbilities, PrefixStyle } from './abilities.ts';

export type OpenAiSpec = PolicySpecOf<'openai'>;

/** Returns the request path. */
export const pathOf = (spec: OpenAiSpec): string => (spec.api === 'chat' ? '/chat/completions' : '/completions');

/** Returns the model input, either messages or a prompt, including the answer prefix. */
export function inputOf(
	spec: OpenAiSpec,
	messages: readonly ChatMessage[],
	prefix: string,
	style: PrefixStyle | null,
): Record<string, unknown> {
	if (spec.api === 'completions') {
		const problem = problemOf(messages);
		const prompt = spec.template === undefined ? problem : spec.template.split('{prompt}').join(problem);
		return { prompt: `${prompt}${prefix}` };
	}
	const system = spec.system !== undefined && !messages.some(({ role }) => role === 'system');
	const given = [
		...(system ? [{ role: 'system', content: spec.system }] : []),
		...messages.map(({ role, content, tool_calls, tool_call_id }) => ({
			role,
			content: content ?? '',
			...(tool_calls === undefined ? {} : { tool_calls }),
			...(tool_call_id === undefined ? {} : { tool_call_id }),
		})),
	];
	if (prefix === '' || style === null) return { messages: given };
	const first = { role: 'assistant', content: prefix, ...(style === 'flag' ? { prefix: true } : {}) };
	return {
		messages: [...given, first],
		...(style === 'continue' ? { continue_final_message: true, add_generation_prompt: false } : {}),
	};
}

export interface BodyOptions {
	readonly request: GenerateRequest;
	readonly prefix: string;
	readonly n: number;
	readonly seed: number;
	readonly maxTokens: number;
	readonly stops: readonly string[];
	readonly stream: boolean;
}

/** Number of alternatives requested to approximate the distribution when only its statistics are needed. */
const alternativesForStatistics = 5;

/** Returns a request body that uses only parameters that the server accepts. */
export function bodyOf(spec: OpenAiSpec, abilities: OpenAiAbilities, options: BodyOptions): Record<string, unknown> {
	const { request, n, maxTokens, stops, stream } = options;
	const known = abilities.logprobs;
	const wanted = request.tokens === 0 ? 0 : request.tokens === 1 ? alternativesForStatistics : request.tokens;
	const top = known === null ? 0 : Math.min(known, wanted);
	const logprobs =
		known === null
			? {}
			: spec.api === 'chat'
				? { logprobs: true, ...(top > 0 ? { top_logprobs: top } : {}) }
				: { logprobs: Math.max(1, top) };
	return {
		...spec.extra,
		model: spec.model,
		...inputOf(spec, request.messages, options.prefix, abilities.prefix),
		[abilities.lengthField]: maxTokens,
		...(abilities.temperature ? { temperature: request.temperature } : {}),
		// Send 1 explicitly, because servers have their own per-model defaults.
		...(abilities.topP ? { top_p: request.topP } : {}),
		...(n > 1 ? { n } : {}),
		...(abilities.refusesSeed ? {} : { seed: options.seed }),
		...(stops.length > 0 ? { stop: stops } : {}),
		...logprobs,
		...(request.schema !== undefined && abilities.schema
			? {
					response_format: {
						type: 'json_schema',
						json_schema: { name: 'answer', schema: request.schema, strict: true },
					},
				}
			: {}),
		...(stream ? { stream: true } : {}),
		...(stream && abilities.stream === 'usage' ? { stream_options: { include_usage: true } } : {}),
	};
}
