import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import type { NvidiaFacts } from '../../processes/nvidia.ts';
import { runScript } from '../../processes/runScript.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { type EngineDevice, engineDevicesSchema } from '../../protocol/engineDevices.ts';
import type { CheckRow } from '../../protocol/torchEnvironment.ts';
import { usableGpu } from '../gpu/gpuSetup.ts';
import { type DoctorFacts, row } from './doctorFacts.ts';

/**
 * Time limit for the device check, in milliseconds. With a software driver, compiling shaders takes several seconds.
 */
const limitMs = 120_000;

/**
 * Checks the embedded engine's devices in a separate process, because a faulty driver can crash that process.
 * @param engine path of the engine's entry point
 */
export async function engineDevices(engine: string, signal?: AbortSignal): Promise<readonly EngineDevice[]> {
	const { code, stdout, stderr } = await runScript(engine, ['--devices'], {
		environment: { ORT_DISABLE_TELEMETRY: '1' },
		limitMs,
		...(signal === undefined ? {} : { signal }),
	});
	if (code !== 0) {
		const words = stderr.trim().split('\n').at(-1);
		throw new Failure('internal', `The embedded engine could not check its devices${words ? `: ${words}` : ''}`);
	}
	return decodeOrThrow(engineDevicesSchema, JSON.parse(stdout.trim().split('\n').at(-1) ?? ''), 'The list of devices')
		.devices;
}

const titles: Readonly<Record<string, string>> = {
	cuda: 'CUDA',
	webgpu: 'WebGPU',
	directml: 'DirectML',
	coreml: 'Core ML',
};

/** Describes the first NVIDIA GPU, which the embedded engine uses, or returns an empty string. */
function cardOf(nvidia: NvidiaFacts | null): string {
	const [gpu] = nvidia?.gpus ?? [];
	if (nvidia === null || gpu === undefined) return '';
	const memory = gpu.total === null ? [] : [formatBytes(gpu.total)];
	const driver = nvidia.driver === '' ? [] : [`driver ${nvidia.driver}`];
	return ` (${[gpu.name, ...memory, ...driver].join(', ')})`;
}

const adapterOf = (adapter: string | null): string => `; adapter: ${adapter ?? 'unknown'}`;

/** Returns a row for each non-CPU device that the embedded engine can train on. */
export function engineDeviceRows({ engineDevices: devices, machine }: DoctorFacts): CheckRow[] {
	if (devices === null) return [];
	if (devices instanceof Failure) return [row('embedded-devices', 'Embedded engine', 'unknown', devices.message)];
	return devices.map(({ provider, error, faulty, adapter }) => {
		const id = `embedded-${provider}`;
		const check = `Embedded: ${titles[provider] ?? provider}`;
		if (error === null) {
			const card = provider === 'cuda' ? cardOf(machine.nvidia) : adapterOf(adapter);
			return row(id, check, 'ok', `results match the CPU${card}`);
		}
		if (!faulty) {
			const lacksCuda = provider === 'cuda' && !(usableGpu(machine.nvidia) instanceof Failure);
			return row(id, check, 'absent', error, lacksCuda ? 'Run Set Up GPU (reasoning-lab setup-gpu).' : undefined);
		}
		const action = 'Update the graphics driver. Until then, "device": "auto" uses the CPU.';
		return row(id, check, 'warning', `${error}${adapterOf(adapter)}`, action);
	});
}
