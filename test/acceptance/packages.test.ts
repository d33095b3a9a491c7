/**
 * Builds the VSIX for every platform and checks its contents. Libraries of other platforms are downloaded from the npm
 * registry (about 150 MB) and kept in the cache. `--only linux-arm64` checks one platform.
 */
import assert from 'node:assert/strict';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ZipArchive } from '../../src/files/zipArchive.ts';
import type { ZipMember } from '../../src/files/zipMember.ts';
import { makePackage } from '../scripts/package.ts';
import { targets } from '../scripts/platformLibraries.ts';

const largestPackage = 110e6;
const library = /\.(node|so(\.\d+)*|dylib|dll)$/;
/** Files of the repository, and of packages, that users do not need. */
const unwanted =
	/(^|\/)(test|tests|__test__|\.git|\.github|bench)\/|\.test\.|\.map$|\.tsbuildinfo$|(^|\/)(tsconfig|biome)[^/]*\.json$/;

for (const target of process.env.CHECK_ONLY === undefined ? targets : [process.env.CHECK_ONLY]) {
	test(`the package for ${target} contains its libraries and only those`, async (t) => {
		const folder = await mkdtemp(join(tmpdir(), 'rl-package-'));
		t.after(() => rm(folder, { recursive: true, force: true }));
		const path = await makePackage(target, join(folder, 'reasoning-lab.vsix'));
		const { size } = await stat(path);
		console.error(`${target}: ${(size / 1e6).toFixed(1)} MB`);
		assert.ok(size < largestPackage, `${size} bytes`);
		const file = await open(path);
		t.after(() => file.close());
		const source = {
			size,
			read: async (offset: number, length: number) => {
				const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
				return buffer.subarray(0, bytesRead);
			},
		};
		const archive = await ZipArchive.open(source);
		assert.equal(archive.damage, null);
		const members = new Map(archive.members.map((member) => [member.name, member]));
		assert.equal(members.size, archive.members.length, 'no name occurs twice');
		const text = async (name: string) =>
			(await archive.read(members.get(name) as ZipMember, 64 << 20)).toString('utf8');
		assert.match(await text('extension.vsixmanifest'), new RegExp(`TargetPlatform="${target}"`));

		const [platform = '', arch = ''] = target.split('-');
		const libraries = [...members.keys()].filter((name) => library.test(name));
		const runtime = `extension/node_modules/onnxruntime-node/bin/napi-v6/${platform}/${arch}/`;
		const duckdb = `extension/node_modules/@duckdb/node-bindings-${target}/`;
		assert.deepEqual(
			libraries.filter((name) => !name.startsWith(runtime) && !name.startsWith(duckdb)),
			[],
			'libraries elsewhere',
		);
		assert.ok(members.has(`${runtime}onnxruntime_binding.node`));
		assert.ok(libraries.some((name) => name.startsWith(duckdb) && name.endsWith('.node')));
		for (const name of libraries) {
			const head = (await archive.read(members.get(name) as ZipMember, 200 << 20)).subarray(0, 4096);
			assert.ok(machinesOf(head).includes(target), `${name}: ${machinesOf(head)}`);
		}
		assert.deepEqual(
			[...members.keys()].filter((name) => unwanted.test(name)),
			[],
		);
		for (const name of [
			'dist/extension.js',
			'dist/cli.js',
			'dist/engine.js',
			'dist/pipeline.js',
			'ThirdPartyNotices.txt',
		])
			assert.ok(members.has(`extension/${name}`), name);
		const manifest = JSON.parse(await text('extension/package.json'));
		assert.deepEqual([manifest.scripts, manifest.devDependencies], [undefined, undefined]);
	});
}

test('a platform without a library is rejected with a reason', async () => {
	await assert.rejects(makePackage('darwin-x64'), /onnxruntime-node has no library for darwin-x64/);
});

const machines: Readonly<Record<number, string>> = { 16777228: 'darwin-arm64', 16777223: 'darwin-x64' };

/** Returns the platforms that a library supports, according to its header; several for a universal Mach-O file. */
function machinesOf(head: Buffer): (string | undefined)[] {
	if (head.subarray(0, 4).toString('latin1') === '\x7fELF') {
		return [{ 62: 'linux-x64', 183: 'linux-arm64' }[head.readUInt16LE(18)]];
	}
	if (head.readUInt32LE(0) === 0xfeedfacf) return [machines[head.readUInt32LE(4)]];
	if (head.readUInt32BE(0) === 0xcafebabe) {
		return Array.from({ length: head.readUInt32BE(4) }, (_, i) => machines[head.readUInt32BE(8 + 20 * i)]);
	}
	if (head.subarray(0, 2).toString('latin1') === 'MZ') {
		return [{ 34404: 'win32-x64', 43620: 'win32-arm64' }[head.readUInt16LE(head.readUInt32LE(0x3c) + 4)]];
	}
	return [];
}
