import { type Device, knownDevices, knownModels, type ModelShape, stepCost, type Workload } from './costModel.ts';

/** Batch used for the table. */
export const tableWorkload: Workload = {
	prompts: 64,
	group: 8,
	promptTokens: 200,
	completionTokens: 800,
	scoringPasses: 1,
	checkpointing: true,
};

const rows: readonly (readonly [model: string, device: string, devices: number])[] = [
	['0.5B', 'RTX 4090', 1],
	['0.5B', 'H200', 1],
	['1.5B', 'A100 80 GB', 1],
	['1.5B', 'H200', 8],
	['7B', 'A100 80 GB', 8],
	['7B', 'H100 80 GB', 8],
	['7B', 'H200', 8],
	['7B', 'H200', 32],
	['32B', 'H200', 16],
	['32B', 'H200', 64],
];

const seconds = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0));
const thousands = (value: number) => `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} k`;

/** Formats the estimates in docs/scaling.md as a Markdown table. */
export function scalingTable(): string {
	const head =
		'| model | devices | generate | log-probs | update | communicate | step | generated/s | trained/s | memory/device |';
	const lines = rows.map(([name, deviceName, devices]) => {
		const model = knownModels.find((each) => each.name === name) as ModelShape;
		const device = knownDevices.find((each) => each.name === deviceName) as Device;
		const cost = stepCost(model, device, devices, tableWorkload);
		const fits = cost.memory < 0.85 * device.memory;
		return `| ${name} | ${devices} x ${deviceName} | ${seconds(cost.generate)} s | ${seconds(cost.score)} s | ${seconds(cost.update)} s | ${seconds(cost.communicate)} s | ${seconds(cost.total)} s | ${thousands(cost.generated)} | ${thousands(cost.trained)} | ${(cost.memory / 1e9).toFixed(0)} of ${(device.memory / 1e9).toFixed(0)} GB${fits ? '' : ': use LoRA or more devices'} |`;
	});
	return [head, `|${'---|'.repeat(10)}`, ...lines].join('\n');
}
