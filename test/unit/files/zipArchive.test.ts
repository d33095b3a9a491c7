import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { ZipArchive } from '../../../src/files/zipArchive.ts';
import { type Member, zipFile } from '../../support/zipFile.ts';

const members: Member[] = [0, 8, 93].map((method, i) => ({
	name: `samples/${i}.json`,
	text: `text ${i} `.repeat(50),
	method: method as 0 | 8 | 93,
}));
const open = (data: Buffer) =>
	ZipArchive.open({ size: data.length, read: async (offset, length) => data.subarray(offset, offset + length) });

/** Reads all members as text. */
async function textsOf(archive: ZipArchive): Promise<string[]> {
	const texts: string[] = [];
	for (const member of archive.members) texts.push((await archive.read(member, 1 << 20)).toString());
	return texts;
}
const wanted = members.map(({ text }) => text);

describe('a zip archive', () => {
	for (const zip64 of [false, true]) {
		test(`is read with every compression method${zip64 ? ' and with Zip64 records' : ''}`, async () => {
			const archive = await open(zipFile(members, zip64));
			assert.equal(archive.damage, null);
			assert.deepEqual(
				archive.members.map(({ name }) => name),
				members.map(({ name }) => name),
			);
			assert.deepEqual(await textsOf(archive), wanted);
		});

		test(`is read without its directory${zip64 ? ' and with Zip64 records' : ''}`, async () => {
			const whole = zipFile(members, zip64);
			const archive = await open(whole.subarray(0, whole.indexOf('PK\x01\x02', 'latin1')));
			assert.equal(archive.damage, 'it has no end record');
			assert.deepEqual(await textsOf(archive), wanted);
		});
	}

	test('is read up to the point where it was truncated', async () => {
		const whole = zipFile(members);
		const third = whole.indexOf('samples/2.json') - 30;
		const archive = await open(whole.subarray(0, third + 60));
		assert.equal(archive.members.length, 3);
		const [first, second, last] = archive.members;
		assert.ok(first && second && last);
		assert.equal((await archive.read(first, 1000)).toString(), wanted[0]);
		assert.equal((await archive.read(second, 1000)).toString(), wanted[1]);
		await assert.rejects(archive.read(last, 1000), /is truncated/);
	});

	test('is read around a damaged part in the middle', async () => {
		const whole = zipFile(members);
		whole.fill(0, whole.indexOf('samples/1.json') - 30, whole.indexOf('samples/1.json') + 20);
		const archive = await open(whole.subarray(0, whole.indexOf('PK\x01\x02', 'latin1')));
		assert.deepEqual(
			archive.members.map(({ name }) => name),
			['samples/0.json', 'samples/2.json'],
		);
		assert.deepEqual(await textsOf(archive), [wanted[0], wanted[2]]);
	});

	test('is read if a member consists of several Zstandard frames', async () => {
		const text = 'one two ';
		const body = Buffer.concat([zstdCompressSync(Buffer.from('one ')), zstdCompressSync(Buffer.from('two '))]);
		assert.deepEqual(await textsOf(await open(zipFile([{ name: 'a', text, method: 93, body }]))), [text]);
	});

	test('reports a member that is damaged, too large or compressed in an unknown way', async () => {
		const refuses = async (member: Member, words: RegExp, limit = 1000, change = (data: Buffer) => data) => {
			const archive = await open(change(zipFile([member])));
			await assert.rejects(archive.read(archive.members[0] as never, limit), words);
		};
		const plain: Member = { name: 'a', text: 'some text', method: 0 };
		await refuses(plain, /checksum is wrong/, 1000, (data) => {
			data[data.indexOf('some text')] = 0x53;
			return data;
		});
		await refuses({ ...plain, text: ' '.repeat(2 << 20) }, /is larger than 1 MiB/, 1 << 20);
		await refuses({ ...plain, method: 12 }, /method 12, which is not supported/);
		for (const method of [8, 93] as const) {
			const bomb = ' '.repeat(1 << 20);
			await refuses({ name: 'a', text: bomb, method, size: 100 }, /cannot be decompressed/, 1 << 16);
			await refuses({ name: 'a', text: bomb, method, body: Buffer.from('no') }, /cannot be decompressed/, 2 << 20);
		}
		const cut = zstdCompressSync(Buffer.from(wanted[0] ?? ''));
		await refuses({ name: 'a', text: wanted[0] ?? '', method: 93, body: cut.subarray(0, -5) }, /truncated/);
	});

	test('does not read overlapping members more than once', async () => {
		const text = 'x'.repeat(5000);
		const data = zipFile([{ name: 'a', text, method: 0 }]);
		const list = data.indexOf('PK\x01\x02', 0, 'latin1');
		const entry = data.subarray(list, data.length - 22);
		const end = Buffer.from(data.subarray(data.length - 22));
		end.writeUInt16LE(1000, 10);
		end.writeUInt32LE(1000 * entry.length, 12);
		const archive = await open(Buffer.concat([data.subarray(0, list), ...Array(1000).fill(entry), end]));
		assert.equal(archive.damage, 'its members overlap');
		assert.deepEqual(await textsOf(archive), [text]);
	});

	test('does not believe a directory that claims more entries than it has', async () => {
		const data = zipFile(members);
		data.writeUInt16LE(30_000, data.length - 12);
		const archive = await open(data);
		assert.match(archive.damage ?? '', /entry 4 in its directory is missing/);
		assert.deepEqual(await textsOf(archive), wanted);
		assert.equal((await open(Buffer.alloc(0))).members.length, 0);
	});
});
