import type { MetricInfo } from './metricInfo.ts';

type Device = Omit<MetricInfo, 'name' | 'known' | 'own'>;
type Part = Pick<Device, 'title' | 'unit' | 'over' | 'explanation'> &
	Partial<Pick<Device, 'healthy' | 'rises' | 'falls' | 'better'>>;

const samples = 'samples taken every second or two since the previous row';

/** GPU metrics: `gpu/<number>/<part>`. */
const parts: Readonly<Record<string, Part>> = {
	memory_used: {
		title: 'memory',
		unit: 'bytes',
		over: `max of ${samples}`,
		explanation: 'Device memory used by all processes.',
		healthy: 'below the device capacity, with room for the longest batch',
		rises:
			'Longer completions, a new stage, or another process. If it reaches capacity, the run fails with an out-of-memory error.',
	},
	memory_total: {
		title: 'memory capacity',
		unit: 'bytes',
		over: 'the device',
		explanation: 'Total memory of the device.',
	},
	memory_peak: {
		title: 'tensor memory, peak',
		unit: 'bytes',
		over: 'max since the previous row, across the training processes on the device',
		explanation:
			"Memory used by the trainer's tensors, as reported by torch. Reduce it with a smaller batch or shorter rows.",
	},
	memory_reserved: {
		title: 'reserved memory, peak',
		unit: 'bytes',
		over: 'max since the previous row, across the training processes on the device',
		explanation:
			'Memory that torch has reserved for tensors. If it is much higher than the tensor peak, memory is fragmented (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True).',
	},
	utilization: {
		title: 'utilization',
		unit: 'share',
		over: `mean of ${samples}`,
		explanation: 'Fraction of time that a kernel was running. It does not show how much of the device the kernel used.',
		better: 'up',
		healthy: 'above 80% during sampling and updates',
		falls: 'The device is waiting for rewards, data, or other devices. The step phases show which.',
	},
	temperature: {
		title: 'temperature',
		unit: 'celsius',
		over: `max of ${samples}`,
		explanation: 'GPU temperature. Devices throttle at about 85 to 90 °C, which slows down steps.',
		healthy: 'below 85 °C',
	},
	power: {
		title: 'power',
		unit: 'watts',
		over: `mean of ${samples}`,
		explanation: 'Power drawn by the device.',
		falls: 'Under load: throttled by temperature or by the power limit.',
	},
	power_limit: {
		title: 'power limit',
		unit: 'watts',
		over: 'the device',
		explanation: 'Maximum power draw before the device lowers its clock speed.',
	},
};

export const devicePartNames: readonly string[] = Object.keys(parts);

/** Parses the device number and part of a device metric. Returns null if the name is not a device metric. */
export function readDeviceName(name: string): { readonly device: number; readonly part: string } | null {
	const found = /^gpu\/(\d{1,5})\/(\w+)$/.exec(name);
	const part = found?.[2];
	return part !== undefined && Object.hasOwn(parts, part) ? { device: Number(found?.[1]), part } : null;
}

/** Describes a device metric. Returns null if the name is not a device metric. */
export function describeDeviceName(name: string): Device | null {
	// In the docs, N stands for any number.
	const read = readDeviceName(name.replace('gpu/N/', 'gpu/0/'));
	if (read === null) return null;
	const { title, ...rest } = parts[read.part] as Part;
	const number = name.startsWith('gpu/N/') ? 'N' : read.device;
	const plain = { better: null, healthy: null, rises: null, falls: null, logScale: false } as const;
	return { ...plain, ...rest, title: `GPU ${number} ${title}`, group: 'devices' };
}
