import { devicePartNames, readDeviceName } from '../../src/core/metrics/deviceNames.ts';
import type { ChartLine, ChartSpec } from '../lib/charts/chartSpec.ts';
import { chart, lineOf, type Names } from './chartParts.ts';

/** Maximum number of devices with separate charts; if there are more, all devices share one chart per metric. */
const maxSmall = 16;
/** Maximum number of distinguishable lines in a chart. */
const maxLines = 8;

/** Charts for each device. All devices use the same scale, and a device's limit is shown as a reference. */
const kinds = [
	{
		part: 'memory',
		title: 'memory',
		lines: [
			['memory_used', 'In use'],
			['memory_peak', 'Tensors'],
			['memory_reserved', 'Reserved'],
		],
		of: 'memory_total',
	},
	{ part: 'utilization', title: 'utilization', lines: [['utilization', 'Utilization']], span: { min: 0, max: 1 } },
	{ part: 'temperature', title: 'temperature', lines: [['temperature', 'Temperature']], span: { min: 20, max: 100 } },
	{ part: 'power', title: 'power', lines: [['power', 'Power']], of: 'power_limit' },
] as const;
type Kind = (typeof kinds)[number];

/** Creates the GPU charts, with one row of small charts per device. */
export function deviceCharts(names: Names): ChartSpec[] {
	const taken = names.match(new RegExp(`^gpu/\\d{1,5}/(${devicePartNames.join('|')})$`));
	const has = new Set(taken);
	const devices = [...new Set(taken.map((name) => readDeviceName(name)?.device ?? 0))].sort((a, b) => a - b);
	if (devices.length > maxSmall) return kinds.flatMap((kind) => sharedCharts(kind, devices, has));
	return devices.flatMap((device) => kinds.flatMap((kind) => smallChart(kind, device, has)));
}

function smallChart(kind: Kind, device: number, has: ReadonlySet<string>): ChartSpec[] {
	const line = (part: string, more: Omit<ChartLine, 'metric'>): ChartLine[] =>
		[`gpu/${device}/${part}`].filter((metric) => has.has(metric)).map((metric) => ({ metric, ...more }));
	const lines = kind.lines.flatMap(([part, label], color) =>
		// Reserved memory lies between the other two lines and helps diagnose fragmentation.
		line(part, { label, color, ...(part === 'memory_reserved' ? { initiallyHidden: true } : {}) }),
	);
	const limit = lines.length > 0 && 'of' in kind ? line(kind.of, { label: 'Limit', color: 7, reference: true }) : [];
	return chart(`gpu-${device}-${kind.part}`, `GPU ${device} ${kind.title}`, [...lines, ...limit], {
		size: 'small',
		span: 'span' in kind ? kind.span : { min: 0 },
	});
}

function sharedCharts(kind: Kind, devices: readonly number[], has: ReadonlySet<string>): ChartSpec[] {
	const charts: ChartSpec[] = [];
	for (let from = 0; from < devices.length; from += maxLines) {
		const some = devices.slice(from, from + maxLines);
		const lines = some.flatMap((device, i) => {
			const metric = kind.lines.map(([part]) => `gpu/${device}/${part}`).find((name) => has.has(name));
			return metric === undefined ? [] : [{ ...lineOf(metric, i), label: `GPU ${device}` }];
		});
		const limit =
			'of' in kind ? devices.map((device) => `gpu/${device}/${kind.of}`).find((name) => has.has(name)) : undefined;
		const against = limit === undefined ? [] : [{ metric: limit, label: 'Limit', color: 7, reference: true }];
		const which = some.length === 1 ? `GPU ${some[0]}` : `GPUs ${some[0]} to ${some.at(-1)}`;
		charts.push(
			...chart(`gpus-${from}-${kind.part}`, `${which}, ${kind.title}`, lines.length > 0 ? [...lines, ...against] : [], {
				span: 'span' in kind ? kind.span : { min: 0 },
			}),
		);
	}
	return charts;
}
