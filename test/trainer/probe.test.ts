// @reaches trainer
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { examine } from '../../src/environment/doctor/doctor.ts';
import { findPythons } from '../../src/environment/pythons/findPythons.ts';
import { programOf } from '../../src/environment/pythons/interpreter.ts';
import { probePython } from '../../src/environment/pythons/probePython.ts';
import { torchPython } from '../../src/environment/torchPython.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { tinyTorch, tinyTrl } from '../support/wheels.ts';
import { basePython } from './basePython.ts';

const base = await basePython();
const skip = base === null ? 'no Python that can create environments was found' : false;
const tested = await findTestPython(console.log);
const work = await mkdtemp(join(tmpdir(), 'rl-p-'));
after(() => rm(work, { recursive: true, force: true }));

/** Creates a virtual environment with packages laid out as installed: name to version and source. */
async function environment(packages: Readonly<Record<string, readonly [version: string | null, source: string]>>) {
	const folder = await mkdtemp(join(work, 'e-'));
	execFileSync(base as string, ['-m', 'venv', '--without-pip', folder]);
	const lib =
		process.platform === 'win32'
			? join(folder, 'Lib')
			: join(folder, 'lib', (await readdir(join(folder, 'lib')))[0] ?? '');
	for (const [name, [version, source]] of Object.entries(packages)) {
		const site = join(lib, 'site-packages');
		await mkdir(join(site, name), { recursive: true });
		await writeFile(join(site, name, '__init__.py'), source);
		const info = join(site, `${name}-${version ?? '1'}.dist-info`);
		await mkdir(info);
		if (version !== null) {
			await writeFile(join(info, 'METADATA'), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
		}
	}
	return { folder, python: programOf(folder) };
}

describe('probing a Python', { skip }, () => {
	it('reports package versions without importing them', async () => {
		const { python } = await environment({ torch: ['2.13.0', 'raise SystemExit(3)'], trl: ['1.13.0', ''] });
		const probe = await probePython(python);
		assert.deepEqual([probe.packages.torch, probe.packages.trl, probe.packages.peft], ['2.13.0', '1.13.0', null]);
		assert.equal(probe.virtual, true);
		assert.equal(probe.torch, null);
		assert.deepEqual(probe.imports, {});
	});

	it('survives packages that raise, exit, crash, hang, print, or have no metadata', async () => {
		const { python, folder } = await environment({
			torch: ['2.13.0', 'print("{}")\nimport sys; sys.stderr.write("first\\n"); sys.exit("no driver")'],
			trl: ['1.13.0', 'import ctypes; ctypes.string_at(0)'],
			vllm: ['0.28.0', 'import time; time.sleep(600)'],
			ray: ['2.58.1', 'import os; os._exit(7)'],
			bitsandbytes: ['0.50.2', 'raise OSError("libnvJitLink.so\\nis missing")'],
			peft: [null, 'print("not a word of this is a report")'],
		});
		const probe = await probePython(python, {
			...{ torch: true, imports: ['trl', 'vllm', 'ray', 'bitsandbytes', 'peft', 'nowhere'], seconds: 10 },
		});
		assert.equal(probe.torch, null);
		assert.deepEqual(probe.imports.torch?.error, 'SystemExit: no driver');
		if (process.platform !== 'win32') assert.match(probe.imports.trl?.error ?? '', /^the process exited \(signal 11\)/);
		assert.equal(probe.imports.vllm?.error, 'timed out after 10 s');
		assert.match(probe.imports.ray?.error ?? '', /^the process exited \(status 7\)/);
		assert.equal(probe.imports.bitsandbytes?.error, 'OSError: libnvJitLink.so is missing');
		assert.equal(probe.imports.peft?.ok, true);
		assert.match(probe.imports.nowhere?.error ?? '', /^ModuleNotFoundError/);
		assert.match(probe.broken.peft ?? '', /\w/);
		// Check that nothing was written to an environment that is not ours.
		assert.deepEqual(
			(await readdir(folder, { recursive: true })).filter((path) => /site-packages.*__pycache__/.test(path)),
			[],
		);
	});

	it('reads only metadata in the interpreter selected in the editor', async () => {
		const [good, bare] = [
			await environment({ torch: ['2.13.0', tinyTorch], trl: ['1.13.0', tinyTrl] }),
			await environment({}),
		];
		const variables = { REASONING_LAB_HOME: work };
		const selected = (python: string) => torchPython({ variables, selected: async () => python });
		assert.deepEqual(await selected(good.python), { python: good.python, source: 'selected' });
		await assert.rejects(selected(bare.python), { reason: 'missing', action: /Set Up PyTorch Engine/ });
		// A setting takes precedence over the variable, and both can also name environments.
		const named = { variables: { ...variables, REASONING_LAB_TORCH_PYTHON: bare.folder } };
		assert.deepEqual(await torchPython(named), { python: bare.python, source: 'variable' });
		assert.deepEqual(await torchPython({ ...named, python: good.folder }), { python: good.python, source: 'setting' });
		await assert.rejects(torchPython({ ...named, python: join(work, 'gone') }), {
			...{
				reason: 'missing',
				message: /^The setting reasoningLab\.pytorch\.python specifies .*gone, which does not exist/,
			},
		});
		await assert.rejects(torchPython({ variables, python: work }), {
			reason: 'missing',
			message: /does not contain Python/,
		});
	});

	it('finds each Python on this machine once, and reports programs that are not Python', async () => {
		const { folder, python } = await environment({});
		const found = await findPythons({
			folders: [],
			named: [python, base as string],
			variables: { PATH: join(folder, 'bin') },
		});
		const paths = found.map(({ path }) => path);
		assert.equal(paths.filter((path) => path.startsWith(folder)).length, 1, paths.join(' '));
		assert.ok(paths.includes(base as string));
		await assert.rejects(probePython(process.execPath), { reason: 'unavailable', message: /is not a working Python/ });
		await assert.rejects(probePython(join(folder, 'nothing')), {
			reason: 'unavailable',
			message: /Cannot start/,
		});
	});

	it('reports all of this as rows without failing', async () => {
		const { python } = await environment({ torch: ['2.5.0', tinyTorch], trl: ['1.13.0', 'import torchvision'] });
		const { rows } = await examine({ python, variables: { REASONING_LAB_HOME: work }, sandbox: 'auto' });
		const of = (id: string) => rows.find((row) => row.id === id);
		assert.equal(of('python')?.status, 'ok');
		assert.match(of('torch')?.found ?? '', /^2\.5\.0; the trainer requires >=2\.6$/);
		assert.match(of('trl')?.found ?? '', /but import failed: ModuleNotFoundError: No module named 'torchvision'/);
		assert.equal(of('datasets')?.found, 'not installed');
		assert.match(of('accelerator')?.found ?? '', /CPU \(2 threads\)|but this machine has/);
	});
});

describe('probing a Python with PyTorch', { skip: 'missing' in tested ? tested.missing : false }, () => {
	// Doctor imports TRL in test/e2e/pytorchRuns.test.ts.
	it('reports its build, its devices and the version of TRL', async () => {
		const python = 'python' in tested ? tested.python : '';
		const probe = await probePython(python, { torch: true });
		assert.deepEqual(
			Object.values(probe.imports).map(({ ok, error }) => error ?? ok),
			[true],
		);
		assert.match(probe.torch?.version ?? '', /^2\./);
		assert.ok((probe.torch?.threads ?? 0) >= 1);
		assert.equal(typeof probe.torch?.bf16, 'boolean');
		assert.equal(probe.packages.trl, '1.13.0');
	});
});
