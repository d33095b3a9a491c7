import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { LinkPictures } from '../../../src/engines/driver/linkPictures.ts';
import { readPicture } from '../../../src/runs/pictureFile.ts';
import { pictureName, pngOf } from '../../support/pictures.ts';

let run = '';
before(async () => {
	run = await mkdtemp(join(tmpdir(), 'pictures-'));
	await mkdir(join(run, 'pictures'));
});
after(() => rm(run, { recursive: true, force: true }));

const reasonOf = async (reading: Promise<unknown>) => {
	const error = await reading.then(
		() => null,
		(thrown: unknown) => thrown,
	);
	assert.ok(error instanceof Failure, String(error));
	return error.reason;
};

async function keep(content: Uint8Array, name = pictureName(content)): Promise<string> {
	await writeFile(join(run, 'pictures', name), content);
	return name;
}

test('a picture is read as it was recorded', async () => {
	const content = pngOf(4, 3);
	assert.deepEqual(await readPicture(run, await keep(content)), { type: 'image/png', content });
});

test('other files in place of a picture are not shown', async () => {
	for (const content of [
		Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
		Buffer.from('GIF89a'),
		Buffer.alloc(0),
		pngOf(60_000, 60_000),
		pngOf(0, 4),
		Buffer.concat([pngOf(4, 4), Buffer.alloc(5 << 20)]),
	]) {
		assert.equal(await reasonOf(readPicture(run, await keep(content))), 'corrupt');
	}
	const other = pictureName(pngOf(5, 5));
	assert.equal(await reasonOf(readPicture(run, await keep(pngOf(4, 4), other))), 'corrupt');
	const link = pictureName(pngOf(6, 6));
	await writeFile(join(run, 'secret'), pngOf(6, 6));
	await symlink(join(run, 'secret'), join(run, 'pictures', link));
	assert.equal(await reasonOf(readPicture(run, link)), 'invalid');
	assert.equal(await reasonOf(readPicture(run, pictureName(pngOf(7, 7)))), 'missing');
});

test('names that refer to anything else are rejected', async () => {
	const hash = 'a'.repeat(64);
	for (const name of ['../run.json', `${hash}.svg`, `${hash}.png/..`, `../${hash}.png`, hash, '', `${hash}.png\n`]) {
		await assert.rejects(readPicture(run, name), Failure, name);
	}
});

test('pictures from a trainer are checked before they are written', async () => {
	const written: string[] = [];
	const pictures = new LinkPictures(
		async (file) => void written.push(file),
		() => assert.fail('The limit is not reached.'),
	);
	const content = pngOf(4, 4);
	const block = (file: string, bytes: Buffer) => [
		{ lines: [], pictures: [{ file, content: bytes.toString('base64') }] },
	];
	await pictures.add(block(pictureName(content), content));
	await pictures.add([{ lines: [] }]);
	assert.deepEqual(written, [pictureName(content)]);
	await assert.rejects(pictures.add(block(pictureName(content), pngOf(5, 5))), Failure);
	await assert.rejects(pictures.add(block(pictureName(Buffer.from('<svg/>')), Buffer.from('<svg/>'))), Failure);
	assert.equal(written.length, 1);
});
