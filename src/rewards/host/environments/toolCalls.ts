import type { ToolCall } from '../../../protocol/episode.ts';
import { ExitCalled } from '../capture.ts';
import { describeThrown } from '../userFrames.ts';
import { argumentFault } from './argumentFault.ts';
import type { EnvironmentFile, Instance, Tool } from './environmentFile.ts';
import { pythonText } from './pythonText.ts';

const maxMessage = 10_000;

/** Result of a call, before its size is checked. */
export interface CallResult {
	readonly name: string;
	readonly content: string;
	readonly failed: boolean;
	readonly message?: string;
	readonly line?: number;
	readonly stack?: string;
}

/** Locations of user code and this program, for describing errors. */
export interface Place {
	/** Absolute path to the environment file. */
	readonly file: string;
	/** Folder that contains this program. */
	readonly own: string;
}

/**
 * Runs one turn's tool calls as TRL's trainer does: an error's message is the tool's result, and asynchronous tools run
 * concurrently after the others. Rejects only if user code ends its process.
 */
export async function callAll(
	{ tools, description }: EnvironmentFile,
	instance: Instance,
	calls: readonly ToolCall[],
	place: Place,
): Promise<CallResult[]> {
	const results: CallResult[] = [];
	const waiting: (readonly [string, () => unknown])[] = [];
	for (const { name, arguments: given } of calls) {
		const tool = tools.get(name);
		const fault = tool === undefined ? `Tool ${name} not found.` : faultOf(description.name, tool, given);
		if (tool === undefined || fault !== null) {
			results.push(failure(name, fault ?? '', {}));
			continue;
		}
		const start = () => invoke(instance, tool, given as Record<string, unknown>);
		if (tool.description.isAsync) waiting.push([name, start]);
		else results.push(await settle(name, start, place));
	}
	return [...results, ...(await Promise.all(waiting.map(([name, start]) => settle(name, start, place))))];
}

function faultOf(owner: string, { description, parameters }: Tool, given: unknown): string | null {
	const { name, schema, fault } = description;
	if (schema !== null) return argumentFault(owner, schema, given);
	if (parameters === null) return fault?.message ?? null;
	// Without types, only the names can be checked.
	const properties = Object.fromEntries(parameters.map((one) => [one, {}]));
	return argumentFault(owner, { name, description: '', parameters: { type: 'object', properties } }, given);
}

function invoke(instance: Instance, { description, parameters }: Tool, given: Record<string, unknown>): unknown {
	const method = instance[description.name] as (...values: unknown[]) => unknown;
	return method.apply(instance, parameters?.map((name) => given[name]) ?? []);
}

async function settle(name: string, start: () => unknown, { file, own }: Place): Promise<CallResult> {
	try {
		const returned = start();
		return { name, content: textOf(isPromise(returned) ? await returned : returned), failed: false };
	} catch (error) {
		if (error instanceof ExitCalled) throw error;
		const { message: described, ...at } = describeThrown(error, file, own);
		return failure(name, messageOf(error, described), at);
	}
}

function failure(name: string, message: string, at: object): CallResult {
	const content = `{'error': ${pythonText(message)}}`;
	return { name, content, failed: true, message: message.slice(0, maxMessage), ...at };
}

/** Returns a result as text: a string unchanged, anything else as JSON. */
function textOf(value: unknown): string {
	if (typeof value === 'string') return value;
	if (typeof value === 'bigint') return String(value);
	return JSON.stringify(value) ?? 'null';
}

/** Returns an error's message without its type, as the model sees it. */
function messageOf(error: unknown, described: string): string {
	try {
		return error instanceof Error ? String(error.message) : typeof error === 'string' ? error : described;
	} catch {
		return described;
	}
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
	return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
