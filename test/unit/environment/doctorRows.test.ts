import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { compiledFor } from '../../../src/environment/doctor/deviceRows.ts';
import { doctorRows } from '../../../src/environment/doctor/doctor.ts';
import type { DoctorFacts } from '../../../src/environment/doctor/doctorFacts.ts';
import { judgeVersion, rangeOf } from '../../../src/environment/doctor/versionRange.ts';
import { trlImport } from '../../../src/environment/pythons/probePython.ts';
import { requirementLines } from '../../../src/environment/setup/requirements.ts';
import { noTorchPython } from '../../../src/environment/torchPython.ts';
import { doctorSentence, doctorText } from '../../../src/extension/pytorch/doctorText.ts';
import type { CheckRow, DoctorReport } from '../../../src/protocol/torchEnvironment.ts';
import { root } from '../../scripts/paths.ts';
import { machine, probe, torch, uv, withNvidia } from './machines.ts';

const ranges = requirementLines(readFileSync(join(root, 'src/engines/trainer/requirements/ranges.txt'), 'utf8')).map(
	rangeOf,
);
const packages = {
	...{ torch: '2.13.0', trl: '1.13.0', transformers: '5.18.0', datasets: '5.2.0', accelerate: '1.15.0' },
	...{ peft: '0.21.2', ray: null, vllm: null, 'flash-attn': null, bitsandbytes: null, 'nvidia-ml-py': null },
};
const healthy: DoctorFacts = {
	chosen: { python: '/env/bin/python', source: 'managed' },
	namedBy: 'the setting',
	probe: probe({ packages, torch: torch(), imports: { torch: { ok: true }, [trlImport]: { ok: true } } }),
	state: {
		kind: 'ready',
		python: '/env/bin/python',
		record: {
			...{ format: 1, folder: 'env', version: '0.1.0', made: 1_790_000_000, python: '3.12.1', build: 'cpu' },
			...{ installer: 'uv', extras: [], pins: [] },
		},
		outdated: [],
	},
	machine: machine({ uv }),
	node: 'v24.21.0',
	disks: [{ what: 'environment', path: '/data', free: 80e9 }],
	sandbox: { description: 'bubblewrap: no network', gaps: [] },
	ranges,
	engineDevices: [],
};

function rows(changes: Partial<DoctorFacts> = {}): Map<string, CheckRow> {
	return new Map(doctorRows({ ...healthy, ...changes }).map((row) => [row.id, row]));
}
const probed = (changes: Parameters<typeof probe>[0]) => ({
	probe: probe({ packages, torch: torch(), ...changes }),
});

describe('Doctor', () => {
	it('reports no problems on a healthy system', () => {
		const bad = [...rows().values()].filter(({ status }) => status !== 'ok' && status !== 'absent');
		assert.deepEqual(bad, []);
		for (const id of [
			'python',
			'venv',
			'torch',
			'trl',
			'transformers',
			'datasets',
			'accelerate',
			'peft',
			'accelerator',
		])
			assert.ok(rows().has(id), id);
		for (const id of ['bf16', 'flash-attn', 'vllm', 'bitsandbytes', 'ray', 'uv', 'node', 'disk', 'sandbox'])
			assert.ok(rows().has(id), id);
	});

	it('explains how to create an environment if there is none, and still lists the hardware', () => {
		const found = rows({
			chosen: noTorchPython(),
			probe: null,
			state: { kind: 'none' },
			machine: withNvidia('580.1', '9.0'),
		});
		assert.equal(found.get('python')?.status, 'error');
		assert.match(found.get('python')?.action ?? '', /Set Up PyTorch Engine/);
		assert.match(found.get('accelerator')?.found ?? '', /NVIDIA driver 580\.1/);
		const none = rows({ probe: null, state: { kind: 'none' } }).get('accelerator');
		assert.deepEqual([none?.status, none?.found], ['absent', 'none found'], 'a missing GPU is not reported as unknown');
		assert.equal(found.has('torch'), false);
	});

	it('reports a broken Python as a row', () => {
		const old = new Failure('version', '/x is Python 3.6.15, which is too old.', 'Use Python 3.10 or later.');
		const found = rows({ chosen: { python: '/x', source: 'setting' }, probe: old }).get('python');
		assert.deepEqual([found?.status, found?.action], ['error', 'Use Python 3.10 or later.']);
		assert.match(found?.found ?? '', /set by the setting/);
	});

	it('compares versions with those the trainer supports', () => {
		const versions = { ...packages, trl: '1.12.4', transformers: '6.0.1', torch: '2.13.0+cpu', datasets: null };
		const found = rows(probed({ packages: versions }));
		assert.deepEqual(
			['torch', 'trl', 'transformers', 'datasets'].map((id) => found.get(id)?.status),
			['ok', 'error', 'warning', 'error'],
		);
		assert.equal(found.get('trl')?.found, '1.12.4; the trainer requires >=1.13, <2');
	});

	it('does not mark missing packages as ok or require optional ones', () => {
		const all = [...rows({ machine: { ...healthy.machine, uv: null } }).values()];
		const absent = all.filter(({ found }) => /not installed/.test(found));
		assert.ok(absent.some(({ id }) => id === 'uv') && absent.length > 1);
		assert.deepEqual([...new Set(absent.map(({ status }) => status))], ['absent']);
		const text = doctorText({ rows: all, seconds: 1, python: null, source: 'none' } as unknown as DoctorReport);
		assert.match(text, /\| uv \| – \| not installed \(optional\) \|/);
		assert.doesNotMatch(text, /## Recommended actions/);
	});

	it('quotes the error of a broken package', () => {
		const imports = { torch: { ok: false, error: 'ImportError: libcudart.so.13: cannot open shared object file' } };
		const found = rows(probed({ imports, torch: null }));
		assert.match(found.get('torch')?.found ?? '', /import failed: ImportError: libcudart/);
		assert.equal(found.get('accelerator')?.status, 'absent');
		const metadata = rows(probed({ broken: { trl: 'ValueError: the package metadata has no version' } }));
		assert.equal(metadata.get('venv')?.status, 'error');
		const idle = rows(
			probed({ packages: { ...packages, vllm: '0.28.0' }, imports: { vllm: { ok: false, error: 'x' } } }),
		);
		assert.equal(idle.get('vllm')?.status, 'ok', 'vLLM is not used without a GPU');
	});

	it('reports an environment that is older than its pins', () => {
		const state = { ...healthy.state, outdated: ['trl 1.12.0 -> 1.13.0'] } as DoctorFacts['state'];
		const found = rows({ state }).get('venv');
		assert.equal(found?.status, 'warning');
		assert.match(
			found?.found ?? '',
			/created 2026-09-21 by version 0\.1\.0; changed since then: trl 1\.12\.0 -> 1\.13\.0/,
		);
	});

	const cuda = {
		version: '2.13.0+cu130',
		cuda: '13.0',
		architectures: ['sm_75', 'sm_80', 'sm_90', 'sm_100', 'compute_120'],
	};
	const gpu = { name: 'NVIDIA H200', total: 150e9, free: 149e9, capability: '9.0' };

	it('checks the torch build against the driver and the GPUs', () => {
		const accelerator = (facts: Parameters<typeof torch>[0], where = withNvidia('580.65.06', '9.0')) =>
			rows({ ...probed({ torch: torch({ ...cuda, ...facts }) }), machine: where }).get('accelerator');
		const good = accelerator({ cudaAvailable: true, gpus: [gpu] });
		assert.deepEqual([good?.status, good?.found], ['ok', 'CUDA 13.0 build, driver 580.65.06']);
		const driver = accelerator({}, withNvidia('550.54.15', '9.0'));
		assert.equal(driver?.found, 'CUDA 13.0 build requires driver 580 or later, but 550.54.15 is installed');
		const hidden = accelerator({ cudaError: 'RuntimeError: No CUDA GPUs are available' });
		assert.match(hidden?.action ?? '', /CUDA_VISIBLE_DEVICES/);
		const unfit = accelerator({ cudaAvailable: true, gpus: [{ ...gpu, name: 'V100', capability: '7.0' }] });
		assert.equal(unfit?.found, 'CUDA 13.0 build does not support V100 (7.0)');
		assert.equal(accelerator({}, machine())?.status, 'warning');
		const cpu = accelerator({ version: '2.13.0+cpu', cuda: null });
		assert.match(cpu?.found ?? '', /CPU build, but this machine has an NVIDIA GPU/);
		const rocm = accelerator({ cuda: null, rocm: '7.2', cudaError: 'no HIP device' }, machine());
		assert.match(rocm?.action ?? '', /render and video/);
		assert.equal(accelerator({ cuda: null, mpsAvailable: true }, machine())?.check, 'MPS');
	});

	it('knows which GPUs a build was compiled for', () => {
		const built = ['sm_75', 'sm_80', 'sm_86', 'sm_90', 'sm_100', 'compute_120'];
		for (const capability of ['7.5', '8.0', '8.6', '8.9', '9.0', '10.0', '10.3', '12.0', '12.1']) {
			assert.ok(compiledFor(capability, built), capability);
		}
		for (const capability of ['7.0', '6.1', '11.0']) assert.ok(!compiledFor(capability, built), capability);
		assert.ok(compiledFor('9.0', []), 'a build that does not list its GPUs');
	});

	it('lists GPU memory and suggests how to free used memory', () => {
		const gpus = [gpu, { ...gpu, free: 10e9 }, { ...gpu, total: null, free: null }];
		const facts = probed({ torch: torch({ ...cuda, cudaAvailable: true, bf16: false, gpus }) });
		const found = rows({ ...facts, machine: withNvidia('580.1', '9.0') });
		assert.equal(found.get('gpu-0')?.found, 'NVIDIA H200, 149 GB of 150 GB free');
		assert.match(found.get('gpu-1')?.action ?? '', /nvidia-smi lists them/);
		assert.equal(found.get('gpu-2')?.status, 'unknown');
		assert.equal(found.get('bf16')?.status, 'warning');
		assert.match(found.get('vllm')?.action ?? '', /setup-pytorch --with vllm/);
	});

	it('checks disks, Node and the sandbox', () => {
		const found = rows({
			disks: [
				{ what: 'environment', path: '/a', free: 2e9 },
				{ what: 'hub', path: '/b', free: 12e9 },
				{ what: 'other', path: '/c', free: null },
			],
			node: 'v20.1.0',
			sandbox: new Failure('unavailable', 'No sandbox.', 'Install bubblewrap.'),
		});
		assert.deepEqual(
			['disk', 'disk-1', 'disk-2', 'node', 'sandbox'].map((id) => found.get(id)?.status),
			['error', 'warning', 'unknown', 'warning', 'warning'],
		);
		assert.equal(found.get('sandbox')?.action, 'Install bubblewrap.');
	});

	it('does not mark a sandbox as ok if it lacks a protection', () => {
		const sandbox = { description: 'podman', gaps: ['a memory limit'] };
		const found = rows({ sandbox }).get('sandbox');
		assert.equal(found?.status, 'warning');
		assert.match(found?.found ?? '', /missing: a memory limit/);
	});

	it('escapes markup in the report', () => {
		const imports = { torch: { ok: false, error: 'x | <img src=http://host> `a` [b](command:c)\u202e' } };
		const all = {
			format: 1,
			python: null,
			source: null,
			rows: doctorRows({ ...healthy, ...probed({ imports }) }),
			seconds: 2,
		};
		const text = doctorText(all as never);
		assert.match(text, /^# PyTorch engine\n\n`torch: 2\.13\.0, but import failed/);
		assert.doesNotMatch(text, /\u202e|\| <img|^[^`]*\[b\]/m);
		assert.match(doctorSentence({ ...all, rows: [] } as never), /The PyTorch engine is ready/);
	});
});

describe('version ranges', () => {
	it('are parsed as pip does, for the specifiers in use', () => {
		const of = (version: string, text: string) => judgeVersion(version, rangeOf(`x${text}`));
		assert.deepEqual(
			[of('1.13.0', '>=1.13,<2'), of('1.12.9', '>=1.13,<2'), of('2.0', '>=1.13,<2'), of('0.28.0', '>=0.19.1,<=0.28.0')],
			['inside', 'older', 'newer', 'inside'],
		);
		assert.equal(of('2.13.0+cu130', '>=2.6'), 'inside');
		assert.deepEqual(rangeOf('ray[default]>=2.58,<3'), { name: 'ray', text: '>=2.58,<3' });
	});
});

describe('devices of the embedded engine', () => {
	it('are usable, missing or faulty', () => {
		const found = rows({
			engineDevices: [
				{ provider: 'webgpu', error: null, faulty: false, adapter: 'NVIDIA H200' },
				{
					provider: 'cuda',
					error: 'onnxruntime-node for linux x64 does not include it',
					faulty: false,
					adapter: null,
				},
				{
					provider: 'directml',
					error: 'it computed an incorrect gradient for a small model',
					faulty: true,
					adapter: null,
				},
			],
		});
		const seen = ['webgpu', 'cuda', 'directml'].map((provider) => found.get(`embedded-${provider}`));
		assert.deepEqual(
			seen.map((row) => [row?.check, row?.status]),
			[
				['Embedded: WebGPU', 'ok'],
				['Embedded: CUDA', 'absent'],
				['Embedded: DirectML', 'warning'],
			],
		);
		assert.equal(seen[0]?.found, 'results match the CPU; adapter: NVIDIA H200');
		assert.equal(seen[2]?.found, 'it computed an incorrect gradient for a small model; adapter: unknown');
		assert.match(seen[2]?.action ?? '', /driver/);
	});

	it('name the card that CUDA uses, and how to set it up', () => {
		const cuda = (error: string | null, driver: string) =>
			rows({
				engineDevices: [{ provider: 'cuda', error, faulty: false, adapter: null }],
				machine: withNvidia(driver, '9.0'),
			}).get('embedded-cuda');
		assert.equal(cuda(null, '580.65')?.found, 'results match the CPU (GPU, 24 GB, driver 580.65)');
		assert.match(cuda('its libraries or its driver are not installed', '580.65')?.action ?? '', /Run Set Up GPU/);
		// Set Up GPU would fail, too.
		assert.equal(cuda('its libraries or its driver are not installed', '550.54')?.action, null);
	});

	it('are unknown if the engine cannot be queried, and have no row if it is not queried', () => {
		const failed = rows({ engineDevices: new Failure('internal', 'It ended.') }).get('embedded-devices');
		assert.deepEqual([failed?.status, failed?.found], ['unknown', 'It ended.']);
		assert.ok(![...rows({ engineDevices: null }).keys()].some((id) => id.startsWith('embedded')));
	});
});
