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
		use: 'faster attention over long contexts ("attn_implementation": "flash_attention_2")',
		install: "pip install flash-attn --no-build-isolation; without it torch's own attention (sdpa) is used",
	},
	{
		...{ name: 'vllm', module: 'vllm', title: 'vLLM', cudaOnly: true },
		use: 'faster generation ("use_vllm": true)',
		install: 'reasoning-lab setup-pytorch --with vllm',
	},
	{
		...{ name: 'bitsandbytes', module: 'bitsandbytes', title: 'bitsandbytes', cudaOnly: false },
		use: 'models in 4 and 8 bits (QLoRA)',
		install: 'reasoning-lab setup-pytorch --with qlora',
	},
	{
		...{ name: 'ray', module: 'ray', title: 'Ray', cudaOnly: false },
		use: 'several workers on this machine ("engine": "ray" with a local cluster)',
		install: 'reasoning-lab setup-pytorch --with ray',
	},
	{
		...{ name: 'nvidia-ml-py', module: 'pynvml', title: 'NVML', cudaOnly: true },
		use: 'memory, load and temperature of GPUs in the dashboard',
		install: 'reasoning-lab setup-pytorch --with gpu',
	},
];

export function optionalRows({ probe, ranges }: DoctorFacts): CheckRow[] {
	if (probe === null || probe instanceof Failure) return [];
	const cuda = hasCuda(probe);
	return optionalPackages.map(({ name, module, title, use, install, cudaOnly }) => {
		const version = probe.packages[name] ?? null;
		if (version === null) {
			if (cudaOnly && !cuda) return row(name, title, 'absent', 'not installed (optional; needs a CUDA GPU)');
			return row(name, title, 'absent', 'not installed (optional)', `For ${use}: ${install}.`);
		}
		const outcome = probe.imports[module];
		if (outcome !== undefined && !outcome.ok) {
			const idle = cudaOnly && !cuda;
			const found = `${version}, but importing it fails: ${outcome.error ?? 'no message'}`;
			const action = idle ? 'It needs a CUDA GPU.' : `Reinstall it: ${install}.`;
			return row(name, title, idle ? 'ok' : 'warning', found, action);
		}
		const range = ranges.find((candidate) => candidate.name === name);
		if (range !== undefined && judgeVersion(version, range) !== 'inside') {
			return row(
				name,
				title,
				'warning',
				`${version}; the trainer works with ${range.text.replaceAll(',', ', ')}`,
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
					'It chooses the torch build and installs faster; without it, pip is used.',
				)
			: atLeast(uv.version, minUv)
				? row('uv', 'uv', 'ok', uv.version)
				: row('uv', 'uv', 'warning', `${uv.version}, which is not used`, `Update it: ${minUv} or newer is needed.`);
	const nodeRow =
		(versionNumbers(node)[0] ?? 0) >= 22
			? row('node', 'Node', 'ok', node)
			: row('node', 'Node', 'warning', node, 'Set reasoningLab.node.path to Node 22 or newer.');
	const diskRows = disks.map(({ what, path, free }, index) => {
		const id = index === 0 ? 'disk' : `disk-${index}`;
		const title = `Disk: ${what}`;
		if (free === null) return row(id, title, 'unknown', `${path}: free space unknown`);
		const found = `${formatBytes(free)} free for ${path}`;
		if (free >= littleDisk) return row(id, title, 'ok', found);
		const action = 'Free some space: a checkpoint of a 0.5B model with its optimizer takes about 6 GB.';
		return row(id, title, free < minDisk ? 'error' : 'warning', found, action);
	});
	const sandboxRow =
		sandbox instanceof Failure
			? row(
					'sandbox',
					'Sandbox',
					'warning',
					sandbox.message,
					sandbox.action ?? 'Needed only for rewards that run code.',
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
