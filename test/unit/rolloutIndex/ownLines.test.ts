import assert from 'node:assert/strict';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { decode } from '../../../src/protocol/decode.ts';
import { rolloutLineSchema } from '../../../src/protocol/rolloutLine.ts';
import { isPlainRollout, linesOf, rolloutOfLine } from '../../../src/rolloutIndex/ownLines.ts';
import { folderFor, rolloutLine } from './ownRun.ts';

interface Seen {
	readonly text: string;
	readonly offset: number;
	readonly whole: boolean;
}

function expected(bytes: Buffer): Seen[] {
	const lines: Seen[] = [];
	let start = 0;
	while (start < bytes.length) {
		const feed = bytes.indexOf(10, start);
		const end = feed === -1 ? bytes.length : feed;
		lines.push({ text: bytes.toString('latin1', start, end), offset: start, whole: feed !== -1 });
		start = end + 1;
	}
	return lines;
}

describe('lines of a file that is read in pieces', () => {
	it('are each read once, wherever the pieces start and however small the reads are', async (context) => {
		const path = join(await folderFor(context), 'lines');
		const random = Random.of(5, 'lines');
		for (let round = 0; round < 60; round++) {
			let text = '';
			for (let i = random.int(30); i > 0; i--)
				text += 'x'.repeat(random.int(random.int(3) === 0 ? 300 : 10)) + '\n'.repeat(random.int(3));
			const bytes = Buffer.from(text);
			writeFileSync(path, bytes);
			const cuts = [0, ...Array.from({ length: random.int(5) }, () => random.int(bytes.length + 1)), bytes.length].sort(
				(a, b) => a - b,
			);
			const fd = openSync(path, 'r');
			const seen: Seen[] = [];
			for (let i = 1; i < cuts.length; i++) {
				for (const line of linesOf(fd, cuts[i - 1] as number, cuts[i] as number, bytes.length, 16)) {
					assert.equal(line.length, line.bytes.length);
					seen.push({ text: line.bytes.toString('latin1'), offset: line.offset, whole: line.whole });
				}
			}
			closeSync(fd);
			assert.deepEqual(seen, expected(bytes), `round ${round}`);
		}
	});

	it('do not fill the memory if one is longer than a piece', async (context) => {
		const path = join(await folderFor(context), 'long');
		writeFileSync(path, Buffer.concat([Buffer.from('a\n'), Buffer.alloc(70 << 20, 'x'), Buffer.from('\nb\n')]));
		const fd = openSync(path, 'r');
		const seen = [...linesOf(fd, 0, 1e9, (70 << 20) + 5)].map(({ offset, tooLong, length }) => [
			offset,
			tooLong,
			length,
		]);
		closeSync(fd);
		assert.deepEqual(seen, [
			[0, false, 1],
			[2, true, 70 << 20],
			[3 + (70 << 20), false, 1],
		]);
	});
});

describe('parsing a rollout line', () => {
	const values: unknown[] = [
		null,
		undefined,
		0,
		1.5,
		'',
		'text',
		true,
		[],
		{},
		[{ role: 'user', content: 'x' }],
		[1],
		{ a: 1 },
		{ a: null },
		{ a: 'x' },
	];
	const fields = [
		'step',
		'stage',
		'group',
		'index',
		'prompt',
		'completion',
		'answer',
		'row',
		'rewards',
		'reward',
		'advantage',
		'truncated',
		'tokens',
		'parents',
		'extra',
	];

	it('never accepts in its fast check what the schema rejects', () => {
		const random = Random.of(3, 'rollouts');
		let taken = 0;
		for (let round = 0; round < 5000; round++) {
			const line: Record<string, unknown> = { ...rolloutLine() };
			if (random.int(2) === 0)
				line.tokens = {
					text: ['a'],
					logprob: [-1, null],
					entropy: random.int(2) === 0 ? [0] : values[random.int(values.length)],
					...(random.int(2) === 0
						? {}
						: { version: random.int(2) === 0 ? [3, null] : values[random.int(values.length)] }),
				};
			for (let i = random.int(3); i > 0; i--)
				line[fields[random.int(fields.length)] as string] = values[random.int(values.length)];
			const value: unknown = JSON.parse(JSON.stringify(line));
			const decoded = decode(rolloutLineSchema, value);
			if (isPlainRollout(value)) {
				taken++;
				assert.ok(decoded.ok, JSON.stringify(value));
			}
			const read = rolloutOfLine(Buffer.from(JSON.stringify(value)));
			assert.equal(typeof read === 'object', decoded.ok, JSON.stringify(value));
		}
		assert.ok(taken > 1000, `${taken}`);
	});

	it('reports why a line is invalid, and reads bare NaN as null', () => {
		assert.equal(rolloutOfLine(Buffer.from('   ')), null);
		assert.equal(rolloutOfLine(Buffer.from('{"step":')), 'invalid JSON');
		assert.match(String(rolloutOfLine(Buffer.from('{"step":1}'))), /is not valid$/);
		const line = JSON.stringify(rolloutLine()).replace('"reward":1', '"reward":NaN');
		const read = rolloutOfLine(Buffer.from(line));
		assert.ok(typeof read === 'object' && read !== null);
		assert.equal(read.reward, null);
	});
});
