import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { JsonParts, type JsonShape } from '../../../src/files/jsonParts.ts';
import { parseLooseJson } from '../../../src/files/looseJson.ts';
import { episodeRollouts, episodeStepParts } from '../../../src/runs/importers/formats/traceRecord.ts';
import { root } from '../../scripts/paths.ts';
import { mutations } from '../../support/fileMutations.ts';

const decoder = new TextDecoder();

/** Returns the parts as parsed values, or undefined if the text is left to the parser. */
function partsOf(parts: JsonParts, bytes: Buffer, pieces: readonly Buffer[] = [bytes]): unknown {
	const text = parts.of(pieces);
	return text === null ? undefined : JSON.parse(text);
}
const partsIn = (text: string, shape: JsonShape) => partsOf(new JsonParts(shape), Buffer.from(text));

/** The same parts of a parsed value. */
function taken(value: unknown, shape: JsonShape): unknown {
	if (shape === true || typeof value !== 'object' || value === null) return value;
	if (Array.isArray(value)) return Array.isArray(shape) ? value.map((entry) => taken(entry, shape[0])) : [];
	if (Array.isArray(shape)) return {};
	const fields = Object.entries(shape).filter(([key]) => Object.hasOwn(value, key));
	return Object.fromEntries(fields.map(([key, part]) => [key, taken((value as Record<string, unknown>)[key], part)]));
}

function parsed(bytes: Buffer): { readonly value: unknown } | null {
	try {
		return { value: parseLooseJson(decoder.decode(bytes)) };
	} catch {
		return null;
	}
}

/** The part of a record used to list steps: its steps, or why it is not read. */
function stepsOf(record: unknown): unknown {
	const read = episodeRollouts(record);
	return typeof read === 'string' ? read : read.map(({ step }) => step);
}

/** Episodes of a fixture, some with texts and values that look like their steps. */
const lines = [1, 2, 3].flatMap((step) => {
	const path = join(root, `test/fixtures/prime-rl/run/rollouts/step_${step}/train/all/traces.jsonl`);
	return readFileSync(path, 'utf8')
		.split('\n')
		.filter((line) => line !== '')
		.map((line, i) => {
			const { traces, ...rest } = JSON.parse(line) as { traces: object[] };
			const note = '"run": {"step": 7}, \\"run\\": {"work": {"step": 8}}';
			const decoy = { nodes: [[[{ run: { step: 9 } }]]], deep: { run: { step: 10 } } };
			const run = i % 2 === 0 ? { id: 'r', step } : { id: note, work: { type: 'train', step } };
			return Buffer.from(JSON.stringify({ note, decoy, ...rest, traces: [...traces, decoy].slice(0, -1), run }));
		});
});

describe('parts of JSON text', () => {
	test('are the fields and entries that the shape names', () => {
		const shape = { a: true, b: { c: true }, d: [{ e: true }] } as const;
		const text =
			'{ "z": [1, {"a": 2}], "b": {"c": "\\u00e9\\"", "x": 1}, "d": [{"e": [1], "f": 2}, 3, []] , "a": -0.5e+3 }';
		assert.deepEqual(partsIn(text, shape), { b: { c: 'é"' }, d: [{ e: [1] }, 3, []], a: -500 });
		assert.deepEqual(partsIn('{"b": [1, 2], "d": {"e": 1}, "a": null}', shape), { b: [], d: {}, a: null });
		assert.deepEqual(partsIn('[{"a": 1}]', shape), []);
		assert.deepEqual(partsIn('{"a": 1, "a": {"b": 2}}', shape), { a: { b: 2 } });
	});

	test('are left to the parser if they could differ', () => {
		for (const text of [
			...['', ' ', '1', '{"a": 1', '{"a": 1}}', '{"a": 1},', '{a: 1}', '{"a" 1}', '{"a": 1,}', '{,}', '[1,]', '[1 2]'],
			...[
				'{"a": 01}',
				'{"a": 1.}',
				'{"a": .5}',
				'{"a": +1}',
				'{"a": 1e}',
				'{"a": tru}',
				'{"a": NaN}',
				'{"x": Infinity}',
			],
			...[
				'{"a": "\\x"}',
				'{"a": "\\u12g4"}',
				'{"x": "a\tb"}',
				'{"x": "\u0001"}',
				"{'a': 1}",
				'{"a": [}]}',
				'{"\\u0061": 1}',
			],
			...[`{"x": ${'['.repeat(600)}${']'.repeat(600)}}`, '\ufeff{"a": 1}', '{"a": 1} x', '[}', '{"a": 1]', '{"a":: 1}'],
		]) {
			assert.equal(partsIn(text, { a: true }), undefined, text);
		}
	});

	test('are left to the parser beyond the limit on values, toward which a long string counts as one', () => {
		const list = Buffer.from(`{"x": [${'1,'.repeat(4_000_000)}1], "a": 1}`);
		assert.equal(partsOf(new JsonParts({ a: true }), list), undefined);
		const long = Buffer.from(`{"x": "${'a'.repeat(5_000_000)}", "a": 1}`);
		assert.deepEqual(partsOf(new JsonParts({ a: true }), long), { a: 1 });
	});

	test('match those of the parsed text in 10,000 damaged lines, and so do the steps', () => {
		const parts = new JsonParts(episodeStepParts);
		const random = Random.of('json parts', 1);
		let [found, damaged, left] = [0, 0, 0];
		for (let i = 0; i < 10_000; i++) {
			const line = random.pick(lines);
			const mutation = random.pick(mutations);
			const bytes = i < lines.length ? (lines[i] as Buffer) : mutation.apply(line, random, lines);
			const cut = random.int(bytes.length + 1);
			const value = partsOf(parts, bytes, [bytes.subarray(0, cut), bytes.subarray(cut)]);
			const whole = parsed(bytes);
			if (value === undefined) {
				assert.ok(i >= lines.length, 'an undamaged line was left to the parser');
				if (whole === null) damaged++;
				else left++;
				continue;
			}
			found++;
			assert.ok(whole !== null, `${mutation.name}: invalid text was accepted`);
			assert.deepEqual(value, taken(whole.value, episodeStepParts), mutation.name);
			assert.deepEqual(stepsOf(value), stepsOf(whole.value), mutation.name);
		}
		// Most damage must be tested, and few valid lines may take the slow path.
		assert.ok(found > 3000 && damaged > 1000, `${found} found, ${damaged} damaged`);
		assert.ok(left < 500, `${left} of ${found + left} valid lines were left to the parser`);
	});

	test('accept long strings and lists exactly if the parser does, wherever a byte is wrong', () => {
		const parts = new JsonParts({ a: true });
		const random = Random.of('json runs', 1);
		const entries = {
			numbers: [
				'0',
				'-0',
				'7',
				'-12',
				'150000',
				'0.5',
				'-1.25',
				'1e-07',
				'2E+3',
				'6.0e5',
				'01',
				'-',
				'1.',
				'.5',
				'1e',
				'+1',
			],
			words: ['true', 'false', 'null', 'tru', 'falsy', 'nulll', 'NaN'],
			texts: ['"a"', '""', '"\\n"'],
		};
		const damage = [...'"\\,-.]}[{ \t\n\u0000\u001f\u007f', 'é', '0', 'e'];
		let [accepted, rejected] = [0, 0];
		for (let i = 0; i < 20_000; i++) {
			const separator = random.pick([',', ', ', ' ,', ',\n']);
			const list = (kind: readonly string[], correct: number) =>
				`[${Array.from({ length: random.int(40) }, () => kind[random.int(random.int(20) > 0 ? correct : kind.length)] ?? '').join(separator)}]`;
			const long = JSON.stringify('We have é 中 "x"'.repeat(random.int(12)).slice(random.int(9)));
			const value = random.pick([
				() => list(entries.numbers, 10),
				() => list(entries.words, 3),
				() =>
					list([...entries.numbers.slice(0, 10), ...entries.words.slice(0, 3), ...entries.texts, '[1,2]', '{}'], 18),
				() => long,
				() => `[${long},${list(entries.numbers, 10)}]`,
			])();
			const at = random.int(value.length + 1);
			const harmed =
				random.int(2) === 0 ? value : value.slice(0, at) + random.pick(damage) + value.slice(at + random.int(2));
			const text = `{"${'x'.repeat(1 + random.int(4))}":${harmed},"a":${i}}`;
			const bytes = Buffer.from(text);
			const found = parts.of([bytes]);
			let whole: Record<string, unknown> | null = null;
			try {
				whole = JSON.parse(text);
			} catch {
				// Rejected.
			}
			if (whole === null) {
				assert.equal(found, null, text);
				rejected++;
			} else if (found === null) {
				// Only an escaped key may be left to the parser.
				assert.match(text, /\\/, text);
			} else {
				assert.deepEqual(JSON.parse(found), { a: i }, text);
				accepted++;
			}
		}
		assert.ok(accepted > 8000 && rejected > 3000, `${accepted} accepted, ${rejected} rejected`);
	});
});
