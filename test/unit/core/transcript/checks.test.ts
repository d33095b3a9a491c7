import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findArgumentFaults } from '../../../../src/core/transcript/checks/argumentFaults.ts';
import { findCitationFaults } from '../../../../src/core/transcript/checks/citationFaults.ts';
import { findContextGrowth } from '../../../../src/core/transcript/checks/contextGrowth.ts';
import { findFailedCalls } from '../../../../src/core/transcript/checks/failedCalls.ts';
import { findLinkFaults } from '../../../../src/core/transcript/checks/linkFaults.ts';
import { findSchemaFaults } from '../../../../src/core/transcript/checks/schemaFaults.ts';
import { findTokenFaults } from '../../../../src/core/transcript/checks/tokenFaults.ts';
import { findTruncated } from '../../../../src/core/transcript/checks/truncated.ts';
import { findUnchangedRetries } from '../../../../src/core/transcript/checks/unchangedRetries.ts';
import { findUnresolvedCritique } from '../../../../src/core/transcript/checks/unresolvedCritique.ts';
import { checkTranscript } from '../../../../src/core/transcript/checkTranscript.ts';
import { citedSentences, findReferences } from '../../../../src/core/transcript/references.ts';
import { contextPoints, tokenTotals } from '../../../../src/core/transcript/tokenTotals.ts';
import type { Transcript } from '../../../../src/core/transcript/transcript.ts';
import { answers, calls, chat, mended, reflexion } from './reflexion.ts';

const checks: Readonly<Record<string, (transcript: Transcript) => readonly { title: string }[]>> = {
	findSchemaFaults,
	findArgumentFaults,
	findFailedCalls,
	findUnchangedRetries,
	findLinkFaults,
	findUnresolvedCritique,
	findCitationFaults,
	findTokenFaults,
	findContextGrowth,
	findTruncated,
};

describe('a real Reflexion agent transcript', () => {
	test('has eight messages and 18,735 tokens', async () => {
		const transcript = await reflexion();
		assert.equal(transcript.messages.length, 8);
		const totals = tokenTotals(transcript);
		assert.deepEqual(
			[totals.prompt, totals.completion, totals.total, totals.counted, totals.answers],
			[16_475, 2260, 18_735, 4, 4],
		);
		assert.deepEqual(
			contextPoints(transcript).map(({ prompt, added }) => [prompt, added]),
			[
				[211, 211],
				[3840, 3629],
				[4549, 709],
				[7875, 3326],
			],
		);
		assert.match(findContextGrowth(transcript)[0]?.title ?? '', /37-fold/);
	});

	test('has one failed call', async () => {
		const failed = findFailedCalls(await reflexion());
		assert.deepEqual(
			failed.map(({ title, at }) => [title, at[0]?.message, at[1]?.message]),
			[['ReviseAnswer failed', 4, 3]],
		);
		assert.match(failed[0]?.quotes[0]?.text ?? '', /Field required/);
	});

	test('has a retry that changed nothing: queries were copied from one field to another', async () => {
		const retries = findUnchangedRetries(await reflexion());
		assert.equal(retries.length, 1);
		assert.match(
			retries[0]?.text ?? '',
			/message 6 .* answer and reflection are identical to .* search_queries is a copy/,
		);
	});

	test('has a final revision without reflection and queries', async () => {
		const last = findSchemaFaults(await reflexion()).filter(({ at }) => at[0]?.message === 7);
		assert.deepEqual(
			last.map(({ title }) => title),
			['ReviseAnswer lacks reflection and search_queries'],
		);
	});

	test('has queries and references inside the reflection', async () => {
		const faults = findSchemaFaults(await reflexion()).map(({ title, at }) => [title, at[0]?.message]);
		assert.deepEqual(faults.slice(0, 3), [
			['ReviseAnswer lacks search_queries', 3],
			['ReviseAnswer has references in the wrong place', 3],
			['ReviseAnswer has references in the wrong place', 5],
		]);
	});

	test('ends with a call that was not executed and a critique that was never addressed', async () => {
		const transcript = await reflexion();
		assert.deepEqual(
			findLinkFaults(transcript).map(({ title, severity, at }) => [title, severity, at[0]?.message]),
			[['ReviseAnswer has no result', 'warning', 7]],
		);
		assert.deepEqual(
			findUnresolvedCritique(transcript).map(({ title, at }) => [title, at[0]?.message]),
			[
				['The critique had no effect', 5],
				['The last revision has no reflection', 7],
			],
		);
	});

	test('has a citation that does not support its claim, and names the source that does', async () => {
		const claims = findReferences(await reflexion()).at(-1)?.claims ?? [];
		const claim = claims.find(({ text }) => text.includes('eliminating the need for explicit reward modeling'));
		assert.deepEqual(claim?.cites, [4, 5, 6]);
		assert.equal(claim?.verdict, 'elsewhere');
		assert.match(claim?.better?.url ?? '', /analyticsvidhya/);
		assert.ok((claim?.support ?? 1) < 0.5 && (claim?.better?.support ?? 0) > 0.7);
		const fine = claims.find(({ text }) => text.startsWith('**DeepSeek MoE** is a novel'));
		assert.equal(fine?.verdict, 'supported');
		const found = findCitationFaults(await reflexion());
		assert.ok(found.some(({ title, at }) => /^\[4\]\[5\]\[6\] do not support/.test(title) && at[0]?.message === 7));
		const five = found.find(({ title }) => title.startsWith('[5] does not support'));
		assert.deepEqual(
			five?.at.map(({ message }) => message),
			[5, 3],
			'reported once for both revisions',
		);
	});

	test('reports all problems together, errors first', async () => {
		const severities = checkTranscript(await reflexion()).map(({ severity }) => severity);
		const last = severities.lastIndexOf('error');
		assert.ok(severities.includes('warning') && severities.includes('info'));
		assert.ok(severities.slice(0, last).every((severity) => severity === 'error'));
	});
});

describe('a corrected transcript', () => {
	for (const [name, check] of Object.entries(checks)) {
		test(`${name} reports nothing`, () => {
			assert.deepEqual(check(mended()), []);
		});
	}
});

const draft = (more: object = {}) => ({
	answer: 'One.',
	reflection: { missing: 'Dates.', superfluous: 'None' },
	search_queries: ['dates'],
	...more,
});

describe('schemas', () => {
	test('in the file take precedence: required fields, types, nested fields, unknown tools', () => {
		const tools = [
			{
				type: 'function',
				function: {
					name: 'search',
					parameters: {
						type: 'object',
						required: ['query', 'limit'],
						properties: {
							query: { type: 'string' },
							limit: { type: 'integer' },
							filter: { type: 'object', required: ['year'], properties: { year: { type: 'integer' } } },
							tags: { type: 'array', items: { type: 'string' } },
						},
					},
				},
			},
		];
		const faults = (args: unknown, name = 'search') =>
			findSchemaFaults(chat([calls(name, args)], { tools })).map(({ title }) => title);
		assert.deepEqual(faults({ query: 'a', limit: 3, filter: { year: 2024 }, tags: ['b'] }), []);
		assert.deepEqual(faults({ query: 'a' }), ['search lacks limit']);
		assert.deepEqual(faults({ query: 5, limit: 1.5 }), [
			'search: query is not a string',
			'search: limit is not an integer',
		]);
		assert.deepEqual(faults({ query: 'a', limit: 1, filter: {} }), ['search: filter lacks year']);
		assert.deepEqual(faults({ query: 'a', limit: 1, tags: ['b', 3] }), ['search: tags[1] is not a string']);
		assert.deepEqual(faults(['a']), ['search has invalid arguments']);
		assert.deepEqual(faults({}, 'find'), ['find is not declared']);
	});

	test("requirements from a validator's message apply to every call", () => {
		const error = 'Error: 1 validation error for look\nplace\n  Field required [type=missing]';
		const transcript = chat([
			calls('look', { for: 'keys' }),
			answers(error, 'call_1'),
			calls('look', { for: 'keys', place: 'drawer' }, 'call_2'),
		]);
		assert.deepEqual(
			findSchemaFaults(transcript).map(({ title, at }) => [title, at[0]?.message]),
			[['look lacks place', 0]],
		);
	});

	test('ignore prototype properties', () => {
		assert.deepEqual(findSchemaFaults(chat([calls('constructor', { __proto__: 1 }), calls('toString', {}, 'b')])), []);
	});
});

describe('arguments', () => {
	test('that are not JSON are reported with their text', () => {
		const [finding] = findArgumentFaults(chat([calls('search', '{"query": "a')]));
		assert.match(finding?.text ?? '', /not valid JSON.*message 1/);
		assert.equal(finding?.quotes[0]?.text, '{"query": "a');
	});

	test('that conflict between two fields are reported', () => {
		const message = {
			type: 'ai',
			data: {
				content: '',
				tool_calls: [{ id: 'a', name: 'search', args: { query: 'x' } }],
				additional_kwargs: { tool_calls: [{ id: 'a', function: { name: 'search', arguments: '{"query":"y"}' } }] },
			},
		};
		assert.match(findArgumentFaults(chat([message]))[0]?.text ?? '', /the arguments for the call a differ/);
	});
});

describe('failed calls', () => {
	const failed = (content: string, more: object = {}) =>
		findFailedCalls(chat([calls('run', {}), answers(content, 'call_1', more)])).length;
	test('are detected by status, flag or first words', () => {
		assert.equal(failed('went wrong', { status: 'error' }), 1);
		assert.equal(failed('went wrong', { is_error: true }), 1);
		assert.equal(failed('Traceback (most recent call last):\n...'), 1);
		assert.equal(failed('ValueError: bad'), 1);
		assert.equal(failed('{"error": "no such file"}'), 1);
	});

	test('text about errors or an empty error field does not count as a failure', () => {
		assert.equal(failed('Error handling in Rust uses Result.'), 0);
		assert.equal(failed('{"error": null, "value": 1}'), 0);
		assert.equal(failed('Error: only quoted', { status: 'success' }), 0);
	});
});

describe('retries', () => {
	const retried = (first: unknown, second: unknown) =>
		findUnchangedRetries(
			chat([calls('run', first), answers('Error: no', 'call_1', { status: 'error' }), calls('run', second, 'call_2')]),
		).map(({ title }) => title);

	test('with the same arguments, in any field order, are reported', () => {
		assert.deepEqual(retried({ a: 1, b: 2 }, { b: 2, a: 1 }), ['The retry of run changed nothing']);
	});

	test('that change something are fine', () => {
		assert.deepEqual(retried({ a: 1 }, { a: 2 }), []);
		assert.deepEqual(retried({ a: { queries: ['x'] } }, { a: { queries: ['x'] }, queries: ['y'] }), []);
		assert.deepEqual(retried({ a: { queries: ['x'] } }, { a: { queries: ['x'] }, queries: ['x'] }), [
			'The retry of run changed nothing',
		]);
	});

	test('of successful calls are a warning; parallel calls are not retries', () => {
		const again = chat([
			calls('run', { a: 1 }),
			answers('1'),
			calls('run', { a: 1 }, 'call_2'),
			answers('1', 'call_2'),
		]);
		assert.deepEqual(
			findUnchangedRetries(again).map(({ severity }) => severity),
			['warning'],
		);
		const other = chat([calls('run', { a: 1 }), answers('1'), calls('run', { a: 2 }, 'call_2')]);
		assert.deepEqual(findUnchangedRetries(other), []);
	});
});

describe('links', () => {
	const titles = (messages: unknown[]) =>
		findLinkFaults(chat(messages)).map(({ title, severity }) => `${severity}: ${title}`);
	test('without a counterpart are reported', () => {
		assert.deepEqual(titles([calls('run', {}), answers('1')]), []);
		assert.deepEqual(titles([calls('run', {}), answers('1'), calls('run', {}, 'b')]), ['warning: run has no result']);
		assert.deepEqual(titles([calls('run', {}, 'a'), calls('run', {}, 'b'), answers('1', 'b')]), [
			'error: run has no result',
		]);
		assert.deepEqual(titles([answers('1', 'nobody')]), ['error: Result without a call']);
		assert.deepEqual(titles([calls('run', {}), answers('1'), answers('2')]), ['error: run has 2 results']);
		assert.deepEqual(titles([calls('run', {}), answers('1'), calls('run', {}), answers('2')]), [
			'error: Duplicate call id',
		]);
	});

	test('in a log without any results are not reported', () => {
		assert.deepEqual(titles([calls('run', {}), { role: 'assistant', content: 'Done.' }]), []);
	});

	test('without ids are matched by name and order', () => {
		const old = (name: string) => ({ role: 'assistant', content: null, function_call: { name, arguments: '{}' } });
		const transcript = chat([old('run'), { role: 'function', name: 'run', content: '1' }, old('look')]);
		assert.deepEqual(transcript.links, [
			{ message: 0, call: 0, results: [1] },
			{ message: 2, call: 0, results: [] },
		]);
	});
});

describe('critique', () => {
	const titles = (...revisions: object[]) =>
		findUnresolvedCritique(chat(revisions.map((args, i) => calls('ReviseAnswer', args, `c${i}`)))).map(
			({ title }) => title,
		);
	test('that is addressed, empty or standalone is not reported', () => {
		assert.deepEqual(titles(draft()), []);
		assert.deepEqual(
			titles(draft(), draft({ answer: 'Two.', reflection: { missing: 'Names.', superfluous: '' } })),
			[],
		);
		const content = { reflection: { missing: 'None', superfluous: 'N/A' } };
		assert.deepEqual(titles(draft(content), draft(content)), []);
	});

	test('that is carried over or had no effect is reported', () => {
		assert.deepEqual(titles(draft(), draft({ answer: 'Two.' })), ['The critique was repeated']);
		assert.deepEqual(titles(draft(), draft({ reflection: { missing: 'Names.', superfluous: '' } })), [
			'The critique had no effect',
		]);
		assert.deepEqual(titles(draft(), { answer: 'Two.' }), ['The last revision has no reflection']);
	});
});

describe('citations', () => {
	const found = JSON.stringify([
		{
			url: 'https://example.org/a',
			content: 'Solar panels in Spain produced 41 terawatt hours of electricity in 2023.',
		},
		{
			url: 'https://example.org/b',
			content: "Wind turbines along the northern coast supply most of Denmark's electricity.",
		},
	]);
	const verdicts = (answer: string, references: string[]) => {
		const transcript = chat([
			calls('search', { query: 'q' }),
			answers(found),
			calls('finish', { answer, references }, 'call_2'),
		]);
		return {
			verdicts: findReferences(transcript).flatMap(({ claims }) => claims.map(({ verdict }) => verdict)),
			titles: findCitationFaults(transcript).map(({ title }) => title),
		};
	};
	const both = ['https://example.org/a', 'https://www.example.org/b/'];

	test('that agree with their sources are supported', () => {
		const { verdicts: result, titles } = verdicts(
			"Solar panels in Spain produced 41 terawatt hours [1]. Wind turbines supply most of Denmark's electricity [2].",
			both,
		);
		assert.deepEqual([result, titles], [['supported', 'supported'], []]);
	});

	test('that are swapped, misquoted, made up or without a reference are detected', () => {
		assert.deepEqual(verdicts("Wind turbines supply most of Denmark's electricity [1].", both.slice(0, 1)).verdicts, [
			'elsewhere',
		]);
		assert.deepEqual(verdicts('Solar panels in Spain produced 51 terawatt hours [1].', both.slice(0, 1)), {
			verdicts: ['number'],
			titles: ['51 appears in none of [1]'],
		});
		assert.deepEqual(verdicts('Solar panels in Spain produced electricity [1].', ['https://example.org/c']).titles, [
			'Reference [1] was never retrieved',
		]);
		assert.deepEqual(verdicts('Solar panels in Spain produced electricity [1][3].', both).titles, [
			'[3] has no reference',
			'Reference [2] is not cited',
		]);
	});

	test('are assigned to sentences; a mark refers with certainty only to the sentence before it', () => {
		assert.deepEqual(citedSentences('One is here. Two is there [1][2]. Three, [3] and four.\nFive [1-3].'), [
			{ text: 'One is here.', cites: [1, 2], direct: false },
			{ text: 'Two is there', cites: [1, 2], direct: true },
			{ text: 'Three,', cites: [3], direct: true },
			{ text: 'Five', cites: [1, 2, 3], direct: true },
		]);
	});

	test('in plain answers are read from the list at the end', () => {
		const transcript = chat([
			calls('search', {}),
			answers(found),
			{
				role: 'assistant',
				content: 'Solar panels in Spain produced 41 terawatt hours [1].\n\nSources:\n[1] https://example.org/a',
			},
		]);
		const [answer] = findReferences(transcript);
		assert.deepEqual(
			answer?.references.map(({ url, retrieved }) => [url, retrieved]),
			[['https://example.org/a', [1]]],
		);
		assert.equal(answer?.claims[0]?.verdict, 'supported');
	});
});

describe('tokens', () => {
	test('with contradictory counts are reported', () => {
		const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 16 };
		const [wrong] = findTokenFaults(chat([{ role: 'assistant', content: 'a', usage }]));
		assert.equal(wrong?.title, 'Wrong token total');
		const two = {
			type: 'ai',
			data: {
				content: 'a',
				usage_metadata: { input_tokens: 1, output_tokens: 2 },
				response_metadata: { token_usage: { prompt_tokens: 3, completion_tokens: 2 } },
			},
		};
		assert.deepEqual(
			findTokenFaults(chat([two])).map(({ title }) => title),
			['Conflicting token counts'],
		);
	});

	test('read from a cache count as prompt tokens', () => {
		const usage = { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 7 };
		assert.deepEqual(tokenTotals(chat([{ role: 'assistant', content: 'a', usage }])), {
			prompt: 125,
			completion: 7,
			total: 132,
			cached: 100,
			reasoning: 0,
			counted: 1,
			answers: 1,
		});
	});

	test('a truncated answer is reported', () => {
		assert.equal(findTruncated(chat([{ role: 'assistant', content: 'a', finish_reason: 'length' }])).length, 1);
		assert.equal(findTruncated(chat([{ role: 'assistant', content: 'a', stop_reason: 'end_turn' }])).length, 0);
	});
});
