import { zipFile } from './zipFile.ts';

/** Messages of an Inspect sample: a question, an answer with a call, and its result, in turn. */
function messageOf(i: number): Record<string, unknown> {
	if (i % 3 === 0) return { id: `m${i}`, content: `Question ${i} ${'about tea and water '.repeat(8)}`, role: 'user' };
	if (i % 3 === 2) {
		const content =
			i === 2 ? 'attachment://0123456789abcdef0123456789abcdef' : `Result ${i} ${'of a search '.repeat(9)}`;
		return { id: `m${i}`, content, role: 'tool', tool_call_id: `c${i - 1}`, function: 'search' };
	}
	const call = { id: `c${i}`, function: 'search', arguments: { query: `tea ${i}` }, type: 'function' };
	return { id: `m${i}`, content: `Answer ${i}`, source: 'generate', role: 'assistant', tool_calls: [call], model: 'm' };
}

/** Samples and archives made so far: those of thousands of messages take a tenth of a second and more each. */
const samples = new Map<string, string>();
const archives = new Map<string, Buffer>();

function once<T>(made: Map<string, T>, key: string, make: () => T): T {
	const found = made.get(key) ?? make();
	made.set(key, found);
	return found;
}

/**
 * Returns the JSON of a sample as Inspect writes it (EvalSample, `to_json_safe` with an indent of 2): its messages, and
 * after them a model event for each answer and the attachments.
 */
export function longSample(id: string, count: number, more: object = {}): string {
	return once(samples, JSON.stringify([id, count, more]), () => makeSample(id, count, more));
}

function makeSample(id: string, count: number, more: object): string {
	const messages = Array.from({ length: count }, (_, i) => messageOf(i));
	const query = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
	const tools = [{ name: 'search', description: 'Search', parameters: query }];
	const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
	const events = messages
		.filter(({ role }) => role === 'assistant')
		.map((message) => ({
			...{ timestamp: '2026-09-01T10:00:00+00:00', event: 'model', model: 'm', input: [], tools, tool_choice: 'auto' },
			output: { model: 'm', choices: [{ message, stop_reason: 'tool_calls' }], usage, time: 1 },
		}));
	const sample = {
		...{ id, epoch: 1, input: 'q', target: '', messages, output: { model: 'm', choices: [] }, scores: {} },
		...{ metadata: { messages: ['not these'] }, store: {}, events, model_usage: {} },
		attachments: { '0123456789abcdef0123456789abcdef': 'A long text', ffff: 'Text of an event' },
		...more,
	};
	return JSON.stringify(sample, null, 2);
}

/**
 * Returns an `.eval` file with a small sample, a long one, a long one that failed, and a small one written twice. Callers
 * share it, so they must not change its bytes.
 */
export function longArchive(count: number, method: 0 | 8 | 93 = 93): Buffer {
	return once(archives, `${count} ${method}`, () => makeArchive(count, method));
}

function makeArchive(count: number, method: 0 | 8 | 93): Buffer {
	const member = (name: string, text: string) => ({ name: `samples/${name}.json`, text, method });
	return zipFile([
		{ name: 'header.json', text: '{}' },
		member('a_epoch_1', longSample('a', 1)),
		member('long_epoch_1', longSample('long', count)),
		member('b_epoch_2', longSample('b', 1)),
		member('failed_epoch_1', longSample('failed', count, { error: { message: 'sandbox lost', traceback: '' } })),
		member('empty_epoch_1', longSample('empty', 0)),
		member('b_epoch_2', longSample('b', 4)),
	]);
}
