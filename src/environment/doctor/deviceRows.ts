import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import type { CheckRow, PythonProbe, TorchFacts } from '../../protocol/torchEnvironment.ts';
import { atLeast, type MachineFacts, versionNumbers } from '../machine/machineFacts.ts';
import { type DoctorFacts, row, setUp } from './doctorFacts.ts';

/** Minimum NVIDIA driver per CUDA major version ("CUDA Compatibility", minor version compatibility). */
const minDrivers: Readonly<Record<number, { readonly linux: string; readonly win32: string }>> = {
	11: { linux: '450.80.02', win32: '452.39' },
	12: { linux: '525.60.13', win32: '528.33' },
	13: { linux: '580', win32: '580' },
};

/** Checks each GPU, and whether the torch build is compatible with the driver. */
export function deviceRows({ probe, machine }: DoctorFacts): CheckRow[] {
	const torch = probe === null || probe instanceof Failure ? null : probe.torch;
	if (torch === null) return driverRows(machine);
	return [acceleratorRow(torch, machine), ...gpuRows(torch, machine), bf16Row(torch)];
}

/** Rows for the hardware alone, used when torch is unavailable. */
function driverRows({ nvidia, rocm, platform, arch }: MachineFacts): CheckRow[] {
	if (nvidia !== null) {
		const gpus = nvidia.gpus.map(({ name }) => name).join(', ') || nvidia.error || 'no GPU';
		return [row('accelerator', 'GPU', 'unknown', `NVIDIA driver ${nvidia.driver}: ${gpus}`, setUp)];
	}
	if (rocm !== null) {
		return [
			row('accelerator', 'GPU', 'unknown', `ROCm ${rocm.version ?? ''}: ${rocm.gpus.join(', ') || 'no GPU'}`, setUp),
		];
	}
	const mac = platform === 'darwin' && arch === 'arm64';
	return [
		mac ? row('accelerator', 'GPU', 'unknown', 'Mac GPU (MPS)') : row('accelerator', 'GPU', 'absent', 'none found'),
	];
}

function acceleratorRow(torch: TorchFacts, machine: MachineFacts): CheckRow {
	const { nvidia, rocm } = machine;
	if (torch.cuda !== null) return cudaRow(torch, torch.cuda, machine);
	if (torch.rocm !== null) {
		const build = `ROCm ${torch.rocm} build`;
		if (torch.cudaAvailable) return row('accelerator', 'ROCm', 'ok', `${build}, ROCm ${rocm?.version ?? 'unknown'}`);
		const action = 'Check that rocminfo lists the GPU and that your user is in the render and video groups.';
		return row('accelerator', 'ROCm', 'error', `${build}, but no GPU: ${torch.cudaError ?? 'none detected'}`, action);
	}
	if (torch.mpsAvailable) return row('accelerator', 'MPS', 'ok', 'the Mac GPU is available');
	if (nvidia !== null && nvidia.gpus.length > 0) {
		const found = `torch is a CPU build, but this machine has an NVIDIA GPU (driver ${nvidia.driver})`;
		return row('accelerator', 'CUDA', 'warning', found, `${setUp} It installs the CUDA build.`);
	}
	if (rocm !== null && rocm.gpus.length > 0) {
		const found = `torch is a CPU build, but this machine has an AMD GPU (${rocm.gpus[0]})`;
		return row('accelerator', 'ROCm', 'warning', found, `${setUp} It installs the ROCm build.`);
	}
	const action = 'The CPU is sufficient for small models. For larger models, see docs/scaling.md.';
	return row('accelerator', 'GPU', 'ok', `none; torch uses the CPU (${torch.threads} threads)`, action);
}

function cudaRow(torch: TorchFacts, cuda: string, { nvidia, platform }: MachineFacts): CheckRow {
	const build = `CUDA ${cuda} build`;
	if (nvidia === null) {
		const action = torch.cudaAvailable ? undefined : 'Install the NVIDIA driver, or use the CPU build.';
		const status = torch.cudaAvailable ? 'ok' : 'warning';
		return row('accelerator', 'CUDA', status, `${build}, but no NVIDIA driver was found`, action);
	}
	const min = minDrivers[versionNumbers(cuda)[0] ?? 0]?.[platform === 'win32' ? 'win32' : 'linux'];
	if (min !== undefined && nvidia.driver !== '' && !torch.cudaAvailable && !atLeast(nvidia.driver, min)) {
		return row(
			...([
				'accelerator',
				'CUDA',
				'error',
				`${build} requires driver ${min} or later, but ${nvidia.driver} is installed`,
			] as const),
			`Update the driver, or install a compatible build: ${setUp}`,
		);
	}
	if (!torch.cudaAvailable) {
		const why = torch.cudaError ?? nvidia.error ?? 'torch does not detect a GPU';
		return row(
			...(['accelerator', 'CUDA', 'error', `${build}, driver ${nvidia.driver}: ${why}`] as const),
			'Check that nvidia-smi lists the GPU and that it is not hidden by CUDA_VISIBLE_DEVICES or a container.',
		);
	}
	const unfit = torch.gpus.filter(
		({ capability }) => capability !== null && !compiledFor(capability, torch.architectures),
	);
	if (unfit.length > 0) {
		const names = unfit.map(({ name, capability }) => `${name} (${capability})`).join(', ');
		return row(
			'accelerator',
			'CUDA',
			'error',
			`${build} does not support ${names}`,
			`${setUp} It installs a matching build.`,
		);
	}
	return row('accelerator', 'CUDA', 'ok', `${build}, driver ${nvidia.driver}`);
}

/**
 * Returns whether a build supports a GPU: it contains binaries for the same major compute capability and the same or a
 * lower minor one, or PTX for the same or a lower capability (NVIDIA, "CUDA C++ Programming Guide", Binary and PTX
 * compatibility).
 */
export function compiledFor(capability: string, architectures: readonly string[]): boolean {
	if (architectures.length === 0) return true;
	const [major = 0, minor = 0] = versionNumbers(capability);
	return architectures.some((architecture) => {
		const [, kind, digits = ''] = /^(sm|compute)_(\d+)/.exec(architecture) ?? [];
		const [builtMajor, builtMinor] = [Number(digits.slice(0, -1)), Number(digits.slice(-1))];
		if (kind === 'sm') return builtMajor === major && builtMinor <= minor;
		return kind === 'compute' && (builtMajor < major || (builtMajor === major && builtMinor <= minor));
	});
}

/** Fraction of GPU memory that should be free; below this, the check reports a warning. */
const littleShare = 0.5;

function gpuRows(torch: TorchFacts, { nvidia, rocm }: MachineFacts): CheckRow[] {
	return torch.gpus.map((gpu, index) => {
		const smi = nvidia?.gpus[index];
		const [total, free] = [gpu.total ?? smi?.total ?? null, gpu.free ?? smi?.free ?? null];
		const id = `gpu-${index}`;
		if (total === null || free === null) return row(id, `GPU ${index}`, 'unknown', `${gpu.name}, memory unknown`);
		const found = `${gpu.name}, ${formatBytes(free)} of ${formatBytes(total)} free`;
		if (free >= total * littleShare) return row(id, `GPU ${index}`, 'ok', found);
		const tool = rocm !== null && nvidia === null ? 'rocm-smi' : 'nvidia-smi';
		return row(id, `GPU ${index}`, 'warning', found, `Other processes are using this GPU; ${tool} lists them.`);
	});
}

function bf16Row(torch: TorchFacts): CheckRow {
	if (torch.bf16 === null) return row('bf16', 'bf16', 'unknown', 'not reported by torch');
	if (!torch.bf16) {
		return row(
			'bf16',
			'bf16',
			'warning',
			'not supported by this GPU',
			'Set "precision": "float32" or "float16" in recipes.',
		);
	}
	const slow = torch.gpus.length === 0 && !torch.mpsAvailable;
	return row('bf16', 'bf16', 'ok', slow ? 'supported, but slower than f32 on most CPUs' : 'computed');
}

/** Returns whether the probe found a usable CUDA GPU. */
export function hasCuda(probe: PythonProbe | Failure | null): boolean {
	if (probe === null || probe instanceof Failure) return false;
	return probe.torch?.cuda != null && probe.torch.cudaAvailable;
}
