import { Failure } from '../../base/failure.ts';
import { jsonOf } from '../../core/episode/argumentValue.ts';
import type { SearchTurn, TurnCall } from '../../core/search/policy.ts';
import { withoutTag } from '../../core/text/plainTokens.ts';
import type { ChatTool, OpenPolicy } from '../../policies/openedPolicy.ts';
import type { ToolSchema } from '../../protocol/environmentHost.ts';
import type { ToolCall } from '../../protocol/episode.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { TurnRequest, TurnWriter, WrittenTurn } from './turnWriter.ts';

const call = ['<tool_call>', '</tool_call>'] as const;
const response = ['<tool_response>', '</tool_response>'] as const;
const plain = (text: string): string => [...call, ...response].reduce(withoutTag, text);

/** Writes turns with a policy that calls tools itself, such as a model on a chat server. */
export function toolWriter(
	callTools: NonNullable<OpenPolicy['callTools']>,
	tools: readonly ToolSchema[],
	signal: AbortSignal,
): TurnWriter {
	const offered = tools.map(
		({ name, description, parameters }): ChatTool => ({
			type: 'function',
			function: { name, description, parameters },
		}),
	);
	const write = async ({ request, prompt, turns, maxTokens, seed }: TurnRequest): Promise<WrittenTurn> => {
		const { temperature, topP } = request;
		const messages = [{ role: 'user', content: prompt }, ...turns.flatMap(messagesOf)];
		const think = ['<think>', '</think>'] as const;
		const asked = { messages, temperature, topP, maxTokens, seed, think, tools: offered };
		const reply = await callTools({ ...asked, choice: 'auto', parallel: null }, signal);
		const calls = reply.calls.map(({ function: { name, arguments: given } }) => ({
			name,
			arguments: given.trim() === '' ? {} : (jsonOf(given) ?? given),
		}));
		const { finish, text } = reply.generation;
		// A truncated turn cannot be continued, so its calls are not made.
		if (finish === 'length') return { generation: { ...reply.generation, text: '', detail: null }, calls: [] };
		return { generation: { ...reply.generation, text: `${text}${callText(calls)}`, detail: null }, calls };
	};
	return {
		write: (requests) => Promise.all(requests.map((one) => write(one).catch(unlessFatal))),
		results: (calls) => calls.map(({ result }) => `${response[0]}${plain(result)}${response[1]}`).join(''),
		plain: (text) => text,
	};
}

/** A request without tools or with a wrong key would fail again. */
function unlessFatal(error: unknown): Failure {
	const failure = Failure.from(error);
	if (failure.reason === 'cancelled' || failure.reason === 'denied' || failure.reason === 'unsupported') throw failure;
	return failure;
}

function callText(calls: readonly ToolCall[]): string {
	const texts = calls.map(({ name, arguments: given }) => JSON.stringify({ name, arguments: given }));
	return texts.map((text) => `${call[0]}${text.replaceAll('<', '\\u003c')}${call[1]}`).join('');
}

/** Returns a turn's messages. An incomplete turn has none. */
function messagesOf({ text, calls }: SearchTurn, turn: number): ChatMessage[] {
	if (calls.length === 0) return [];
	const content = text.slice(0, Math.max(0, text.indexOf(call[0])));
	const idOf = (i: number) => `call_${turn}_${i}`;
	return [
		{
			role: 'assistant',
			content,
			tool_calls: calls.map((one, i) => ({
				id: idOf(i),
				type: 'function',
				function: { name: one.name, arguments: argumentsText(one) },
			})),
		},
		...calls.map(({ result }, i) => ({ role: 'tool', content: result, tool_call_id: idOf(i) })),
	];
}

const argumentsText = ({ arguments: given }: TurnCall): string =>
	typeof given === 'string' ? given : JSON.stringify(given ?? {});
