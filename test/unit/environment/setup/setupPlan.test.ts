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

describe('the plan of a set-up', { skip: process.platform === 'win32' }, () => {
	it('is uv where it is installed, which is told the build', () => {
		assert.deepEqual(lines({ machine: { ...withNvidia('580.65.06', '9.0'), uv } }), [
			'/bin/uv venv --no-project --python /usr/bin/python3 /env',
			`/bin/uv pip install --python ${inside} --torch-backend cu130 -r /r/base.txt`,
		]);
		assert.match(lines({ machine: machine({ uv }) })[1] ?? '', /--torch-backend cpu/);
		assert.doesNotMatch(lines({ machine: machine({ uv, platform: 'darwin', arch: 'arm64' }) })[1] ?? '', /backend/);
		const old = plan({ machine: machine({ uv: { ...uv, version: '0.4.30' } }) });
		assert.equal(old.installer, 'uv by pip');
	});

	it('is pip alone where pip takes the build that fits, torch before the rest', () => {
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

	it('lets pip fetch uv where pip would take another build', () => {
		assert.deepEqual(lines({}), [
			'/usr/bin/python3 -m venv /env',
			`${inside} ${pip} -r /r/uv.txt`,
			`/env/bin/uv pip install --python ${inside} --torch-backend cpu -r /r/base.txt`,
		]);
		assert.equal(plan({ machine: withNvidia('550.54.15', '8.0') }).build.backend, 'cu126');
	});

	it('is what a person says, with a note where the build is then left to the index', () => {
		const named = plan({ choices: { installer: 'pip' } });
		assert.equal(named.installer, 'pip');
		assert.match(named.notes.join(' '), /CUDA 13\.0 build; the CPU build would match .* uv can choose/);
		// Three GB, because that is what comes.
		assert.ok(named.downloadBytes > 2.5e9 && plan().downloadBytes < 1e9);
		assert.throws(() => plan({ choices: { installer: 'uv' } }), { reason: 'missing', message: 'uv is not installed.' });
		assert.throws(() => plan({ choices: { installer: 'uv' }, machine: machine({ uv: { ...uv, version: '0.4.0' } }) }), {
			reason: 'version',
		});
	});

	it("leaves the build to an index of the person's own, whose address is in no argument", () => {
		const own = plan({ choices: { indexUrl: 'https://me:secret@mirror/simple' }, machine: machine({ uv }) });
		assert.equal(own.installer, 'uv');
		assert.doesNotMatch(JSON.stringify(own.commands.map(({ args }) => args)), /secret|torch-backend/);
		assert.equal(own.commands[1]?.environment.UV_DEFAULT_INDEX, 'https://me:secret@mirror/simple');
		assert.match(own.notes.join(' '), /package index determines/);
		// pip has been told of a mirror, and uv has not.
		assert.equal(plan({ machine: machine({ uv, pipConfigured: true }) }).installer, 'pip');
		assert.equal(plan({ machine: machine({ uv, pipConfigured: true, uvConfigured: true }) }).installer, 'uv');
		const more = lines({ choices: { pipArguments: ['--no-cache-dir'], installer: 'pip' } });
		assert.ok(
			more.slice(1).every((line) => line.endsWith(' --no-cache-dir')),
			more.join('\n'),
		);
	});

	it('goes by what the index has: the build, its size, and the version that names it', () => {
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
		assert.match(large.notes.join(), /For Python 3\.12\.1 the package index has the CUDA 13\.0 build of torch/);
		assert.match(planSentence(large), /pip, the CUDA 13\.0 build: about 3 GB/);
		assert.ok(large.commands[1]?.args.includes('torch==2.13.0'));
		const other = has(['2.13.0+cu126', '2.13.0']);
		assert.match(planSentence(other), /the CUDA 12\.6 build/);
		// Nothing is promised of an index that did not answer.
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

	it('reads the versions that pip lists', () => {
		const text = 'torch (2.15.0)\nAvailable versions: 2.15.0, 2.13.0+cpu, 2.13.0\n  INSTALLED: 2.13.0+cpu\n';
		assert.deepEqual(parseVersions(text), ['2.15.0', '2.13.0+cpu', '2.13.0']);
		assert.equal(parseVersions('ERROR: No matching distribution found for torch'), null);
	});

	it('says which build was installed, by what torch says of itself', () => {
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

	it('needs a Python that makes environments, unless uv does', () => {
		const bare = { path: '/usr/bin/python3', probe: probe({ ensurepip: null }) };
		assert.throws(() => plan({ python: bare }), { reason: 'missing', action: /python3-venv/ });
		assert.equal(plan({ python: bare, machine: machine({ uv }) }).installer, 'uv');
	});

	it('refuses vLLM where it cannot work', () => {
		const pins = ['torch==2.13.0', 'vllm==0.28.0'];
		assert.throws(() => plan({ pins }), { reason: 'unsupported', action: 'Omit vllm.' });
		assert.ok(plan({ pins, machine: withNvidia('580.1', '9.0') }).diskBytes > 10e9);
	});

	it('says sizes before anything is downloaded', () => {
		assert.equal(
			planSentence(plan()),
			'Python 3.12.1, uv by pip, the CPU build: about 234 MB to download, 885 MB on disk',
		);
	});
});

describe('Pythons', () => {
	it('that no environment can be made with are named with the reason', () => {
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

describe('the requirement files', () => {
	const read = (name: string) => readFileSync(join(root, 'src/engines/trainer', name), 'utf8');
	const pins = ['base', 'ray', 'gpu', 'vllm', 'qlora', 'uv'].flatMap((name) =>
		requirementLines(read(`requirements/${name}.txt`)),
	);

	it('pin every package', () => {
		for (const pin of pins) assert.match(pinOf(pin).version ?? '', /^\d/, pin);
		assert.deepEqual(pinOf('ray[default,train]==2.58.1'), { name: 'ray', version: '2.58.1' });
		assert.deepEqual(pinOf('nvidia_ml.py'), { name: 'nvidia-ml-py', version: null });
	});

	it('pin what the tests run with', () => {
		const tested = new Map(
			requirementLines(readFileSync(join(root, 'test/python/requirements.txt'), 'utf8'))
				.map(pinOf)
				.map(({ name, version }) => [name, version]),
		);
		for (const { name, version } of pins.map(pinOf)) {
			if (tested.has(name)) assert.equal(version, tested.get(name), name);
		}
	});

	it('have the ranges of pyproject.toml', () => {
		const declared = [
			...read('pyproject.toml').matchAll(/^\s*(?:\w+ = \[)?"([a-z][\w.-]*(?:\[[^\]]*\])?[<>=][^"]*)"/gm),
		]
			.map(([, line]) => (line as string).replace(/\[[^\]]*\]/, ''))
			.filter((line) => !line.startsWith('setuptools'));
		assert.deepEqual(requirementLines(read('requirements/ranges.txt')).toSorted(), declared.toSorted());
	});

	it('tell what has changed since an environment was made', () => {
		assert.deepEqual(changedPins(['torch==2.12.0', 'trl==1.13.0'], ['torch==2.13.0', 'trl==1.13.0', 'peft==0.21.2']), [
			'torch 2.12.0 -> 2.13.0',
			'peft missing -> 0.21.2',
		]);
		assert.deepEqual(changedPins(pins, pins), []);
	});
});
