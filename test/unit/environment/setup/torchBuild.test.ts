import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRocmInfo } from '../../../../src/environment/machine/rocm.ts';
import { chooseTorchBuild } from '../../../../src/environment/setup/torchBuild.ts';
import { parseNvidiaSmi } from '../../../../src/processes/nvidia.ts';
import { machine, withNvidia } from '../machines.ts';

describe('the torch build', () => {
	it('is the CPU build if there is no GPU, with a reason if the driver is too old', () => {
		assert.deepEqual(chooseTorchBuild(machine()).backend, 'cpu');
		const old = chooseTorchBuild(withNvidia('470.199.02', '8.0'));
		assert.equal(old.backend, 'cpu');
		assert.match(old.notes[0] ?? '', /driver 470\.199\.02 is too old .* minimum is 525\.60\.13/);
		assert.throws(() => chooseTorchBuild(withNvidia('470.199.02', '8.0'), 'cuda'), { reason: 'unsupported' });
	});

	it('matches the driver and the GPUs', () => {
		const cases: [driver: string, capabilities: string[], backend: string][] = [
			['580.65.06', ['9.0'], 'cu130'],
			['595.10', ['12.0', '8.6'], 'cu130'],
			// CUDA 13 builds do not support Pascal and Volta.
			['580.65.06', ['7.0'], 'cu126'],
			['550.54.15', ['8.0'], 'cu126'],
			['525.60.13', ['6.1'], 'cu126'],
			// CUDA 12.6 builds do not support Blackwell.
			['575.51.03', ['10.0'], 'cu129'],
			// Old versions of nvidia-smi do not report the compute capability.
			['550.54.15', [], 'cu126'],
			// Kepler, and a driver and GPU that no build supports together.
			['535.10', ['3.5'], 'cpu'],
			['535.10', ['10.0'], 'cpu'],
		];
		for (const [driver, capabilities, backend] of cases) {
			assert.equal(chooseTorchBuild(withNvidia(driver, ...capabilities)).backend, backend, `${driver} ${capabilities}`);
		}
		assert.equal(chooseTorchBuild(withNvidia('580.1', '9.0'), 'cpu').backend, 'cpu');
		assert.match(chooseTorchBuild(machine(), 'cuda').notes[0] ?? '', /No NVIDIA driver/);
	});

	it('is ROCm if rocminfo lists a GPU, MPS on a Mac, and none where PyTorch has no build', () => {
		const rocm = { version: '7.2.0', gpus: ['gfx942 AMD Instinct MI300X'] };
		assert.deepEqual(chooseTorchBuild(machine({ rocm })).kind, 'rocm');
		assert.equal(chooseTorchBuild(machine({ rocm: { ...rocm, gpus: [] } })).kind, 'cpu');
		const mac = { platform: 'darwin', arch: 'arm64' } as const;
		assert.deepEqual(chooseTorchBuild(machine(mac)), {
			...{ kind: 'mps', backend: null, words: 'the build for this system', notes: [] },
		});
		for (const [facts, wish] of [
			[{ platform: 'darwin', arch: 'x64' }, 'auto'],
			[{ platform: 'darwin', arch: 'arm64' }, 'cuda'],
			[{ platform: 'win32' }, 'rocm'],
			[{ platform: 'freebsd' }, 'auto'],
		] as const) {
			assert.throws(() => chooseTorchBuild(machine(facts), wish), { reason: 'unsupported' });
		}
	});
});

describe('driver output', () => {
	it('from nvidia-smi lists the GPUs, with unknowns for fields that an old version lacks', () => {
		const text = '580.65.06, NVIDIA H200, 143771, 143167, 9.0\n580.65.06, NVIDIA A2, 15356, [N/A], 8.6\n';
		assert.deepEqual(parseNvidiaSmi(text), {
			driver: '580.65.06',
			gpus: [
				{ name: 'NVIDIA H200', total: 143_771 * 2 ** 20, free: 143_167 * 2 ** 20, capability: '9.0' },
				{ name: 'NVIDIA A2', total: 15_356 * 2 ** 20, free: null, capability: '8.6' },
			],
			error: null,
		});
		assert.equal(parseNvidiaSmi('470.1, Tesla K80, 11441, 11438\n')?.gpus[0]?.capability, null);
		assert.equal(parseNvidiaSmi("NVIDIA-SMI has failed because it couldn't communicate with the driver.\n"), null);
	});

	it('lists the GPUs, but not the CPU, if it is from rocminfo', () => {
		const text = [
			'ROCk module is loaded',
			'*******\nAgent 1\n*******\n  Name:                    AMD EPYC 9654\n  Marketing Name:          AMD EPYC 9654',
			'*******\nAgent 2\n*******\n  Name:                    gfx942\n  Marketing Name:          AMD Instinct MI300X\n  ISA Info:',
			'    ISA 1\n      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-',
		].join('\n');
		assert.deepEqual(parseRocmInfo(text), ['gfx942 AMD Instinct MI300X']);
	});
});
