import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { changedPins } from '../../../../src/environment/environmentState.ts';
import { whyUnusable } from '../../../../src/environment/pythons/judgePython.ts';
import { parseVersions, takenTorch } from '../../../../src/environment/setup/offeredTorch.ts';
import { pinOf, requirementLines } from '../../../../src/environment/setup/requirements.ts';
import {
	type PlanInput,
	planSentence,
	planSetup,
	type SetupChoices,
} from '../../../../src/environment/setup/setupPlan.ts';
import { buildNote, chooseTorchBuild, installedBuild } from '../../../../src/environment/setup/torchBuild.ts';
import { root } from '../../../scripts/paths.ts';
import { machine, probe, uv, withNvidia } from '../machines.ts';

const choices: SetupChoices = { device: 'auto', installer: 'auto', indexUrl: null, pipArguments: [] };

function plan(changes: Partial<Omit<PlanInput, 'choices'>> & { readonly choices?: Partial<SetupChoices> } = {}) {
	return planSetup({
		...{ machine: machine(), python: { path: '/usr/bin/python3', probe: probe() } },
		...{
			files: ['/r/base.txt'],
			pins: ['torch==2.13.0', 'trl==1.13.0'],
			uvFile: '/r/uv.txt',
			folder: '/env',
			torch: null,
		},
		...changes,
		choices: { ...choices, ...changes.choices },
	});
}

const lines = (input: Parameters<typeof plan>[0]) =>
	plan(input).commands.map(({ program, args }) => [program, ...args].join(' '));
const pip = '-m pip install --no-input --disable-pip-version-check --progress-bar raw';
const inside = process.platform === 'win32' ? '\\env\\Scripts\\python.exe' : '/env/bin/python';

describe('the setup plan', { skip: process.platform === 'win32' }, () => {
	it('uses uv if it is installed and passes it the build', () => {
		assert.deepEqual(lines({ machine: { ...withNvidia('580.65.06', '9.0'), uv } }), [
			'/bin/uv venv --no-project --python /usr/bin/python3 /env',
			`/bin/uv pip install --python ${inside} --torch-backend cu130 -r /r/base.txt`,
		]);
		assert.match(lines({ machine: machine({ uv }) })[1] ?? '', /--torch-backend cpu/);
		assert.doesNotMatch(lines({ machine: machine({ uv, platform: 'darwin', arch: 'arm64' }) })[1] ?? '', /backend/);
		const old = plan({ machine: machine({ uv: { ...uv, version: '0.4.30' } }) });
		assert.equal(old.installer, 'uv by pip');
	});

	it('uses only pip if pip would pick a matching build, with torch first', () => {
		assert.deepEqual(lines({ machine: withNvidia('580.65.06', '9.0') }), [
			'/usr/bin/python3 -m venv /env',
			`${inside} ${pip} torch==2.13.0`,
			`${inside} ${pip} -r /r/base.txt`,
		]);
		const old = lines({
			machine: withNvidia('580.65.06', '9.0'),
			python: { path: 'p', probe: probe({ ensurepip: '23.2.1' }) },
		});
		assert.match(old[1] ?? '', /--progress-bar off/);
	});

	it('lets pip install uv if pip would pick a different build', () => {
		assert.deepEqual(lines({}), [
			'/usr/bin/python3 -m venv /env',
			`${inside} ${pip} -r /r/uv.txt`,
			`/env/bin/uv pip install --python ${inside} --torch-backend cpu -r /r/base.txt`,
		]);
		assert.equal(plan({ machine: withNvidia('550.54.15', '8.0') }).build.backend, 'cu126');
	});

	it('follows an explicit choice, with a note if that leaves the build to the index', () => {
		const named = plan({ choices: { installer: 'pip' } });
		assert.equal(named.installer, 'pip');
		assert.match(named.notes.join(' '), /CUDA 13\.0 build; the CPU build would match .* uv can select a build/);
		// 3 GB, because the CUDA build is downloaded.
		assert.ok(named.downloadBytes > 2.5e9 && plan().downloadBytes < 1e9);
		assert.throws(() => plan({ choices: { installer: 'uv' } }), { reason: 'missing', message: 'uv is not installed.' });
		assert.throws(() => plan({ choices: { installer: 'uv' }, machine: machine({ uv: { ...uv, version: '0.4.0' } }) }), {
			reason: 'version',
		});
	});

	it("leaves the build to the user's own index, whose URL is not passed as an argument", () => {
		const own = plan({ choices: { indexUrl: 'https://me:secret@mirror/simple' }, machine: machine({ uv }) });
		assert.equal(own.installer, 'uv');
		assert.doesNotMatch(JSON.stringify(own.commands.map(({ args }) => args)), /secret|torch-backend/);
		assert.equal(own.commands[1]?.environment.UV_DEFAULT_INDEX, 'https://me:secret@mirror/simple');
		assert.match(own.notes.join(' '), /torch build depends on the package index/);
		// A mirror is configured for pip but not for uv.
		assert.equal(plan({ machine: machine({ uv, pipConfigured: true }) }).installer, 'pip');
		assert.equal(plan({ machine: machine({ uv, pipConfigured: true, uvConfigured: true }) }).installer, 'uv');
		const more = lines({ choices: { pipArguments: ['--no-cache-dir'], installer: 'pip' } });
		assert.ok(
			more.slice(1).every((line) => line.endsWith(' --no-cache-dir')),
			more.join('\n'),
		);
	});

	it('depends on the build, size and version that the index offers', () => {
		const has = (offered: string[] | null) =>
			plan({
				choices: { installer: 'pip' },
				torch: takenTorch(offered, { pin: 'torch==2.13.0', wanted: 'cpu', usual: 'cu130' }),
			});
		const small = has(['2.14.0', '2.13.0+cpu', '2.13.0']);
		assert.ok(small.downloadBytes < 1e9 && small.notes.length === 0, small.notes.join());
		assert.ok(small.commands[1]?.args.includes('torch==2.13.0+cpu'));
		const large = has(['2.13.0']);
		assert.ok(large.downloadBytes > 2.5e9);
		assert.match(large.notes.join(), /For Python 3\.12\.1, the package index provides the CUDA 13\.0 build of torch/);
		assert.match(planSentence(large), /pip, the CUDA 13\.0 build: about 3 GB/);
		assert.ok(large.commands[1]?.args.includes('torch==2.13.0'));
		const other = has(['2.13.0+cu126', '2.13.0']);
		assert.match(planSentence(other), /the CUDA 12\.6 build/);
		// Make no promises about an index that did not respond.
		const unknown = has(null);
		assert.ok(unknown.downloadBytes > 2.5e9);
		assert.match(unknown.notes.join(), /usually the CUDA 13\.0 build/);
		const own = plan({
			choices: { indexUrl: 'https://mirror/simple' },
			machine: machine({ uv }),
			torch: takenTorch(['2.13.0+cpu'], { pin: 'torch==2.13.0', wanted: 'cpu', usual: 'cu130' }),
		});
		assert.ok(own.installer === 'uv' && own.commands[1]?.args.includes('torch==2.13.0+cpu'));
	});

	it('parses the versions that pip lists', () => {
		const text = 'torch (2.15.0)\nAvailable versions: 2.15.0, 2.13.0+cpu, 2.13.0\n  INSTALLED: 2.13.0+cpu\n';
		assert.deepEqual(parseVersions(text), ['2.15.0', '2.13.0+cpu', '2.13.0']);
		assert.equal(parseVersions('ERROR: No matching distribution found for torch'), null);
	});

	it('reports the installed build according to torch itself', () => {
		const cpu = chooseTorchBuild(machine(), 'cpu');
		assert.equal(installedBuild({ cuda: null, rocm: null }), 'cpu');
		assert.equal(installedBuild({ cuda: '13.0', rocm: null }), 'cu130');
		assert.equal(installedBuild({ cuda: null, rocm: '7.2.1' }), 'rocm7.2');
		assert.equal(buildNote(cpu, { cuda: null, rocm: null }), null);
		assert.match(
			buildNote(cpu, { cuda: '13.0', rocm: null }) ?? '',
			/provided the CUDA 13\.0 build of torch instead of/,
		);
		const cuda = chooseTorchBuild(withNvidia('580.65.06', '9.0'));
		assert.equal(buildNote(cuda, { cuda: '13.0', rocm: null }), null);
		assert.match(buildNote(cuda, { cuda: null, rocm: null }) ?? '', /Training will use the CPU, not the GPU/);
	});

	it('needs a Python that can create environments unless uv is available', () => {
		const bare = { path: '/usr/bin/python3', probe: probe({ ensurepip: null }) };
		assert.throws(() => plan({ python: bare }), { reason: 'missing', action: /python3-venv/ });
		assert.equal(plan({ python: bare, machine: machine({ uv }) }).installer, 'uv');
	});

	it('rejects vLLM where it cannot work', () => {
		const pins = ['torch==2.13.0', 'vllm==0.28.0'];
		assert.throws(() => plan({ pins }), { reason: 'unsupported', action: 'Omit vllm.' });
		assert.ok(plan({ pins, machine: withNvidia('580.1', '9.0') }).diskBytes > 10e9);
	});

	it('reports sizes before anything is downloaded', () => {
		assert.equal(
			planSentence(plan()),
			'Python 3.12.1, uv by pip, the CPU build: about 234 MB to download, 885 MB on disk',
		);
	});
});

describe('Python interpreters', () => {
	it('that cannot be used for an environment are rejected with a reason', () => {
		assert.equal(whyUnusable(probe()), null);
		for (const [changes, words] of [
			[{ python: '3.9.18' }, /older than 3\.10/],
			[{ python: '3.15.0' }, /newer than 3\.14/],
			[{ bits: 32 }, /32-bit/],
			[{ freeThreaded: true }, /free-threaded/],
			[{ platform: 'darwin', machine: 'x86_64', libc: null }, /Intel/],
			[{ libc: null }, /glibc/],
			[{ libc: 'glibc 2.17' }, /glibc 2\.28/],
		] as const) {
			assert.match(whyUnusable(probe(changes)) ?? '', words);
		}
		assert.equal(whyUnusable(probe({ platform: 'win32', libc: null, machine: 'AMD64' })), null);
	});
});

describe('requirement files', () => {
	const read = (name: string) => readFileSync(join(root, 'src/engines/trainer', name), 'utf8');
	const pins = ['base', 'ray', 'gpu', 'vllm', 'qlora', 'uv'].flatMap((name) =>
		requirementLines(read(`requirements/${name}.txt`)),
	);

	it('pin every package', () => {
		for (const pin of pins) assert.match(pinOf(pin).version ?? '', /^\d/, pin);
		assert.deepEqual(pinOf('ray[default,train]==2.58.1'), { name: 'ray', version: '2.58.1' });
		assert.deepEqual(pinOf('nvidia_ml.py'), { name: 'nvidia-ml-py', version: null });
	});

	it('pin the versions that the tests use', () => {
		const tested = new Map(
			requirementLines(readFileSync(join(root, 'test/python/requirements.txt'), 'utf8'))
				.map(pinOf)
				.map(({ name, version }) => [name, version]),
		);
		for (const { name, version } of pins.map(pinOf)) {
			if (tested.has(name)) assert.equal(version, tested.get(name), name);
		}
	});

	it('use the ranges from pyproject.toml', () => {
		const declared = [
			...read('pyproject.toml').matchAll(/^\s*(?:\w+ = \[)?"([a-z][\w.-]*(?:\[[^\]]*\])?[<>=][^"]*)"/gm),
		]
			.map(([, line]) => (line as string).replace(/\[[^\]]*\]/, ''))
			.filter((line) => !line.startsWith('setuptools'));
		assert.deepEqual(requirementLines(read('requirements/ranges.txt')).toSorted(), declared.toSorted());
	});

	it('show what has changed since an environment was created', () => {
		assert.deepEqual(changedPins(['torch==2.12.0', 'trl==1.13.0'], ['torch==2.13.0', 'trl==1.13.0', 'peft==0.21.2']), [
			'torch 2.12.0 -> 2.13.0',
			'peft missing -> 0.21.2',
		]);
		assert.deepEqual(changedPins(pins, pins), []);
	});
});
