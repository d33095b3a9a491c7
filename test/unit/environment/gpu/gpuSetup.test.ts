import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { Random } from '../../../../src/base/random.ts';
import { planGpuSetup, removeGpu, setUpGpu, usableGpu } from '../../../../src/environment/gpu/gpuSetup.ts';
import { bestWheel, neededPackages } from '../../../../src/environment/gpu/gpuWheels.ts';
import { GpuRuntimeFolder, onnxruntimeVersion } from '../../../../src/runs/gpuRuntimeFolder.ts';
import { root } from '../../../scripts/paths.ts';
import { PackageIndex, type PackageIndexOptions, type ServedWheel } from '../../../support/packageIndex.ts';
import { builtProgram } from '../../../support/programs.ts';

const skip = process.platform === 'linux' && process.arch === 'x64' ? false : 'CUDA is set up on Linux x64 only';

/** Random text, which does not compress, so that downloads have several chunks. */
const noise = (seed: number, bytes: number) => {
	const random = Random.of('noise', seed);
	return Array.from({ length: bytes }, () => String.fromCharCode(33 + random.int(90))).join('');
};

/** The required packages, with files that are not libraries. */
const wheels: readonly ServedWheel[] = neededPackages.map(({ name, version, files }, i) => ({
	project: name,
	file: `${name.replaceAll('-', '_')}-${version.includes('.') ? version : `${version}.4.1`}-py3-none-manylinux_2_28_x86_64.whl`,
	members: Object.fromEntries(files.map((file) => [`some/folder/lib/${file}`, `${file} ${noise(i + 1, 50_000)}`])),
}));

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function prepare(options: PackageIndexOptions = {}) {
	const home = await mkdtemp(join(tmpdir(), 'gpu-setup-'));
	folders.push(home);
	const index = await PackageIndex.start(wheels, options);
	const folder = GpuRuntimeFolder.at({ REASONING_LAB_HOME: home });
	const setup = { folder, indexUrl: index.url, withoutGpu: true };
	return { home, index, folder, setup, [Symbol.asyncDispose]: () => index[Symbol.asyncDispose]() };
}

const fails = (reason: Failure['reason'], pattern: RegExp) => (error: unknown) => {
	assert.ok(error instanceof Failure && error.reason === reason && pattern.test(error.message), String(error));
	return true;
};

describe('Set Up GPU', { skip }, () => {
	for (const form of ['json', 'html'] as const) {
		test(`plans with sizes before it downloads, then creates a copy of the runtime (index pages in ${form})`, async () => {
			await using place = await prepare({ form });
			const { index, folder, setup } = place;
			const plan = await planGpuSetup(setup);
			assert.deepEqual(
				plan.wheels.map(({ package: { name } }) => name),
				neededPackages.map(({ name }) => name),
			);
			assert.ok(plan.wheels.every(({ bytes }) => bytes > 30_000) && plan.bytes > 150_000);
			assert.ok(!index.requests.some((line) => line.startsWith('GET /files/')), 'nothing has been downloaded yet');
			const messages: string[] = [];
			let last = 0;
			const record = await setUpGpu(setup, plan, ({ message, fraction }) => {
				assert.ok(fraction >= last && fraction <= 1, `${last}, ${fraction}`);
				last = fraction;
				messages.push(message);
			});
			assert.deepEqual(record.libraries, [
				'libcudart.so.13',
				'libcublasLt.so.13',
				'libcublas.so.13',
				'libcurand.so.10',
			]);
			assert.deepEqual(await folder.current(), record);
			for (const { files, place: where, name } of neededPackages) {
				const parent =
					where === 'libraries'
						? folder.libraries
						: join(folder.runtime, 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64');
				for (const file of files) assert.ok(readFileSync(join(parent, file), 'utf8').startsWith(file), name);
			}
			assert.ok(messages.includes(`Unpacking nvidia-curand ${record.wheels.at(-1)?.version}`));
			assert.ok(!existsSync(folder.downloads) && !existsSync(`${folder.runtime}.building`));
		});
	}

	test('resumes an interrupted download where it stopped', async () => {
		await using place = await prepare();
		const { index, folder, setup } = place;
		const plan = await planGpuSetup(setup);
		index.breakAfter = 20_000;
		await assert.rejects(setUpGpu(setup, plan), fails('unavailable', /interrupted at \d+%\.$/));
		assert.equal(await folder.current(), null);
		const [partial] = readdirSync(folder.downloads);
		const { size } = await stat(join(folder.downloads, partial as string));
		assert.ok(size > 0 && size <= 20_000, `${size}`);
		index.requests.length = 0;
		await setUpGpu(setup, plan);
		assert.equal(index.requests[0], `GET /files/${wheels[0]?.file} bytes=${size}-`);
		assert.notEqual(await folder.current(), null);
	});

	test('starts over if the server does not support range requests', async () => {
		await using place = await prepare({ ignoreRanges: true });
		const { index, folder, setup } = place;
		const plan = await planGpuSetup(setup);
		index.breakAfter = 20_000;
		await assert.rejects(setUpGpu(setup, plan), fails('unavailable', /interrupted/));
		await setUpGpu(setup, plan);
		assert.notEqual(await folder.current(), null);
	});

	test('rejects a file with a different hash, and a server that sends more than it announced', async () => {
		await using place = await prepare();
		const { index, folder, setup } = place;
		const plan = await planGpuSetup(setup);
		const { file } = wheels[1] as ServedWheel;
		for (const content of [Buffer.alloc(plan.wheels[1]?.bytes as number, 7), Buffer.alloc(1_000_000, 7)]) {
			index.replaced.set(file, content);
			await assert.rejects(setUpGpu(setup, plan), fails('corrupt', /^nvidia_cuda_runtime/));
			assert.equal(await folder.current(), null);
			// Earlier downloads are kept, but not this file.
			assert.deepEqual(readdirSync(folder.downloads), [plan.wheels[0]?.sha256]);
		}
		index.replaced.clear();
		index.requests.length = 0;
		await setUpGpu(setup, plan);
		assert.ok(!index.requests.some((line) => line.includes(wheels[0]?.file as string)), 'downloaded only once');
	});

	test('can be canceled, and keeps the previous setup', async () => {
		await using place = await prepare();
		const { folder, setup } = place;
		const plan = await planGpuSetup(setup);
		const before = await setUpGpu(setup, plan);
		const abort = new AbortController();
		const canceled = setUpGpu({ ...setup, signal: abort.signal }, plan, ({ message }) => {
			if (message.startsWith('Downloading nvidia-cublas')) abort.abort();
		});
		await assert.rejects(canceled, fails('cancelled', /^Canceled\.$/));
		assert.deepEqual(await folder.current(), before);
		await setUpGpu(setup, plan);
		assert.notEqual((await folder.current())?.created, before.created);
	});

	test('is removed completely', async () => {
		await using place = await prepare();
		const { folder, setup } = place;
		await setUpGpu(setup, await planGpuSetup(setup));
		await removeGpu(folder);
		assert.equal(await folder.current(), null);
		assert.deepEqual(
			readdirSync(folder.path).filter((name) => name !== 'lock'),
			[],
		);
		await removeGpu(folder);
	});

	test('only one setup runs at a time', async () => {
		await using place = await prepare();
		const { setup } = place;
		const plan = await planGpuSetup(setup);
		let second: Promise<unknown> | undefined;
		await setUpGpu(setup, plan, () => {
			second ??= assert.rejects(setUpGpu(setup, plan), fails('busy', /The GPU setup/));
		});
		await second;
	});

	test('reports which package the index lacks', async () => {
		await using index = await PackageIndex.start(wheels.slice(0, 2));
		const folder = new GpuRuntimeFolder(join(tmpdir(), 'never'));
		const setup = { folder, indexUrl: index.url, withoutGpu: true };
		await assert.rejects(planGpuSetup(setup), fails('missing', /does not have nvidia-cu/));
	});

	test('a user name and a password in the index URL are sent only to the index, and not shown', async () => {
		const authorization = `Basic ${Buffer.from('me:s3cret/').toString('base64')}`;
		await using place = await prepare({ authorization });
		const { index, folder, setup } = place;
		await assert.rejects(planGpuSetup(setup), fails('denied', /requires a user name and password/));
		const indexUrl = index.url.replace('http://', 'http://me:s3cret%2F@');
		const plan = await planGpuSetup({ ...setup, indexUrl });
		assert.equal(plan.index.url, index.url);
		await setUpGpu({ ...setup, indexUrl }, plan);
		assert.notEqual(await folder.current(), null);
		// Another origin, here another name for this machine, receives no credentials.
		await using other = await PackageIndex.start(wheels);
		const elsewhere = plan.wheels.map((wheel) => ({
			...wheel,
			url: wheel.url.replace(new URL(index.url).origin, new URL(other.url).origin),
		}));
		await setUpGpu({ ...setup, indexUrl }, { ...plan, wheels: elsewhere });
		assert.ok(other.requests.length > 0 && !other.requests.some((line) => line.includes('authorization')));
	});

	test('an invalid hash is rejected, because it becomes a file name', async () => {
		await using place = await prepare({ statedHash: '../../../escaped' });
		await assert.rejects(planGpuSetup(place.setup), fails('unsupported', /does not include the SHA-256 hash/));
		await assert.rejects(planGpuSetup({ ...place.setup, indexUrl: 'ftp://x/simple' }), fails('invalid', /not an http/));
	});

	test('the engine loads the copy, and reports the provider whose libraries do not work', async () => {
		await using place = await prepare();
		const { home, setup } = place;
		await setUpGpu(setup, await planGpuSetup(setup));
		const run = spawnSync(process.execPath, [builtProgram('dist/engine.js'), '--devices'], {
			encoding: 'utf8',
			env: { ...process.env, REASONING_LAB_HOME: home, VK_ICD_FILENAMES: '', NODE_OPTIONS: '' },
		});
		assert.equal(run.status, 0, run.stderr);
		const { devices } = JSON.parse(run.stdout.trim().split('\n').at(-1) ?? '');
		const cuda = devices.find(({ provider }: { provider: string }) => provider === 'cuda');
		const error = 'its libraries or its driver are not installed';
		assert.deepEqual(cuda, { provider: 'cuda', error, faulty: false, adapter: null });
		// Without its library, the copy cannot be loaded, which shows that it was used.
		const binding = 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1';
		await rm(join(setup.folder.runtime, binding));
		const broken = spawnSync(process.execPath, [builtProgram('dist/engine.js'), '--devices'], {
			encoding: 'utf8',
			env: { ...process.env, REASONING_LAB_HOME: home, NODE_OPTIONS: '' },
		});
		assert.equal(broken.status, 1);
		assert.match(broken.stderr, /Cannot load the CUDA runtime in .* Run Set Up GPU again/);
	});
});

describe('a GPU for CUDA', () => {
	const gpu = { name: 'H100', total: null, free: null, capability: '9.0' };

	test('needs a driver that is new enough', () => {
		assert.equal(usableGpu({ driver: '580.159.04', gpus: [gpu], error: null }), 'H100');
		const cases: [Parameters<typeof usableGpu>[0], RegExp][] = [
			[null, /^No NVIDIA GPU was found on this machine\.$/],
			[{ driver: '580.1', gpus: [], error: 'no devices' }, /^No NVIDIA GPU .* \(no devices\)\.$/],
			[{ driver: '550.54', gpus: [gpu], error: null }, /^The NVIDIA driver 550\.54 is too old for CUDA 13/],
		];
		for (const [facts, pattern] of cases) {
			const found = usableGpu(facts);
			assert.ok(found instanceof Failure && pattern.test(found.message), String(found));
		}
	});

	test('is required before anything is requested from an index', { skip }, async (context) => {
		if (existsSync('/proc/driver/nvidia/version')) return context.skip('this machine has an NVIDIA driver');
		const setup = {
			folder: new GpuRuntimeFolder('/nowhere'),
			indexUrl: 'http://127.0.0.1:9/simple',
			withoutGpu: false,
		};
		await assert.rejects(planGpuSetup(setup), fails('unsupported', /^No NVIDIA GPU was found/));
	});
});

describe('wheels', () => {
	const offered = (file: string, version: string) => ({ file, version, url: '', sha256: null, bytes: null });
	const needed = { name: 'nvidia-cublas', version: '13', files: [], place: 'libraries' } as const;

	test('are the newest of the right version for Linux x64', () => {
		const linux = (version: string) => offered(`nvidia_cublas-${version}-py3-none-manylinux1_x86_64.whl`, version);
		const all = [
			...['13.9.0.1', '13.10.0.20', '12.9.9', '130.1', '13.11.0rc1'].map(linux),
			offered('nvidia_cublas-13.99-py3-none-win_amd64.whl', '13.99'),
			offered('nvidia_cublas-13.99-py3-none-manylinux_2_27_aarch64.whl', '13.99'),
		];
		assert.equal(bestWheel(all, needed)?.version, '13.10.0.20');
		assert.equal(bestWheel(all, { ...needed, version: '13.9.0.1' })?.version, '13.9.0.1');
		assert.equal(bestWheel(all, { ...needed, version: '14' }), null);
	});
});

test('the provider has the same version as the onnxruntime-node package', () => {
	const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		readonly dependencies: Readonly<Record<string, string>>;
	};
	assert.equal(manifest.dependencies['onnxruntime-node'], onnxruntimeVersion);
});
