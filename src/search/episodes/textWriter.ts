import { Failure } from '../../base/failure.ts';
import { parseToolCalls } from '../../core/episode/toolCallText.ts';
import type { GenerateRequest, Policy } from '../../core/search/policy.ts';
import type { EpisodeForm } from '../../policies/openedPolicy.ts';
import type { ToolSchema } from '../../protocol/environmentHost.ts';
import type { TurnRequest, TurnWriter } from './turnWriter.ts';

/** Writes turns with a policy whose text includes calls and results, such as an embedded-engine checkpoint. */
export function textWriter(policy: Policy, form: EpisodeForm, tools: readonly ToolSchema[]): TurnWriter {
	const results: TurnWriter['results'] = (calls) =>
		calls.map(({ result }) => `${form.result[0]}${form.plain(result)}${form.result[1]}`).join('');
	const prefixOf = ({ turns }: TurnRequest): string =>
		turns.map(({ text, calls }) => (calls.length === 0 ? text : `${text}${form.end}${results(calls)}`)).join('');
	return {
		results,
		plain: (text) => form.plain(text),
		async write(requests) {
			const generated = await policy.generate(
				requests.map((turn): GenerateRequest => {
					const { turns: _, schema: __, ...request } = turn.request;
					const { maxTokens, seed, prompt } = turn;
					const messages = [{ role: 'user', content: prompt }];
					return { ...request, messages, prefix: prefixOf(turn), n: 1, maxTokens, seed, stop: [] };
				}),
			);
			return requests.map(({ turns }, i) => {
				const made = generated[i] ?? new Failure('invalid', 'The policy returned no reply for a request.');
				if (made instanceof Failure) return made;
				const [generation] = made;
				if (generation === undefined) return new Failure('invalid', 'The policy returned no generations.');
				const last = turns.at(-1);
				const before = last?.calls.length === 0 ? last.text : '';
				return { generation, calls: parseToolCalls(before + generation.text, form.call, tools) };
			});
		},
	};
}
