import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pickle } from '../../../../../src/runs/importers/decoding/pickle.ts';
import { PickledData } from '../../../../../src/runs/importers/decoding/pickledData.ts';

/** Converts a pickle, given as text with one character per byte. */
async function dataOf(pickled: string, maxBytes = 1 << 20): Promise<unknown> {
	const pickle = new Pickle(Buffer.from(pickled, 'latin1'));
	const data = new PickledData(pickle, () => Promise.reject(new Error('no storage')), maxBytes);
	return data.of(pickle.read());
}

const text = (value: string) => `X${String.fromCharCode(value.length)}\0\0\0${value}`;

describe('pickles', () => {
	it('are read as data, without running the code that they name', async () => {
		// cos\nsystem\n(X...tR.: os.system("touch /tmp/x") in any Python.
		assert.equal(await dataOf(`\x80\x02cos\nsystem\n(${text('touch /tmp/x')}tR.`), '[os.system]');
		assert.equal(await dataOf(`\x80\x04${text('os')}${text('system')}\x93)\x81.`), '[os.system]');
		// A dictionary with a prototype as a key.
		const polluted = await dataOf(`\x80\x02}${text('__proto__')}}${text('a')}K\x01ss.`);
		assert.equal(({} as { a?: number }).a, undefined);
		assert.deepEqual(Object.keys(polluted as object), ['__proto__']);
	});

	it('decode to numbers, text, lists and dictionaries', async () => {
		// Python: pickle.dumps([1, 300, -2, 1 << 40, 0.5, None, True, {'a': ('b', b'')}], 2)
		const many = '](K\x01M,\x01J\xfe\xff\xff\xff\x8a\x06\0\0\0\0\0\x01G?\xe0\0\0\0\0\0\0N\x88';
		assert.deepEqual(await dataOf(`\x80\x02${many}}${text('a')}${text('b')}\x85se.`), [
			1,
			300,
			-2,
			2 ** 40,
			0.5,
			null,
			true,
			{ a: ['b'] },
		]);
		const numbers = Array.from({ length: 20 }, (_, i) => i);
		const encoded = numbers.map((number) => `K${String.fromCharCode(number)}`).join('');
		assert.deepEqual(await dataOf(`\x80\x02](${encoded}e.`), numbers);
		// A second batch of a list, and a mark followed by more than numbers.
		assert.deepEqual(await dataOf(`\x80\x02](${encoded}e(${encoded}e(K\x01](${encoded}ee.`), [
			...numbers,
			...numbers,
			1,
			numbers,
		]);
	});

	it('are limited in size, depth and opcodes', async () => {
		// Ten lists, each of which contains the one before it ten times.
		let bomb = `](${text('x'.repeat(100))}eq\x00`;
		for (let i = 1; i < 10; i++) bomb += `](${`h${String.fromCharCode(i - 1)}`.repeat(10)}eq${String.fromCharCode(i)}`;
		await assert.rejects(dataOf(`\x80\x02${bomb}.`), /^Error: is too large$/);
		await assert.rejects(dataOf(`\x80\x02${']'.repeat(100)}${'a'.repeat(99)}.`), /nested more than 64 levels deep/);
		// A list that contains itself.
		await assert.rejects(dataOf('\x80\x02]q\x00h\x00a.'), /nested more than/);
		// Copies of one long name.
		const name = `cos\n${'x'.repeat(1000)}\nq\x00`;
		for (const object of [name, `${name})Rq\x00`]) {
			await assert.rejects(dataOf(`\x80\x02${object}0](${'h\x00'.repeat(2000)}e.`), /is too large/);
		}
		await assert.rejects(dataOf('\x80\x02I1\n.'), /opcode 0x49 at byte 2 of the pickle is not supported/);
		await assert.rejects(dataOf('\x80\x02r\xff\xff\xff\xff.'), /has invalid object numbers/);
		for (const wrong of ['', '.', '\x80\x02', '(.', 'e', 'K', 'X\xff\xff\xff\xff.', 'h\x05.', '}K\x01K\x02e.', 'R.']) {
			await assert.rejects(dataOf(`\x80\x02${wrong}`), Error, JSON.stringify(wrong));
		}
	});
});
