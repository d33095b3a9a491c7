import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { changedPins } from '../../../src/environment/environmentState.ts';
import { whyUnusable } from '../../../src/environment/pythons/judgePython.ts';
import { pinOf, requirementLines } from '../../../src/environment/setup/requirements.ts';
import {
	type PlanInput,
	planSentence,
	planSetup,
	type SetupChoices,
} from '../../../src/environment/setup/setupPlan.ts';
import { root } from '../../scripts/paths.ts';
import { machine, probe, uv, withNvidia } from './machines.ts';

const choices: SetupChoices = { device: 'auto', installer: 'auto', indexUrl: null, pipArguments: [] };

function plan(changes: Partial<Omit<PlanInput, 'choices'>> & { readonly choices?: Partial<SetupChoices> } = {}) {
	return planSetup({
		...{ machine: machine(), python: { path: '/usr/bin/python3', probe: probe() } },
		...{ files: ['/r/base.txt'], pins: ['torch==2.13.0', 'trl==1.13.0'], uvFile: '/r/uv.txt', folder: '/env' },
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
		assert.match(named.notes.join(' '), /CUDA 13\.0 build; the build for the processor fits .* uv can choose/);
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
		assert.match(own.notes.join(' '), /package index says/);
		// pip has been told of a mirror, and uv has not.
		assert.equal(plan({ machine: machine({ uv, pipConfigured: true }) }).installer, 'pip');
		assert.equal(plan({ machine: machine({ uv, pipConfigured: true, uvConfigured: true }) }).installer, 'uv');
		const more = lines({ choices: { pipArguments: ['--no-cache-dir'], installer: 'pip' } });
		assert.ok(
			more.slice(1).every((line) => line.endsWith(' --no-cache-dir')),
			more.join('\n'),
		);
	});

	it('needs a Python that makes environments, unless uv does', () => {
		const bare = { path: '/usr/bin/python3', probe: probe({ ensurepip: null }) };
		assert.throws(() => plan({ python: bare }), { reason: 'missing', action: /python3-venv/ });
		assert.equal(plan({ python: bare, machine: machine({ uv }) }).installer, 'uv');
	});

	it('refuses vLLM where it cannot work', () => {
		const pins = ['torch==2.13.0', 'vllm==0.28.0'];
		assert.throws(() => plan({ pins }), { reason: 'unsupported', action: 'Leave vllm out.' });
		assert.ok(plan({ pins, machine: withNvidia('580.1', '9.0') }).diskBytes > 10e9);
	});

	it('says sizes before anything is downloaded', () => {
		assert.equal(
			planSentence(plan()),
			'Python 3.12.1, uv by pip, the build for the processor: about 234 MB to download, 885 MB on disk',
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
	const read = (name: string) => readFileSync(join(root, 'src/trainer', name), 'utf8');
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
			'peft not there -> 0.21.2',
		]);
		assert.deepEqual(changedPins(pins, pins), []);
	});
});
