import type { MetricInfo } from './metricInfo.ts';

type Device = Omit<MetricInfo, 'name' | 'known' | 'own'>;
type Part = Pick<Device, 'title' | 'unit' | 'over' | 'explanation'> &
	Partial<Pick<Device, 'healthy' | 'rises' | 'falls' | 'better'>>;

const samples = 'samples about once a second since the line before';

/** What is told of a GPU: `gpu/<number>/<part>`. */
const parts: Readonly<Record<string, Part>> = {
	memory_used: {
		title: 'memory',
		unit: 'bytes',
		over: `largest of ${samples}`,
		explanation: 'Memory in use on the device, by all programs.',
		healthy: 'below what the device has, with room for the longest batch',
		rises: 'Longer completions, a new stage, or another program. At the limit the run ends out of memory.',
	},
	memory_total: {
		title: 'memory there is',
		unit: 'bytes',
		over: 'the device',
		explanation: 'Memory of the device.',
	},
	memory_peak: {
		title: 'memory of tensors, peak',
		unit: 'bytes',
		over: 'the most at any moment since the line before, of the training processes on the device',
		explanation: 'Memory in tensors of the trainer, as torch counts it: what a smaller batch or shorter rows lower.',
	},
	memory_reserved: {
		title: 'memory held, peak',
		unit: 'bytes',
		over: 'the most at any moment since the line before, of the training processes on the device',
		explanation:
			'Memory that torch holds for its tensors. Much more than their peak: it is fragmented (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True).',
	},
	utilization: {
		title: 'utilization',
		unit: 'share',
		over: `mean of ${samples}`,
		explanation: 'Share of time in which some kernel ran. It does not say how much of the device that kernel used.',
		better: 'up',
		healthy: 'above 80% while it generates and updates',
		falls: 'The device waits: for rewards, for data, for other devices. The phases of the step say for what.',
	},
	temperature: {
		title: 'temperature',
		unit: 'celsius',
		over: `largest of ${samples}`,
		explanation: 'Of the GPU. Devices lower their clock above some 85 to 90 °C, and steps then take longer.',
		healthy: 'below 85 °C',
	},
	power: {
		title: 'power',
		unit: 'watts',
		over: `mean of ${samples}`,
		explanation: 'What the device draws.',
		falls: 'With work to do: it is held back by heat or by its limit.',
	},
	power_limit: {
		title: 'power, at most',
		unit: 'watts',
		over: 'the device',
		explanation: 'What the device may draw before it lowers its clock.',
	},
};

export const devicePartNames: readonly string[] = Object.keys(parts);

/** Number and part of a metric of a device; null: it is none. */
export function readDeviceName(name: string): { readonly device: number; readonly part: string } | null {
	const found = /^gpu\/(\d{1,5})\/(\w+)$/.exec(name);
	const part = found?.[2];
	return part !== undefined && Object.hasOwn(parts, part) ? { device: Number(found?.[1]), part } : null;
}

/** What a metric of a device is; null: it is none. */
export function describeDeviceName(name: string): Device | null {
	// In documents the number stands for any.
	const read = readDeviceName(name.replace('gpu/N/', 'gpu/0/'));
	if (read === null) return null;
	const { title, ...rest } = parts[read.part] as Part;
	const number = name.startsWith('gpu/N/') ? 'N' : read.device;
	const plain = { better: null, healthy: null, rises: null, falls: null, logScale: false } as const;
	return { ...plain, ...rest, title: `GPU ${number} ${title}`, group: 'devices' };
}
