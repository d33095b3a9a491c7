import * as v from 'valibot';
import type { ChatTool, OfferedTools } from '../../policies/openedPolicy.ts';
import { decode } from '../../protocol/decode.ts';
import type { ChatToolCall } from '../../protocol/scorer.ts';
import { ApiError } from './apiError.ts';

/** Status of a response item. */
export type ItemStatus = 'completed' | 'incomplete';

/** Maximum number of tools per request, same as in OpenAI's API. */
const maxTools = 128;

const name = v.pipe(v.string(), v.minLength(1));
const nullish = <const T extends v.GenericSchema>(schema: T) => v.optional(v.nullable(schema), null);

/** Request fields for either API; tools and the tool choice are parsed by API-specific readers. */
export const toolFields = {
	tools: nullish(v.pipe(v.array(v.unknown()), v.maxLength(maxTools))),
	tool_choice: nullish(v.unknown()),
	parallel_tool_calls: nullish(v.boolean()),
	functions: nullish(v.array(v.unknown())),
};

export const toolCallSchema = v.object({
	id: name,
	type: v.optional(v.literal('function'), 'function'),
	function: v.object({ name, arguments: v.string() }),
});

const functionEntries = {
	name,
	description: v.nullish(v.string()),
	parameters: v.nullish(v.record(v.string(), v.unknown())),
	strict: v.nullish(v.boolean()),
};
const chatTool = v.object({ function: v.object(functionEntries) });
const responsesTool = v.object(functionEntries);

export type ReadTool = (tool: unknown, param: string) => ChatTool;

/** Reads a tool in the format of `/v1/chat/completions`. */
export const readChatTool: ReadTool = (tool, param) => toolOf(readFunction(chatTool, tool, param).function);

/** Reads a tool in the format of `/v1/responses`, which has the function's fields at the same level as the type. */
export const readResponsesTool: ReadTool = (tool, param) => toolOf(readFunction(responsesTool, tool, param));

function readFunction<T>(schema: v.GenericSchema<unknown, T>, tool: unknown, param: string): T {
	const { type } = (typeof tool === 'object' && tool !== null ? tool : {}) as { readonly type?: unknown };
	if (type !== 'function') {
		const said = typeof type === 'string' ? `of type ${type.slice(0, 100)}` : 'without a type';
		throw new ApiError(
			400,
			'unsupported_parameter',
			`Tools ${said} are not supported; the only supported type is "function".`,
			param,
		);
	}
	const decoded = decode(schema, tool);
	if (decoded.ok) return decoded.value;
	const [fault] = decoded.faults;
	throw new ApiError(400, 'invalid_value', `${param}.${fault?.path}: ${fault?.message}.`, param);
}

const toolOf = ({ name, description, parameters, strict }: v.InferOutput<typeof responsesTool>): ChatTool => ({
	type: 'function',
	function: {
		name,
		...(typeof description === 'string' ? { description } : {}),
		...(parameters === null || parameters === undefined ? {} : { parameters }),
		...(typeof strict === 'boolean' ? { strict } : {}),
	},
});

/** Returns the tools in a request, or null if there are none or `tool_choice` is `none`. */
export function offeredTools(
	{ tools, tool_choice, parallel_tool_calls, functions }: v.InferOutput<v.ObjectSchema<typeof toolFields, undefined>>,
	read: ReadTool,
): OfferedTools | null {
	if ((functions ?? []).length > 0) {
		throw new ApiError(400, 'unsupported_parameter', 'Send functions as "tools".', 'functions');
	}
	const offered = (tools ?? []).map((tool, i) => read(tool, `tools[${i}]`));
	const choice = choiceOf(tool_choice, offered);
	if (offered.length === 0 || choice === 'none') return null;
	return { tools: offered, choice, parallel: parallel_tool_calls };
}

const chosen = v.union([
	v.pipe(
		v.object({ type: v.literal('function'), function: v.object({ name }) }),
		v.transform(({ function: { name } }) => name),
	),
	v.pipe(
		v.object({ type: v.literal('function'), name }),
		v.transform(({ name }) => name),
	),
]);

function choiceOf(given: unknown, tools: readonly ChatTool[]): OfferedTools['choice'] {
	if (given === null || given === 'auto') return 'auto';
	if (given === 'none') return 'none';
	const needs = (message: string) => new ApiError(400, 'invalid_value', message, 'tool_choice');
	if (given === 'required') {
		if (tools.length === 0) throw needs('tool_choice is "required", but there are no tools.');
		return 'required';
	}
	const decoded = decode(chosen, given);
	if (!decoded.ok) {
		const message = 'Only "auto", "none", "required" and a single function are supported.';
		throw new ApiError(400, 'unsupported_parameter', message, 'tool_choice');
	}
	if (!tools.some((tool) => tool.function.name === decoded.value)) {
		throw needs(`tool_choice specifies ${JSON.stringify(decoded.value.slice(0, 100))}, which is not one of the tools.`);
	}
	return { type: 'function', function: { name: decoded.value } };
}

/** Returns the tools and the tool choice as `/v1/responses` echoes them. */
export function responsesTools(offered: OfferedTools | null) {
	if (offered === null) return { tools: [], tool_choice: 'none' as const, parallel_tool_calls: false };
	const { tools, choice, parallel } = offered;
	return {
		tools: tools.map((tool) => ({
			type: 'function' as const,
			name: tool.function.name,
			description: tool.function.description ?? null,
			parameters: tool.function.parameters ?? null,
			strict: tool.function.strict ?? null,
		})),
		tool_choice: typeof choice === 'string' ? choice : { type: 'function' as const, name: choice.function.name },
		parallel_tool_calls: parallel ?? true,
	};
}

/**
 * Returns tool calls as response items.
 * @param id response id
 */
export function callItems(calls: readonly ChatToolCall[], id: string, status: ItemStatus) {
	return calls.map((call, i) => ({
		type: 'function_call' as const,
		id: `fc${id.slice('resp'.length)}_${i}`,
		call_id: call.id,
		name: call.function.name,
		arguments: call.function.arguments,
		status,
	}));
}
