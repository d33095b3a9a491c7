import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import type { CheckRow } from '../../protocol/torchEnvironment.ts';
import { atLeast, versionNumbers } from '../machine/machineFacts.ts';
import { minUv } from '../setup/setupPlan.ts';
import { hasCuda } from './deviceRows.ts';
import { type DoctorFacts, row } from './doctorFacts.ts';
import { judgeVersion } from './versionRange.ts';

interface Optional {
	/** Name on the package index. */
	readonly name: string;
	readonly module: string;
	readonly title: string;
	/** Purpose. */
	readonly use: string;
	/** Install command. */
	readonly install: string;
	readonly cudaOnly: boolean;
}

/** Packages needed only by some recipes. */
export const optionalPackages: readonly Optional[] = [
	{
		...{ name: 'flash-attn', module: 'flash_attn', title: 'Flash attention', cudaOnly: true },
		use: 'faster attention for long contexts ("attn_implementation": "flash_attention_2")',
		install: "pip install flash-attn --no-build-isolation; without it, torch's own attention (sdpa) is used",
	},
	{
		...{ name: 'vllm', module: 'vllm', title: 'vLLM', cudaOnly: true },
		use: 'faster generation ("use_vllm": true)',
		install: 'reasoning-lab setup-pytorch --with vllm',
	},
	{
		...{ name: 'bitsandbytes', module: 'bitsandbytes', title: 'bitsandbytes', cudaOnly: false },
		use: '4-bit and 8-bit models (QLoRA)',
		install: 'reasoning-lab setup-pytorch --with qlora',
	},
	{
		...{ name: 'ray', module: 'ray', title: 'Ray', cudaOnly: false },
		use: 'multiple workers on this machine ("engine": "ray" with a local cluster)',
		install: 'reasoning-lab setup-pytorch --with ray',
	},
	{
		...{ name: 'nvidia-ml-py', module: 'pynvml', title: 'NVML', cudaOnly: true },
		use: 'GPU memory, load, and temperature in the dashboard',
		install: 'reasoning-lab setup-pytorch --with gpu',
	},
];

export function optionalRows({ probe, ranges }: DoctorFacts): CheckRow[] {
	if (probe === null || probe instanceof Failure) return [];
	const cuda = hasCuda(probe);
	return optionalPackages.map(({ name, module, title, use, install, cudaOnly }) => {
		const version = probe.packages[name] ?? null;
		if (version === null) {
			if (cudaOnly && !cuda) return row(name, title, 'absent', 'not installed (optional, requires a CUDA GPU)');
			return row(name, title, 'absent', 'not installed (optional)', `For ${use}: ${install}.`);
		}
		const outcome = probe.imports[module];
		if (outcome !== undefined && !outcome.ok) {
			const idle = cudaOnly && !cuda;
			const found = `${version}, but import failed: ${outcome.error ?? 'no message'}`;
			const action = idle ? 'Requires a CUDA GPU.' : `Reinstall it: ${install}.`;
			return row(name, title, idle ? 'ok' : 'warning', found, action);
		}
		const range = ranges.find((candidate) => candidate.name === name);
		if (range !== undefined && judgeVersion(version, range) !== 'inside') {
			return row(
				name,
				title,
				'warning',
				`${version}; the trainer requires ${range.text.replaceAll(',', ', ')}`,
				`${install}.`,
			);
		}
		return row(name, title, 'ok', version);
	});
}

const [littleDisk, minDisk] = [20e9, 3e9];

/** Rows outside the Python environment: installers, Node, disks, and the sandbox. */
export function machineRows({ machine, node, disks, sandbox }: DoctorFacts): CheckRow[] {
	const { uv } = machine;
	const uvRow =
		uv === null
			? row(
					'uv',
					'uv',
					'absent',
					'not installed (optional)',
					'Installs faster and selects the matching torch build. Without it, pip is used.',
				)
			: atLeast(uv.version, minUv)
				? row('uv', 'uv', 'ok', uv.version)
				: row('uv', 'uv', 'warning', `${uv.version} (not used)`, `Update to uv ${minUv} or later.`);
	const nodeRow =
		(versionNumbers(node)[0] ?? 0) >= 22
			? row('node', 'Node', 'ok', node)
			: row('node', 'Node', 'warning', node, 'Set reasoningLab.node.path to a Node 22 or later executable.');
	const diskRows = disks.map(({ what, path, free }, index) => {
		const id = index === 0 ? 'disk' : `disk-${index}`;
		const title = `Disk: ${what}`;
		if (free === null) return row(id, title, 'unknown', `${path}: free space unknown`);
		const found = `${formatBytes(free)} free at ${path}`;
		if (free >= littleDisk) return row(id, title, 'ok', found);
		const action = 'Free up disk space: a 0.5B model checkpoint with optimizer state takes about 6 GB.';
		return row(id, title, free < minDisk ? 'error' : 'warning', found, action);
	});
	const sandboxRow =
		sandbox instanceof Failure
			? row(
					'sandbox',
					'Sandbox',
					'warning',
					sandbox.message,
					sandbox.action ?? 'Only required for rewards that run code.',
				)
			: sandbox.gaps.length === 0
				? row('sandbox', 'Sandbox', 'ok', sandbox.description)
				: row(
						'sandbox',
						'Sandbox',
						'warning',
						`${sandbox.description}; missing: ${sandbox.gaps.join(', ')}`,
						'See docs/sandbox.md for what each mode isolates.',
					);
	return [uvRow, nodeRow, ...diskRows, sandboxRow];
}
