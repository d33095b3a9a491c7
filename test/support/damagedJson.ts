/** Damaged JSON whose parts must match those of the parsed text. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../../src/base/random.ts';
import { JsonParts, type JsonShape } from '../../src/files/jsonParts.ts';
import { parseLooseJson } from '../../src/files/looseJson.ts';
import { episodeRollouts, episodeStepParts } from '../../src/runs/importers/formats/traceRecord.ts';
import { root } from '../scripts/paths.ts';
import { mutations } from './fileMutations.ts';

const decoder = new TextDecoder();

/** Returns the parts as parsed values, or undefined if the text is left to the parser. */
export function partsOf(parts: JsonParts, bytes: Buffer, pieces: readonly Buffer[] = [bytes]): unknown {
	const text = parts.of(pieces);
	return text === null ? undefined : JSON.parse(text);
}

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

/** Checks that the parts of damaged lines match those of the parsed text, and so do the steps. */
export function checkDamagedLines(cases: number): void {
	const parts = new JsonParts(episodeStepParts);
	const random = Random.of('json parts', 1);
	let [found, damaged, left] = [0, 0, 0];
	for (let i = 0; i < cases; i++) {
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
	assert.ok(found > 0.3 * cases && damaged > 0.1 * cases, `${found} found, ${damaged} damaged`);
	assert.ok(left < 0.05 * cases, `${left} of ${found + left} valid lines were left to the parser`);
}

/** Checks that long strings and lists are accepted exactly if the parser accepts them, wherever a byte is wrong. */
export function checkDamagedValues(cases: number): void {
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
	for (let i = 0; i < cases; i++) {
		const separator = random.pick([',', ', ', ' ,', ',\n']);
		const list = (kind: readonly string[], correct: number) =>
			`[${Array.from({ length: random.int(40) }, () => kind[random.int(random.int(20) > 0 ? correct : kind.length)] ?? '').join(separator)}]`;
		const long = JSON.stringify('We have é 中 "x"'.repeat(random.int(12)).slice(random.int(9)));
		const value = random.pick([
			() => list(entries.numbers, 10),
			() => list(entries.words, 3),
			() => list([...entries.numbers.slice(0, 10), ...entries.words.slice(0, 3), ...entries.texts, '[1,2]', '{}'], 18),
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
	assert.ok(accepted > 0.4 * cases && rejected > 0.15 * cases, `${accepted} accepted, ${rejected} rejected`);
}
