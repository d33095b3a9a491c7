import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { ByteSearch, Sequence, windowBytes } from '../../../src/rolloutIndex/byteSearch.ts';

/** Compares byte by byte. */
function expectedIn(bytes: Buffer, sequence: Buffer, ignoreCase: boolean, from: number): number {
	const lower = (byte: number) => (ignoreCase && byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);
	for (let at = from; at + sequence.length <= bytes.length; at++) {
		let k = 0;
		while (k < sequence.length && lower(bytes[at + k] as number) === sequence[k]) k++;
		if (k === sequence.length) return at;
	}
	return -1;
}

function allIn(search: ByteSearch, bytes: Buffer, sequence: Sequence): number[] {
	const found: number[] = [];
	for (let at = search.indexOf(bytes, sequence, 0); at !== -1; at = search.indexOf(bytes, sequence, at + 1))
		found.push(at);
	return found;
}

for (const [name, search] of [
	['with SIMD instructions', new ByteSearch()],
	['without WebAssembly', new ByteSearch(false)],
] as const) {
	describe(`searching bytes ${name}`, () => checks(search));
}

it('uses WebAssembly if it is available', () => assert.ok(new ByteSearch().simd && !new ByteSearch(false).simd));

function checks(search: ByteSearch): void {
	it('gives the same positions as a comparison of each byte, in the window and in other memory', () => {
		const random = Random.of(6, 'bytes');
		let found = 0;
		for (let round = 0; round < 4000; round++) {
			// 0x40, 0x5b, 0x60 and 0x7b are next to the letters, and differ from each other only in the bit for lowercase.
			const alphabet = random.pick(['ab', 'aAbB', '@`[{aA', '\\u0', 'e zt\xc3\xa9']);
			const text = (length: number) =>
				Buffer.from(Array.from({ length }, () => alphabet.charCodeAt(random.int(alphabet.length))));
			const bytes = text(random.int(70));
			const ignoreCase = random.int(2) === 0;
			const made = text(1 + random.int(random.int(4) === 0 ? 20 : 4));
			const wanted = ignoreCase ? Buffer.from(made.toString('latin1').toLowerCase(), 'latin1') : made;
			const sequence = new Sequence(wanted, ignoreCase);
			// What follows the bytes in the window does not count.
			const offset = random.int(40);
			search.window.fill(wanted, 0, 400);
			bytes.copy(search.window, offset);
			const inWindow = search.window.subarray(offset, offset + bytes.length);
			const from = random.int(bytes.length + 2);
			const expected = expectedIn(bytes, wanted, ignoreCase, from);
			const told = `${JSON.stringify(wanted.toString('latin1'))} in ${JSON.stringify(bytes.toString('latin1'))}`;
			assert.equal(search.indexOf(inWindow, sequence, from), expected, `${told} from ${from}`);
			assert.equal(search.indexOf(bytes, sequence, from), expected, `${told} from ${from}, copied`);
			if (expected !== -1) found++;
		}
		assert.ok(found > 1000 && found < 3500, `${found}`);
	});

	it('finds occurrences at the end of the window, and in longer memory at the ends of its parts', () => {
		const wanted = Buffer.from('occurrence');
		const sequence = new Sequence(wanted, false);
		search.window.fill('.');
		wanted.copy(search.window, windowBytes - wanted.length);
		assert.deepEqual(allIn(search, search.window, sequence), [windowBytes - wanted.length]);
		const step = windowBytes - wanted.length + 1;
		for (const at of [0, step - 1, step, windowBytes - 5, windowBytes, 2 * step - 1, 2 * step, 3 * windowBytes]) {
			const bytes = Buffer.alloc(3 * windowBytes + wanted.length, '.');
			wanted.copy(bytes, at);
			assert.deepEqual(allIn(search, bytes, sequence), [at]);
		}
	});

	it('finds sequences of thousands of bytes, and rejects empty and longer ones', () => {
		const random = Random.of(7, 'long');
		const bytes = Buffer.from(Array.from({ length: 300_000 }, () => random.int(256)));
		for (const length of [5000, 65_536]) {
			const sequence = new Sequence(bytes.subarray(100_000, 100_000 + length), false);
			assert.deepEqual(allIn(search, bytes, sequence), [100_000]);
			const other = Buffer.from(sequence.bytes);
			other[length - 1] = (other[length - 1] as number) ^ 1;
			assert.deepEqual(allIn(search, bytes, new Sequence(other, false)), []);
		}
		assert.throws(() => new Sequence(bytes.subarray(0, 65_537), false), RangeError);
		assert.throws(() => new Sequence(bytes.subarray(0, 0), false), RangeError);
	});

	it('looks for two bytes with different values, because one could be repeated in the whole text', () => {
		for (const text of ['zzze', 'ezzz', 'zz', '=== done', 'q']) {
			const bytes = Buffer.from(text);
			const { probes } = new Sequence(bytes, false);
			const expected = Math.min(2, new Set(bytes).size);
			assert.equal(new Set(probes.map((at) => bytes[at])).size, expected, text);
		}
		const zs = Buffer.alloc(100_000, 'z');
		assert.equal(search.indexOf(zs, new Sequence(Buffer.from(`${'z'.repeat(99)}e`), true), 0), -1);
		assert.equal(search.indexOf(zs, new Sequence(zs.subarray(0, 60_000), true), 30_000), 30_000);
		assert.equal(search.indexOf(zs, new Sequence(zs.subarray(0, 60_000), true), 40_001), -1);
	});

	it('finds all occurrences in a text that consists of nothing else', () => {
		const bytes = Buffer.from('abab'.repeat(10_000));
		assert.equal(allIn(search, bytes, new Sequence(Buffer.from('aba'), true)).length, 19_999);
	});
}
